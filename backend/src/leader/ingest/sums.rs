//! What batches add up to, by series and minute: pure, and small before it meets the database.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;
use shared::evaluation::Reason;
use shared::model::id::{EnvironmentId, FlagId, ProcessId, SdkKeyId};
use shared::wire::count::{CountBatch, FUTURE_MINUTES_MAX, Mode, PAST_MINUTES_MAX};

/// Sums of an event's values beyond this are not believed, so that floating-point sums stay exact to the unit.
const SUM_MAX: f64 = 1e15;

/// What is counted, as a table of series tells it apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum SeriesKey {
    /// Evaluations of a flag; variant and reason are empty when there was none.
    Evaluation {
        environment: EnvironmentId,
        flag: FlagId,
        place: String,
        variant: String,
        reason: &'static str,
        mode: &'static str,
    },
    /// Requests of an SDK key.
    Request { environment: EnvironmentId, key: SdkKeyId },
    /// Evaluations by an edge.
    Edge { environment: EnvironmentId, process: ProcessId, reason: &'static str, mode: &'static str },
    /// Requests for a flag that nobody knows; empty for all others together.
    Unknown { environment: EnvironmentId, key: SdkKeyId, flag: String },
    /// What users did.
    Event { environment: EnvironmentId, event: String },
}

/// See the module. Minutes are those of receipt, where an edge's own cannot be right, and cut to the resolution.
#[derive(Debug)]
pub(super) struct Sums {
    current: i64,
    resolution: i64,
    /// Each series once; others refer to it by its place.
    pub(super) series: Vec<Arc<SeriesKey>>,
    /// The first and last minute of each series.
    pub(super) spans: Vec<(i64, i64)>,
    /// By series and minute.
    pub(super) counts: HashMap<(usize, i64), i64>,
    /// The first minute, by series and unit.
    pub(super) exposures: HashMap<(usize, u64), i64>,
    /// Count and sum, by series, unit and minute.
    pub(super) events: HashMap<(usize, u64, i64), (i64, f64)>,
    /// Evaluations by environment, for whoever watches.
    pub(super) evaluations: BTreeMap<EnvironmentId, u64>,
    /// Evaluations whose minute cannot be right.
    pub(super) clock_wrong: u64,
    /// Entries of events with a sum that is not believed.
    pub(super) events_refused: u64,
    index: HashMap<Arc<SeriesKey>, usize>,
}

impl Sums {
    /// Nothing yet, received in this minute.
    pub(super) fn new(current: i64, resolution_minutes: u32) -> Self {
        Self {
            current,
            resolution: i64::from(resolution_minutes.max(1)),
            series: Vec::new(),
            spans: Vec::new(),
            counts: HashMap::new(),
            exposures: HashMap::new(),
            events: HashMap::new(),
            evaluations: BTreeMap::new(),
            clock_wrong: 0,
            events_refused: 0,
            index: HashMap::new(),
        }
    }

    /// Adds all of a batch.
    pub(super) fn add(&mut self, batch: &CountBatch) {
        let wrong_before = self.clock_wrong;
        self.add_evaluations(batch);
        for counted in &batch.keys {
            let series = SeriesKey::Request { environment: counted.environment, key: counted.key };
            self.count(series, self.minute(counted.minute), counted.count);
        }
        for counted in &batch.unknown {
            let flag = counted.flag.as_ref().map(|key| key.as_str().to_owned()).unwrap_or_default();
            let series = SeriesKey::Unknown { environment: counted.environment, key: counted.key, flag };
            if !self.is_believed(counted.minute) {
                self.clock_wrong += counted.count;
            }
            self.count(series, self.minute(counted.minute), counted.count);
        }
        self.add_units(batch);
        let evaluations = self.clock_wrong - wrong_before;
        if evaluations > 0 {
            tracing::warn!(process.id = %batch.process, evaluations, "an edge's clock is wrong; its counts go to the minute of receipt");
        }
    }

    fn add_evaluations(&mut self, batch: &CountBatch) {
        for counted in &batch.evaluations {
            let environment = counted.environment;
            let (reason, mode) = (counted.reason.map_or("", Reason::as_str), mode(counted.mode));
            let minute = self.minute(counted.minute);
            if !self.is_believed(counted.minute) {
                self.clock_wrong += counted.count;
            }
            let series = SeriesKey::Evaluation {
                environment,
                flag: counted.flag,
                place: counted.place.clone(),
                variant: counted.variant.clone().unwrap_or_default(),
                reason,
                mode,
            };
            self.count(series, minute, counted.count);
            self.count(SeriesKey::Edge { environment, process: batch.process, reason, mode }, minute, counted.count);
            *self.evaluations.entry(environment).or_default() += counted.count;
        }
    }

