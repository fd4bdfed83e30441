//! Counts of evaluations.

use shared::model::timestamp::Timestamp;
use shared::wire::api::count::{CountLine, CountSeries};
use shared::wire::api::event::FlagMinutes;

use crate::api::client::{ApiError, get, path};
use crate::route::Query;

const MINUTE_MS: i64 = 60_000;

/// Evaluations of a flag in the last hour, by minute and variant.
pub async fn last_hour(project: &str, flag: &str, environment: &str) -> Result<CountSeries, ApiError> {
    let query = Query::default()
        .with("environment", Some(environment))
        .with("flag", Some(flag))
        .with("by", Some("variant"))
        .with("last_minutes", Some("60"))
        .with("interval", Some("minute"));
    get(&format!("{}{query}", path(&["projects", project, "counts"]))).await
}

/// Puts the newest minutes of a flag into what was loaded, minute by minute; the oldest leave when new ones begin. What
/// does not fit together stays as it is, until it is loaded again; then the answer is false.
pub fn take_minutes(counts: &mut CountSeries, told: &FlagMinutes) -> bool {
    let Some(last) = counts.buckets.last() else { return false };
    let newest = told.minutes.iter().map(|line| line.minute).max().unwrap_or(told.from).max(told.from);
    let new = (newest.unix_ms() - last.unix_ms()) / MINUTE_MS;
    let width = counts.buckets.len();
    if counts.other.is_some() || new >= i64::try_from(width).unwrap_or(0) {
        return false;
    }
    for _ in 0..new.max(0) {
        let Some(next) = counts.buckets.last().and_then(|last| later(*last)) else { return false };
        counts.buckets.remove(0);
        counts.buckets.push(next);
        for line in &mut counts.series {
            line.counts.remove(0);
            line.counts.push(0);
        }
    }
    let first = counts.buckets.partition_point(|bucket| *bucket < told.from);
    counts.series.iter_mut().flat_map(|line| line.counts.iter_mut().skip(first)).for_each(|count| *count = 0);
    for minute in &told.minutes {
        let Ok(at) = counts.buckets.binary_search(&minute.minute) else { continue };
        let line = counts.series.iter().position(|line| line.key == minute.variant).unwrap_or_else(|| {
            let key = minute.variant.clone();
            counts.series.push(CountLine { key, id: None, name: None, counts: vec![0; width], total: 0 });
            counts.series.len() - 1
        });
        counts.series[line].counts[at] = minute.count;
    }
    for line in &mut counts.series {
        line.total = line.counts.iter().sum();
    }
    counts.series.sort_by_key(|line| std::cmp::Reverse(line.total));
    counts.total = counts.series.iter().map(|line| line.total).sum();
    counts.from = counts.buckets[0];
    counts.to = counts.buckets.last().and_then(|last| later(*last)).unwrap_or(counts.to);
    true
}

fn later(at: Timestamp) -> Option<Timestamp> {
    Timestamp::from_unix_ms(at.unix_ms() + MINUTE_MS)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn loaded() -> CountSeries {
        let minute = |minute: u32| format!("2026-05-01T10:0{minute}:00Z");
        serde_json::from_value(json!({
            "from": minute(0), "to": minute(3), "interval": "minute", "zone": "UTC", "by": "variant",
            "counted": "evaluations", "buckets": [minute(0), minute(1), minute(2)], "edges_exact": true,
            "series": [{ "key": "off", "counts": [5, 3, 1], "total": 9 }, { "key": "on", "counts": [1, 1, 1], "total": 3 }],
            "total": 12, "gaps": [],
        }))
        .expect("counts")
    }

    fn told(from: &str, minutes: serde_json::Value) -> FlagMinutes {
        let environment = "018f0000-0000-7000-8000-000000000001";
        let told = json!({ "environment": environment, "flag": "checkout", "from": from, "minutes": minutes });
        serde_json::from_value(told).expect("minutes")
    }

    #[test]
    fn newest_minutes_replace_what_was_loaded_and_the_oldest_leave() {
        let mut counts = loaded();
        let minutes = json!([
            { "minute": "2026-05-01T10:02:00Z", "variant": "off", "count": 4 },
            { "minute": "2026-05-01T10:03:00Z", "variant": "on", "count": 20 },
            { "minute": "2026-05-01T10:03:00Z", "count": 2 },
        ]);
        assert!(take_minutes(&mut counts, &told("2026-05-01T10:02:00Z", minutes)));
        let lines: Vec<_> =
            counts.series.iter().map(|line| (line.key.as_deref(), line.counts.clone(), line.total)).collect();
        assert_eq!(
            lines,
            [(Some("on"), vec![1, 0, 20], 21), (Some("off"), vec![3, 4, 0], 7), (None, vec![0, 0, 2], 2)]
        );
        assert_eq!((counts.total, counts.from.to_string().as_str()), (30, "2026-05-01T10:01:00Z"));
    }

    #[test]
    fn minutes_that_are_too_far_on_wait_for_the_next_load() {
        let mut counts = loaded();
        assert!(!take_minutes(&mut counts, &told("2026-05-01T11:02:00Z", json!([]))));
        assert_eq!(counts, loaded());
    }
}
