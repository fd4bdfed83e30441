//! The cells that answering adds to, and the list of all of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use shared::evaluation::{ErrorCode, Outcome, Place};
use shared::model::id::{EnvironmentId, FlagId, RuleId, SdkKeyId};
use shared::model::key::VariantKey;
use shared::wire::count::Mode;

use crate::count::accumulator::{Accumulator, EvaluationKey};

/// Places that every flag has, before those of its rules.
const FIXED_PLACES: usize = 5;
const MODES: usize = 2;

/// One cell per place, variant and mode of one flag in one environment.
///
/// The same cells serve the flag before and after it is compiled anew, as long as its rules and variants stay.
#[derive(Debug)]
pub struct Cells {
    environment: EnvironmentId,
    flag: FlagId,
    rules: Box<[RuleId]>,
    variants: Box<[VariantKey]>,
    /// By place, then variant (none first), then mode; after all places one per error code and mode.
    cells: Box<[AtomicU64]>,
}

impl Cells {
    fn new(environment: EnvironmentId, flag: FlagId, rules: Box<[RuleId]>, variants: Box<[VariantKey]>) -> Self {
        let len = ((FIXED_PLACES + rules.len()) * (variants.len() + 1) + ErrorCode::ALL.len()) * MODES;
        let cells = std::iter::repeat_with(AtomicU64::default).take(len).collect();
        Self { environment, flag, rules, variants, cells }
    }

    /// Whether these cells fit a flag of these rules, paused ones included, and variants.
    pub fn fit(&self, rules: &[RuleId], variants: &[VariantKey]) -> bool {
        *self.rules == *rules && *self.variants == *variants
    }

