//! What was gathered and lies in no closed batch: counts by minute, bounded.

mod close;
mod fold;
mod spooled;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use shared::evaluation::Reason;
use shared::model::id::{EnvironmentId, FlagId, SdkKeyId};
use shared::model::key::{EventName, FlagKey, VariantKey};
use shared::wire::count::Mode;

use crate::count::experiment::{EVENTS_WAITING_MAX, EXPOSURES_WAITING_MAX};
use spooled::Counts;

/// Beyond so many entries of unknown flags they are counted together.
const UNKNOWN_MAX: usize = 10_000;
/// Beyond so many entries the oldest minutes fold into hours, hours into days, which keeps the spool small.
const FOLD_ABOVE: usize = 50_000;
/// Folded to, so that not every gathering folds.
const FOLD_TO: usize = FOLD_ABOVE - FOLD_ABOVE / 10;
/// The most entries kept. So many different ones in one minute are told in parts, of one day they are lost.
const KEPT_MAX: usize = 200_000;

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
    /// Absent in what an older version spooled.
    pub reason: Option<Reason>,
    /// Alone or together.
    pub mode: Mode,
}

/// Requests of which key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RequestKey {
    minute: i64,
    environment: EnvironmentId,
    key: SdkKeyId,
}

/// Who asked for what that is not there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct UnknownKey {
    pub(super) minute: i64,
    pub(super) environment: EnvironmentId,
    pub(super) key: SdkKeyId,
    /// Absent for all that are not told apart.
    pub(super) flag: Option<FlagKey>,
}

/// Which variant of which experiment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ExposureKey {
    pub(super) minute: i64,
    pub(super) environment: EnvironmentId,
    pub(super) flag: FlagId,
    pub(super) place: String,
    pub(super) variant: VariantKey,
}

/// What users did.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EventKey {
    pub(super) minute: i64,
    pub(super) environment: EnvironmentId,
    pub(super) event: EventName,
}

/// What had to be let go of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Evaluations.
    pub evaluations: u64,
    /// Exposures, one for each unit.
    pub exposures: u64,
    /// Entries of events, one for each unit.
    pub events: u64,
}

/// Counts by minute, open to more.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Counts", into = "Counts")]
pub struct Accumulator {
    evaluations: BTreeMap<EvaluationKey, u64>,
    keys: BTreeMap<RequestKey, u64>,
    unknown: BTreeMap<UnknownKey, u64>,
    exposures: BTreeMap<ExposureKey, BTreeSet<u64>>,
    events: BTreeMap<EventKey, BTreeMap<u64, (u64, f64)>>,
}

impl Accumulator {
    /// Adds evaluations.
    pub fn add(&mut self, key: EvaluationKey, count: u64) {
        *self.evaluations.entry(key).or_default() += count;
    }

    /// Adds requests of an SDK key.
    pub fn add_key(&mut self, minute: i64, environment: EnvironmentId, key: SdkKeyId, count: u64) {
        *self.keys.entry(RequestKey { minute, environment, key }).or_default() += count;
    }

    pub(super) fn add_unknown(&mut self, key: UnknownKey, count: u64) {
        *self.unknown.entry(key).or_default() += count;
    }

    pub(super) fn add_exposures(&mut self, key: ExposureKey, units: impl IntoIterator<Item = u64>) {
        self.exposures.entry(key).or_default().extend(units);
    }

    pub(super) fn add_event(&mut self, key: EventKey, unit: u64, count: u64, sum: f64) {
        let known = self.events.entry(key).or_default().entry(unit).or_default();
        known.0 += count;
        known.1 += sum;
    }

    /// Nothing to send.
    pub fn is_empty(&self) -> bool {
        let Self { evaluations, keys, unknown, exposures, events } = self;
        evaluations.is_empty() && keys.is_empty() && unknown.is_empty() && exposures.is_empty() && events.is_empty()
    }

    /// Evaluations in it, those of unknown flags included.
    pub fn total(&self) -> u64 {
        self.evaluations.values().sum::<u64>() + self.unknown.values().sum::<u64>()
    }

    /// Entries of events in it.
    pub fn events(&self) -> usize {
        self.events.values().map(BTreeMap::len).sum()
    }

    /// Exposures in it, one for each unit.
    pub fn exposures(&self) -> usize {
        self.exposures.values().map(BTreeSet::len).sum()
    }

    /// Entries other than those of experiments.
    fn len(&self) -> usize {
        self.evaluations.len() + self.keys.len() + self.unknown.len()
    }

    /// Keeps to the bounds by making the oldest times coarser; never to be done to what is sealed. Returns what was lost
    /// when even that was not enough, which takes more than 200,000 different places in one day.
    pub fn shrink(&mut self) -> Lost {
        if self.unknown.len() > UNKNOWN_MAX {
            self.pool_unknown();
        }
        if self.len() > FOLD_ABOVE {
            self.fold(FOLD_TO);
        }
        let mut lost = Lost::default();
        while self.len() > KEPT_MAX {
            // Requests of keys go first: they are told by the evaluations too.
            if self.keys.pop_first().is_none() {
                let unknown = self.unknown.pop_first().map(|(_, count)| count);
                let count = unknown.or_else(|| self.evaluations.pop_first().map(|(_, count)| count));
                lost.evaluations += count.unwrap_or_default();
            }
        }
        let exposures = self.exposures().saturating_sub(EXPOSURES_WAITING_MAX);
        lost.exposures = let_go(&mut self.exposures, exposures, |units| units.pop_first().is_some());
        let events = self.events().saturating_sub(EVENTS_WAITING_MAX);
        lost.events = let_go(&mut self.events, events, |units| units.pop_first().is_some());
        lost
    }
}

impl Accumulator {
    /// Counts unknown flags together: names that anybody may make up push out nobody's evaluations.
    fn pool_unknown(&mut self) {
        for (key, count) in std::mem::take(&mut self.unknown) {
            self.add_unknown(UnknownKey { flag: None, ..key }, count);
        }
    }
}

/// Lets the oldest units go, so many of them.
fn let_go<K: Ord, U>(groups: &mut BTreeMap<K, U>, units: usize, mut pop: impl FnMut(&mut U) -> bool) -> u64 {
    let mut gone = 0;
    while gone < units
        && let Some(mut oldest) = groups.first_entry()
    {
        while gone < units && pop(oldest.get_mut()) {
            gone += 1;
        }
        if gone < units {
            oldest.remove();
        }
    }
    gone as u64
}

#[cfg(test)]
mod tests;