    fn add_units(&mut self, batch: &CountBatch) {
        for exposed in &batch.exposures {
            let minute = self.minute(exposed.minute);
            let series = self.series(
                SeriesKey::Evaluation {
                    environment: exposed.environment,
                    flag: exposed.flag,
                    place: exposed.place.clone(),
                    variant: exposed.variant.as_str().to_owned(),
                    reason: Reason::Split.as_str(),
                    mode: mode(Mode::Single),
                },
                minute,
            );
            for unit in &exposed.units {
                let first = self.exposures.entry((series, *unit)).or_insert(minute);
                *first = minute.min(*first);
            }
        }
        for event in &batch.events {
            let minute = self.minute(event.minute);
            let key = SeriesKey::Event { environment: event.environment, event: event.event.as_str().to_owned() };
            let series = self.series(key, minute);
            for (unit, count, sum) in &event.units {
                if !sum.is_finite() || sum.abs() > SUM_MAX {
                    self.events_refused += 1;
                    continue;
                }
                let (counted, summed) = self.events.entry((series, *unit, minute)).or_default();
                *counted = counted.saturating_add_unsigned(*count);
                *summed += sum;
            }
        }
    }

    /// Lets other series stand for some, with all that was counted of them.
    pub(super) fn fold(&mut self, folds: Vec<(usize, SeriesKey)>) {
        let mut targets = HashMap::with_capacity(folds.len());
        for (from, into) in folds {
            let (first, last) = self.spans[from];
            let target = self.series(into, first);
            self.spans[target].1 = self.spans[target].1.max(last);
            targets.insert(from, target);
        }
        for ((series, minute), count) in std::mem::take(&mut self.counts) {
            let series = targets.get(&series).copied().unwrap_or(series);
            let sum = self.counts.entry((series, minute)).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    fn count(&mut self, series: SeriesKey, minute: i64, count: u64) {
        let series = self.series(series, minute);
        let sum = self.counts.entry((series, minute)).or_default();
        // What one transaction adds is far below 2^63: 64 batches of 2^50 at most.
        *sum = sum.saturating_add_unsigned(count);
    }

    fn series(&mut self, key: SeriesKey, minute: i64) -> usize {
        if let Some(at) = self.index.get(&key) {
            let span = &mut self.spans[*at];
            *span = (span.0.min(minute), span.1.max(minute));
            return *at;
        }
        let (key, at) = (Arc::new(key), self.series.len());
        self.index.insert(key.clone(), at);
        self.series.push(key);
        self.spans.push((minute, minute));
        at
    }

    fn minute(&self, sent: i64) -> i64 {
        let believed = if self.is_believed(sent) { sent } else { self.current };
        believed - believed.rem_euclid(self.resolution)
    }

    fn is_believed(&self, minute: i64) -> bool {
        (self.current - PAST_MINUTES_MAX..=self.current + FUTURE_MINUTES_MAX).contains(&minute)
    }
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Single => "single",
        Mode::Bulk => "bulk",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CURRENT: i64 = 20_000 * 24 * 60 + 7;

    #[test]
    fn a_minute_that_no_right_clock_can_have_sent_becomes_the_minute_of_receipt() {
        let sums = Sums::new(CURRENT, 1);
        let oldest = CURRENT - PAST_MINUTES_MAX;
        for (sent, kept) in [
            (CURRENT, CURRENT),
            (CURRENT + 5, CURRENT + 5),
            (CURRENT + 6, CURRENT),
            (0, CURRENT),
            (oldest, oldest),
            (oldest - 1, CURRENT),
            (i64::MIN, CURRENT),
        ] {
            assert_eq!(sums.minute(sent), kept, "{sent}");
        }
    }

    #[test]
    fn a_coarser_resolution_counts_minutes_together() {
        let sums = Sums::new(CURRENT, 5);
        assert_eq!([sums.minute(CURRENT), sums.minute(CURRENT + 3)], [CURRENT - 2, CURRENT + 3]);
    }

    #[test]
    fn a_series_that_is_folded_leaves_its_counts_with_the_other() {
        let mut sums = Sums::new(CURRENT, 1);
        let id = || uuid::Uuid::nil();
        let unknown = |flag: &str| SeriesKey::Unknown { environment: id().into(), key: id().into(), flag: flag.into() };
        sums.count(unknown(""), CURRENT - 2, 1);
        sums.count(unknown("a"), CURRENT - 2, 10);
        sums.count(unknown("a"), CURRENT, 100);
        sums.fold(vec![(1, unknown(""))]);
        let mut counts: Vec<_> = sums.counts.into_iter().collect();
        counts.sort_unstable();
        assert_eq!(counts, [((0, CURRENT - 2), 11), ((0, CURRENT), 100)]);
        assert_eq!(sums.spans[0], (CURRENT - 2, CURRENT));
    }
}