    /// Counts one answer. Call it while holding the snapshot that gave the answer: cells are gathered until no snapshot
    /// uses them, and not a moment longer.
    #[inline]
    pub fn add(&self, outcome: &Outcome<'_>, mode: Mode) {
        if let Some(cell) = self.cells.get(self.index(outcome, mode)) {
            cell.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn index(&self, outcome: &Outcome<'_>, mode: Mode) -> usize {
        let width = self.variants.len() + 1;
        let place = match outcome.place {
            Place::Off => 0,
            Place::Killed => 1,
            Place::Target => 2,
            Place::Default => 3,
            Place::Blocked => 4,
            Place::Rule(index) => FIXED_PLACES + usize::from(index),
            Place::Error(code) => {
                return ((FIXED_PLACES + self.rules.len()) * width + position(code)) * MODES + mode as usize;
            }
        };
        let variant = outcome.variant_index.map_or(0, |index| usize::from(index) + 1);
        (place * width + variant) * MODES + mode as usize
    }

    /// The place, variant and mode of a cell, as they are written in a batch.
    fn meaning(&self, index: usize) -> (String, Option<String>, Mode) {
        let mode = if index.is_multiple_of(MODES) { Mode::Single } else { Mode::Bulk };
        let slot = index / MODES;
        let width = self.variants.len() + 1;
        let errors_from = (FIXED_PLACES + self.rules.len()) * width;
        if slot >= errors_from {
            return (format!("error {}", ErrorCode::ALL[slot - errors_from]), None, mode);
        }
        let place = match slot / width {
            0 => "off".into(),
            1 => "killed".into(),
            2 => "target".into(),
            3 => "default".into(),
            4 => "blocked".into(),
            rule => format!("rule {}", self.rules[rule - FIXED_PLACES]),
        };
        let variant = (slot % width).checked_sub(1).map(|at| self.variants[at].to_string());
        (place, variant, mode)
    }

    fn drain(&self, minute: i64, into: &mut Accumulator) -> u64 {
        let mut total = 0;
        for (index, cell) in self.cells.iter().enumerate() {
            if cell.load(Ordering::Relaxed) == 0 {
                continue;
            }
            let count = cell.swap(0, Ordering::Relaxed);
            let (place, variant, mode) = self.meaning(index);
            let (environment, flag) = (self.environment, self.flag);
            into.add(EvaluationKey { minute, environment, flag, place, variant, mode }, count);
            total += count;
        }
        total
    }

    fn sum(&self) -> u64 {
        self.cells.iter().map(|cell| cell.load(Ordering::Relaxed)).sum()
    }
}

fn position(code: ErrorCode) -> usize {
    ErrorCode::ALL.iter().position(|known| *known == code).unwrap_or(ErrorCode::ALL.len() - 1)
}

/// Counts the requests of one SDK key.
#[derive(Debug)]
pub struct KeyCell {
    environment: EnvironmentId,
    key: SdkKeyId,
    requests: AtomicU64,
}

impl KeyCell {
    /// Counts one request.
    #[inline]
    pub fn add(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }
}

impl Inner {
    fn waiting(&self) -> u64 {
        self.flags.iter().map(|cells| cells.sum()).sum()
    }
}

/// All cells that may still be added to.
#[derive(Debug, Default)]
pub struct Counters {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    flags: Vec<Arc<Cells>>,
    keys: Vec<Arc<KeyCell>>,
    harvested: u64,
}

impl Counters {
    /// New cells for a flag; gathered from now on.
    pub fn flag(
        &self,
        environment: EnvironmentId,
        flag: FlagId,
        rules: Box<[RuleId]>,
        variants: Box<[VariantKey]>,
    ) -> Arc<Cells> {
        let cells = Arc::new(Cells::new(environment, flag, rules, variants));
        self.lock().flags.push(Arc::clone(&cells));
        cells
    }

    /// A new cell for an SDK key; gathered from now on.
    pub fn key(&self, environment: EnvironmentId, key: SdkKeyId) -> Arc<KeyCell> {
        let cell = Arc::new(KeyCell { environment, key, requests: AtomicU64::default() });
        self.lock().keys.push(Arc::clone(&cell));
        cell
    }

    /// Moves everything counted since the last time into `into`, and lets go of cells that nobody can add to any more.
    /// Returns how many evaluations and requests that were.
    pub fn harvest(&self, minute: i64, into: &mut Accumulator) -> u64 {
        let mut inner = self.lock();
        let (mut total, mut requests_total) = (0, 0);
        // Whether a cell is still used is asked before it is emptied: who holds it may add until then, and once this
        // list holds the last reference nobody can begin to.
        inner.flags.retain_mut(|cells| {
            let is_used = Arc::get_mut(cells).is_none();
            total += cells.drain(minute, into);
            is_used
        });
        inner.keys.retain_mut(|cell| {
            let is_used = Arc::get_mut(cell).is_none();
            let requests = cell.requests.swap(0, Ordering::Relaxed);
            if requests > 0 {
                into.add_key(minute, cell.environment, cell.key, requests);
                requests_total += requests;
            }
            is_used
        });
        inner.harvested += total;
        total + requests_total
    }

    /// Evaluations counted since the process began.
    pub fn total(&self) -> u64 {
        let inner = self.lock();
        inner.harvested + inner.waiting()
    }

    /// Evaluations counted and not yet gathered.
    pub fn waiting(&self) -> u64 {
        self.lock().waiting()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use shared::evaluation::Reason;
    use uuid::Uuid;

    use super::*;

    fn outcome(place: Place, variant_index: Option<u16>) -> Outcome<'static> {
        Outcome {
            value: None,
            variant: None,
            variant_index,
            reason: Reason::Static,
            error: None,
            place,
            blocked_by: None,
        }
    }

    fn ids() -> (EnvironmentId, FlagId, RuleId) {
        (Uuid::from_u128(1).into(), Uuid::from_u128(2).into(), Uuid::from_u128(3).into())
    }

    #[test]
    fn every_place_variant_and_mode_has_a_cell_of_its_own() {
        let (environment, flag, rule) = ids();
        let variants: Box<[VariantKey]> = ["on", "off"].map(|key| key.parse().expect("a key")).into();
        let cells = Cells::new(environment, flag, [rule].into(), variants);
        let mut places = vec![Place::Off, Place::Killed, Place::Target, Place::Default, Place::Blocked, Place::Rule(0)];
        places.extend(ErrorCode::ALL.map(Place::Error));
        let mut seen = Vec::new();
        for place in places {
            for variant in [None, Some(0), Some(1)] {
                for mode in [Mode::Single, Mode::Bulk] {
                    let index = cells.index(&outcome(place, variant), mode);
                    let (text, name, found) = cells.meaning(index);
                    assert_eq!(found, mode);
                    if matches!(place, Place::Error(_)) {
                        assert_eq!(name, None);
                    } else {
                        assert_eq!(name.as_deref(), variant.map(|at| ["on", "off"][usize::from(at)]), "{text}");
                        seen.push(index);
                    }
                }
            }
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..36).collect::<Vec<_>>());
        assert_eq!(cells.meaning(30).0, format!("rule {rule}"));
        assert_eq!(cells.meaning(36).0, "error FLAG_NOT_FOUND");
    }

    #[test]
    fn cells_are_gathered_until_nobody_can_add_to_them() {
        let (environment, flag, _) = ids();
        let counters = Counters::default();
        let cells = counters.flag(environment, flag, [].into(), [].into());
        cells.add(&outcome(Place::Off, None), Mode::Single);
        let mut gathered = Accumulator::default();
        assert_eq!(counters.harvest(1, &mut gathered), 1);
        cells.add(&outcome(Place::Off, None), Mode::Single);
        drop(cells);
        assert_eq!(counters.total(), 2);
        assert_eq!(counters.harvest(1, &mut gathered), 1);
        assert!(counters.lock().flags.is_empty());
        assert_eq!(counters.total(), 2);
    }
}
