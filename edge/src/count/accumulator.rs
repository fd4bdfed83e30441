//! What was gathered and not yet closed into a batch: counts by minute, bounded.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shared::model::id::{EnvironmentId, FlagId, ProcessId, SdkKeyId};
use shared::wire::count::{BATCH_BYTES_MAX, CountBatch, ENTRIES_MAX, EvaluationCount, KeyCount, Mode};

/// The most entries kept; then the oldest minutes fold into hours, hours into days.
const KEPT_MAX: usize = 50_000;
const HOUR: i64 = 60;
const DAY: i64 = 24 * HOUR;
/// Room for the braces, names, process id and sequence of a batch.
const FRAME_BYTES: usize = 256;

/// What a count is about; minutes first, so that the oldest leave first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EvaluationKey {
    /// Minutes since 1970.
    pub minute: i64,
    /// Where.
    pub environment: EnvironmentId,
    /// What.
    pub flag: FlagId,
    /// As it is written in a batch.
    pub place: String,
    /// Absent when there was none.
    pub variant: Option<String>,
    /// Alone or together.
    pub mode: Mode,
}

type RequestKey = (i64, EnvironmentId, SdkKeyId);

/// Counts by minute, open to more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Counts", into = "Counts")]
pub struct Accumulator {
    evaluations: BTreeMap<EvaluationKey, u64>,
    keys: BTreeMap<RequestKey, u64>,
}

impl Accumulator {
    /// Adds evaluations.
    pub fn add(&mut self, key: EvaluationKey, count: u64) {
        *self.evaluations.entry(key).or_default() += count;
    }

    /// Adds requests of an SDK key.
    pub fn add_key(&mut self, minute: i64, environment: EnvironmentId, key: SdkKeyId, count: u64) {
        *self.keys.entry((minute, environment, key)).or_default() += count;
    }

    /// Nothing to send.
    pub fn is_empty(&self) -> bool {
        self.evaluations.is_empty() && self.keys.is_empty()
    }

    /// Evaluations in it.
    pub fn total(&self) -> u64 {
        self.evaluations.values().sum()
    }

    /// Moves everything from another one into this.
    pub fn absorb(&mut self, other: Self) {
        for (key, count) in other.evaluations {
            self.add(key, count);
        }
        for ((minute, environment, key), count) in other.keys {
            self.add_key(minute, environment, key, count);
        }
    }

    /// Keeps to the bound by making the oldest times coarser. Returns the evaluations lost when even that was not
    /// enough, which takes more than 50,000 different places in one day.
    pub fn shrink(&mut self) -> u64 {
        for width in [HOUR, DAY] {
            if self.len() <= KEPT_MAX {
                return 0;
            }
            self.fold(width);
        }
        let mut lost = 0;
        while self.len() > KEPT_MAX {
            if self.keys.pop_first().is_none() {
                lost += self.evaluations.pop_first().map_or(0, |(_, count)| count);
            }
        }
        lost
    }

    fn len(&self) -> usize {
        self.evaluations.len() + self.keys.len()
    }

    /// Moves minutes to the begin of their hour or day, oldest first, until there is room again.
    fn fold(&mut self, width: i64) {
        // Some room beyond the bound itself, so that not every harvest folds.
        let wanted = KEPT_MAX - KEPT_MAX / 10;
        let mut periods: Vec<i64> = self.evaluations.keys().map(|key| key.minute.div_euclid(width)).collect();
        periods.extend(self.keys.keys().map(|key| key.0.div_euclid(width)));
        periods.sort_unstable();
        periods.dedup();
        for period in periods {
            if self.len() <= wanted {
                return;
            }
            let (from, to) = (period * width, (period + 1) * width);
            let moved: Vec<EvaluationKey> =
                self.evaluations.keys().filter(|key| key.minute > from && key.minute < to).cloned().collect();
            for key in moved {
                let count = self.evaluations.remove(&key).unwrap_or_default();
                self.add(EvaluationKey { minute: from, ..key }, count);
            }
            let moved: Vec<RequestKey> = self.keys.keys().filter(|key| key.0 > from && key.0 < to).copied().collect();
            for (minute, environment, key) in moved {
                let count = self.keys.remove(&(minute, environment, key)).unwrap_or_default();
                self.add_key(from, environment, key, count);
            }
        }
    }

