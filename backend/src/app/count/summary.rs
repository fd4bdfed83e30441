//! The head of a dashboard, in one call.

use std::collections::HashMap;

use jiff::tz::TimeZone;
use shared::evaluation::Reason;
use shared::model::id::ProjectId;
use shared::model::key::EnvironmentKey;
use shared::wire::api::count::{BusyFlag, CountPeak, CountSummary, CountTotals, EnvironmentTotals};
use uuid::Uuid;

use crate::app::count::bucket;
use crate::app::count::cover::Kept;
use crate::app::count::{Reading, Source};
use crate::app::range::{DAY, HOUR, Length, Period, Range, moment};
use crate::error::AppError;
use crate::state::AppState;
use crate::store::count::{EvaluationFilter, Labelled};

const FLAGS: usize = 10;
const SPARKS: i64 = 24;
const TOTALS: Source<'static> = Source::Totals { reason: None, mode: None };
const KINDS: [(&str, Source<'static>, &str); 3] = [
    ("evaluations", TOTALS, "outcome"),
    ("requests", Source::Requests(None), "environment"),
    ("unknown", Source::Unknown, "environment"),
];

/// Totals by environment.
type Totals = HashMap<Uuid, CountTotals>;

/// Totals of an environment, or of the project and each of its environments, with the time before.
pub async fn summary(
    state: &AppState,
    project: ProjectId,
    environment: Option<&EnvironmentKey>,
    range: Range,
) -> Result<CountSummary, AppError> {
    let period = range.period(state.clock.now(), Length::COUNTS)?;
    let before = Period { from: 2 * period.from - period.to, to: period.from };
    let mut reading = Reading::begin(state, project, environment).await?;
    let kept = reading.kept(Period { from: before.from, to: period.to }).await?;
    let (all, _) = kept.honour(&[before.from, period.from, period.to]);
    let edges = &all[all.len().saturating_sub(2)..];
    let (first, last) = (edges[0], edges[edges.len() - 1]);
    let (now, earlier) = reading.totals(&all, &kept).await?;
    let environments: Vec<EnvironmentTotals> = reading
        .environments
        .iter()
        .filter_map(|known| {
            let id = known.id.uuid();
            Some(EnvironmentTotals {
                environment: known.key.parse().ok()?,
                id: known.id,
                name: known.name.clone(),
                totals: now.get(&id).copied().unwrap_or_default(),
                before: earlier.get(&id).copied().unwrap_or_default(),
            })
        })
        .collect();
    let totals = sum(now.values());
    Ok(CountSummary {
        from: moment(first).into(),
        to: moment(last).into(),
        totals,
        before: sum(earlier.values()),
        peak: reading.peak(first, last, &kept).await?,
        flags: reading.busy_flags(project, edges, &kept, totals.evaluations).await?,
        environments,
        gaps: reading.gaps(first, last).await?,
    })
}

impl Reading {
    /// Totals of each environment in the last part between the edges, and in the parts before it.
    async fn totals(&mut self, edges: &[i64], kept: &Kept) -> Result<(Totals, Totals), AppError> {
        // All kinds of series are added up in one go; their ids are of one sequence.
        let mut chosen = Vec::new();
        for (kind, source, by) in KINDS {
            let series = self.choose(source, by).await?;
            chosen.extend(series.into_iter().map(|of| Labelled { label: format!("{kind}\t{}", of.label), ..of }));
        }
        let (mut now, mut earlier) = (Totals::new(), Totals::new());
        for (label, counts) in self.add_up(&chosen, edges, kept).await? {
            let mut parts = label.split('\t');
            let (kind, id, reason) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
            let Some(id) = id.and_then(|id| id.parse().ok()) else { continue };
            let Some((last, before)) = counts.split_last() else { continue };
            let is_error = reason == Some(Reason::Error.as_str());
            add(now.entry(id).or_default(), kind, is_error, *last);
            add(earlier.entry(id).or_default(), kind, is_error, before.iter().sum());
        }
        Ok((now, earlier))
    }

    /// The busiest of at most 300 parts.
    async fn peak(&mut self, from: i64, to: i64, kept: &Kept) -> Result<Option<CountPeak>, AppError> {
        let interval = bucket::usual_interval(from, to, false);
        let (edges, _) = kept.honour(&bucket::edges(from, to, interval, &TimeZone::UTC)?);
        let sums = self.sums(TOTALS, "none", &edges, kept).await?;
        let Some(counts) = sums.into_values().next() else { return Ok(None) };
        let parts = edges.windows(2).zip(counts).map(|(part, count)| (part[0], part[1], count));
        let busiest = parts.max_by_key(|(from, _, count)| (*count, std::cmp::Reverse(*from)));
        Ok(busiest.map(|(from, to, evaluations)| CountPeak {
            from: moment(from).into(),
            to: moment(to).into(),
            evaluations,
            per_second: evaluations as f64 / (60 * (to - from)) as f64,
        }))
    }

    /// The flags evaluated most.
    async fn busy_flags(
        &mut self,
        project: ProjectId,
        edges: &[i64],
        kept: &Kept,
        all: u64,
    ) -> Result<Vec<BusyFlag>, AppError> {
        let mut top = self.flag_sums(edges, kept).await?;
        top.truncate(FLAGS);
        let ids: Vec<Uuid> = top.iter().map(|sum| sum.flag).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let names = self.flag_names(project, &ids).await?;
        let (sparks, _) = kept.honour(&spark_edges(edges[0], edges[edges.len() - 1]));
        let filter = EvaluationFilter { flags: &ids, ..EvaluationFilter::default() };
        let mut lines = self.sums(Source::Evaluations(filter), "flag", &sparks, kept).await?;
        let flags = top.into_iter().map(|sum| {
            let total = sum.total;
            BusyFlag {
                id: sum.flag.into(),
                flag: names.get(&sum.flag).and_then(|named| named.key.parse().ok()),
                name: names.get(&sum.flag).map(|named| named.name.clone()),
                total,
                share: if all == 0 { 0.0 } else { total as f64 / all as f64 },
                spark: lines.remove(&sum.flag.to_string()).unwrap_or_else(|| vec![0; sparks.len() - 1]),
            }
        });
        Ok(flags.collect())
    }
}

/// Edges of about 24 parts, equal but for the first and the last; at whole hours or days when they are longer than these,
/// so that roll-ups can be used.
fn spark_edges(from: i64, to: i64) -> Vec<i64> {
    let grain = match (to - from) / SPARKS {
        0..HOUR => 1,
        HOUR..DAY => HOUR,
        _ => DAY,
    };
    let step = (to - from + SPARKS * grain - 1) / (SPARKS * grain) * grain;
    let end = (to + grain - 1).div_euclid(grain) * grain;
    let parts = (0..=SPARKS + 1).map(|part| end - part * step).take_while(|edge| *edge > from - step);
    let mut edges: Vec<i64> = parts.map(|edge| edge.clamp(from, to)).collect();
    edges.reverse();
    edges
}

fn add(totals: &mut CountTotals, kind: &str, is_error: bool, count: u64) {
    match kind {
        "requests" => totals.requests += count,
        "unknown" => totals.unknown += count,
        _ => {
            totals.evaluations += count;
            totals.errors += if is_error { count } else { 0 };
        }
    }
}

fn sum<'t>(totals: impl Iterator<Item = &'t CountTotals>) -> CountTotals {
    totals.fold(CountTotals::default(), |sum, more| CountTotals {
        evaluations: sum.evaluations + more.evaluations,
        errors: sum.errors + more.errors,
        requests: sum.requests + more.requests,
        unknown: sum.unknown + more.unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparks_hold_the_time_and_use_whole_hours_and_days() {
        let hours = spark_edges(617, 617 + DAY);
        assert_eq!((hours.len(), hours[0], hours[1], hours[25]), (26, 617, 11 * HOUR, 617 + DAY));
        let days = spark_edges(5, 30 * DAY + 5);
        assert_eq!((days.len(), days[0], days[1], days[2], days[16]), (17, 5, DAY, 3 * DAY, 30 * DAY + 5));
        assert_eq!(spark_edges(100, 103), [100, 101, 102, 103]);
        assert_eq!(spark_edges(100, 160).len(), 21, "60 minutes are 20 parts of 3");
    }
}
