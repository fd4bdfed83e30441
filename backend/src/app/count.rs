//! Evaluations over time, as charts read them.

use std::collections::BTreeMap;

use shared::model::id::ProjectId;
use shared::model::key::{EnvironmentKey, FlagKey};
use shared::wire::api::count::{CountLine, CountSeries};
use time::{Duration, OffsetDateTime};

use crate::app;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;

/// The most buckets in one answer.
pub const MINUTES_MAX: i64 = 1_440;
const MINUTE: Duration = Duration::MINUTE;

/// Evaluations of a flag by minute and variant. Without a range it is the last hour; the current minute is included
/// and still counting.
pub async fn by_variant(
    state: &AppState,
    project: ProjectId,
    key: &FlagKey,
    environment: &EnvironmentKey,
    from: Option<OffsetDateTime>,
    to: Option<OffsetDateTime>,
) -> Result<CountSeries, AppError> {
    let to = ceil_minute(to.unwrap_or_else(|| state.clock.now() + Duration::NANOSECOND));
    let from = floor_minute(from.unwrap_or(to - Duration::HOUR));
    let minutes = (to - from).whole_minutes();
    if !(1..=MINUTES_MAX).contains(&minutes) {
        let message = format!("the range has {minutes} minutes; ask for 1 to {MINUTES_MAX}");
        return Err(AppError::field("from", message));
    }
    let mut db = state.pool.acquire().await?;
    let flag = app::flag::find(&mut db, project, key).await?;
    let environments = store::environment::list(&mut db, project).await?;
    let environment = environments
        .iter()
        .find(|known| known.key == environment.as_str())
        .ok_or_else(|| AppError::not_found("environment", environment))?;
    let mut lines: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for found in store::count::list_by_variant(&mut db, environment.id, flag.id, from, to).await? {
        let buckets = lines.entry(found.variant).or_insert_with(|| vec![0; minutes as usize]);
        let at = usize::try_from((found.minute - from).whole_minutes()).unwrap_or(usize::MAX);
        if let Some(bucket) = buckets.get_mut(at) {
            *bucket += u64::try_from(found.count).unwrap_or(0);
        }
    }
    let mut series: Vec<CountLine> = lines
        .into_iter()
        .map(|(variant, counts)| CountLine {
            variant: Some(variant).filter(|key| !key.is_empty()),
            total: counts.iter().sum(),
            counts,
        })
        .collect();
    series.sort_by_key(|line| std::cmp::Reverse(line.total));
    let total = series.iter().map(|line| line.total).sum();
    Ok(CountSeries { from: from.into(), to: to.into(), interval_seconds: 60, series, total })
}

fn floor_minute(at: OffsetDateTime) -> OffsetDateTime {
    let at = at.to_offset(time::UtcOffset::UTC);
    at.replace_second(0).and_then(|at| at.replace_nanosecond(0)).unwrap_or(at)
}

fn ceil_minute(at: OffsetDateTime) -> OffsetDateTime {
    let floor = floor_minute(at);
    if floor == at { floor } else { floor + MINUTE }
}