    /// Takes the oldest entries out as a batch within its limits; `None` when there are none.
    pub fn close(&mut self, process: ProcessId, sequence: u64) -> Option<CountBatch> {
        let mut bytes = FRAME_BYTES;
        let mut batch = CountBatch {
            process,
            sequence,
            evaluations: Vec::new(),
            keys: Vec::new(),
            unknown: Vec::new(),
            exposures: Vec::new(),
            events: Vec::new(),
        };
        while batch.evaluations.len() < ENTRIES_MAX
            && let Some((key, count)) = self.evaluations.pop_first()
        {
            let entry = evaluation_count(key.clone(), count);
            bytes += json_bytes(&entry);
            if bytes > BATCH_BYTES_MAX {
                self.add(key, count);
                return Some(batch);
            }
            batch.evaluations.push(entry);
        }
        while batch.evaluations.len() + batch.keys.len() < ENTRIES_MAX
            && let Some(((minute, environment, key), count)) = self.keys.pop_first()
        {
            let entry = KeyCount { minute, environment, key, count };
            bytes += json_bytes(&entry);
            if bytes > BATCH_BYTES_MAX {
                self.add_key(minute, environment, key, count);
                return Some(batch);
            }
            batch.keys.push(entry);
        }
        (!batch.evaluations.is_empty() || !batch.keys.is_empty()).then_some(batch)
    }
}

fn json_bytes(entry: &impl Serialize) -> usize {
    // Entries are plain data: writing them cannot fail.
    serde_json::to_vec(entry).map_or(0, |json| json.len() + 1)
}

fn evaluation_count(key: EvaluationKey, count: u64) -> EvaluationCount {
    let EvaluationKey { minute, environment, flag, place, variant, mode } = key;
    EvaluationCount { minute, environment, flag, place, variant, reason: None, mode, count }
}

/// How an accumulator lies in the spool.
#[derive(Serialize, Deserialize)]
struct Counts {
    evaluations: Vec<EvaluationCount>,
    keys: Vec<KeyCount>,
}

impl From<Accumulator> for Counts {
    fn from(open: Accumulator) -> Self {
        let keys = open.keys.into_iter();
        Self {
            evaluations: open.evaluations.into_iter().map(|(key, count)| evaluation_count(key, count)).collect(),
            keys: keys
                .map(|((minute, environment, key), count)| KeyCount { minute, environment, key, count })
                .collect(),
        }
    }
}

impl From<Counts> for Accumulator {
    fn from(counts: Counts) -> Self {
        let mut open = Self::default();
        for EvaluationCount { minute, environment, flag, place, variant, mode, count, .. } in counts.evaluations {
            open.add(EvaluationKey { minute, environment, flag, place, variant, mode }, count);
        }
        for KeyCount { minute, environment, key, count } in counts.keys {
            open.add_key(minute, environment, key, count);
        }
        open
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn key(minute: i64, flag: u128) -> EvaluationKey {
        EvaluationKey {
            minute,
            environment: Uuid::from_u128(1).into(),
            flag: Uuid::from_u128(flag).into(),
            place: "default".into(),
            variant: Some("on".into()),
            mode: Mode::Single,
        }
    }

    #[test]
    fn batches_keep_their_limits_and_lose_nothing() {
        let mut open = Accumulator::default();
        for flag in 0..25_000 {
            open.add(key(7, flag), 3);
        }
        open.add_key(7, Uuid::from_u128(1).into(), Uuid::from_u128(2).into(), 9);
        let (mut evaluations, mut requests) = (0, 0);
        while let Some(batch) = open.close(Uuid::from_u128(5).into(), 1) {
            assert!(batch.evaluations.len() + batch.keys.len() <= ENTRIES_MAX);
            assert!(serde_json::to_vec(&batch).expect("JSON").len() <= BATCH_BYTES_MAX);
            evaluations += batch.evaluations.iter().map(|entry| entry.count).sum::<u64>();
            requests += batch.keys.iter().map(|entry| entry.count).sum::<u64>();
        }
        assert_eq!((evaluations, requests), (75_000, 9));
    }

    #[test]
    fn a_full_accumulator_folds_its_oldest_minutes_and_loses_nothing() {
        let mut open = Accumulator::default();
        for minute in 0..600 {
            for flag in 0..100 {
                open.add(key(minute, flag), 1);
            }
        }
        assert_eq!(open.shrink(), 0);
        assert!(open.len() <= KEPT_MAX, "{}", open.len());
        assert_eq!(open.total(), 60_000);
        assert!(open.evaluations.keys().any(|key| key.minute == 599), "the newest minutes stay fine");
    }

    #[test]
    fn an_accumulator_survives_the_spool() {
        let mut open = Accumulator::default();
        open.add(key(1, 2), 3);
        open.add_key(1, Uuid::from_u128(1).into(), Uuid::from_u128(2).into(), 4);
        let json = serde_json::to_string(&open).expect("JSON");
        assert_eq!(serde_json::from_str::<Accumulator>(&json).expect("an accumulator"), open);
    }
}
