//! The list of everything that is counted, and the one place that says how much of it came home.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shared::evaluation::Place;
use shared::model::id::{EnvironmentId, FlagId, SdkKeyId};
use shared::model::key::EventName;
use shared::wire::edge::InheritedCounts;

use crate::count::accumulator::Accumulator;
use crate::count::cells::{Cells, Shape};
use crate::count::experiment::{Experiments, Exposure, Tracked};
use crate::count::key_cell::KeyCell;

/// All cells that may still be added to.
#[derive(Debug, Default)]
pub struct Counters {
    inner: Mutex<Inner>,
    /// None where nobody gathers: then nothing may pile up.
    experiments: Option<Experiments>,
}

#[derive(Debug, Default)]
struct Inner {
    flags: Vec<Arc<Cells>>,
    keys: Vec<Arc<KeyCell>>,
    harvested: u64,
    balance: Balance,
}

/// Where gathered evaluations are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// Of this process, gathered and not yet confirmed.
    pub unsent: u64,
    /// Of this process, gathered and then let go of.
    pub lost: u64,
    /// Of earlier processes.
    pub inherited: Vec<InheritedCounts>,
}

impl Counters {
    /// Counters that also gather exposures and events, with an assignment cache of this capacity.
    pub fn with_experiments(assignments: usize) -> Self {
        Self { experiments: Some(Experiments::new(assignments)), ..Self::default() }
    }

    /// New cells for a flag; gathered from now on.
    pub fn flag(&self, environment: EnvironmentId, flag: FlagId, shape: Shape) -> Arc<Cells> {
        let cells = Arc::new(Cells::new(environment, flag, shape));
        self.lock().flags.push(Arc::clone(&cells));
        cells
    }

    /// A new cell for an SDK key; gathered from now on.
    pub fn key(&self, environment: EnvironmentId, key: SdkKeyId) -> Arc<KeyCell> {
        let cell = Arc::new(KeyCell::new(environment, key));
        self.lock().keys.push(Arc::clone(&cell));
        cell
    }

    /// Notes that a split of an experiment gave a unit a variant; `None` where nobody gathers that.
    pub fn expose(&self, cells: &Arc<Cells>, place: Place, variant: u16, unit: u64) -> Option<Exposure> {
        self.experiments.as_ref().map(|experiments| experiments.expose(cells, place, variant, unit))
    }

    /// Whether exposures and events are gathered here.
    pub fn gathers_experiments(&self) -> bool {
        self.experiments.is_some()
    }

    /// Adds an event of some units, for all of them or for none.
    pub fn track(&self, environment: EnvironmentId, event: &EventName, units: &[u64], value: f64) -> Tracked {
        let experiments = self.experiments.as_ref();
        experiments.map_or(Tracked::Ignored, |experiments| experiments.track(environment, event, units, value))
    }

    /// Moves everything counted since the last time into `into`, and lets go of cells that nobody can add to any more.
    /// Returns how many evaluations, requests, exposures and events that were.
    pub fn harvest(&self, minute: i64, into: &mut Accumulator) -> u64 {
        // First, since what waits there holds cells.
        let entries = self.experiments.as_ref().map_or(0, |experiments| experiments.harvest(minute, into));
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
            let (requests, unknown) = cell.drain(minute, into);
            requests_total += requests;
            total += unknown;
            is_used
        });
        inner.harvested += total;
        // In the same instant, so that no heartbeat finds them neither counted as waiting nor as unsent.
        inner.balance.unsent += total;
        total + requests_total + entries
    }

    /// Says where gathered evaluations are now, and how many exposures and entries of events lie in no batch yet.
    pub fn settle(&self, balance: Balance, exposures: usize, events: usize) {
        self.lock().balance = balance;
        if let Some(experiments) = &self.experiments {
            experiments.note_gathered(exposures, events);
        }
    }

    /// Evaluations counted since the process began, those of unknown flags included.
    pub fn total(&self) -> u64 {
        let inner = self.lock();
        inner.harvested + inner.waiting()
    }

    /// All of one instant: evaluations counted since the process began, and where they are.
    pub fn balance(&self) -> (u64, Balance) {
        let inner = self.lock();
        let waiting = inner.waiting();
        let balance = Balance { unsent: inner.balance.unsent + waiting, ..inner.balance.clone() };
        (inner.harvested + waiting, balance)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Evaluations counted and not yet gathered.
    fn waiting(&self) -> u64 {
        let evaluations: u64 = self.flags.iter().map(|cells| cells.sum()).sum();
        evaluations + self.keys.iter().map(|cell| cell.unknown_sum()).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use shared::evaluation::Flag;
    use shared::wire::count::Mode;
    use uuid::Uuid;

    use super::*;
    use crate::count::cells::tests::outcome;

    #[test]
    fn cells_are_gathered_until_nobody_can_add_to_them() {
        let (environment, flag) = (Uuid::from_u128(1).into(), Uuid::from_u128(2).into());
        let counters = Counters::default();
        let unreadable = Flag::unreadable("a".parse().expect("a key"), false, "it is newer");
        let cells = counters.flag(environment, flag, Shape::of(&unreadable, Box::default()));
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

    #[test]
    fn at_every_moment_what_is_counted_is_unsent_until_the_sender_settles_it() {
        let (environment, key) = (Uuid::from_u128(1).into(), Uuid::from_u128(2).into());
        let counters = Counters::default();
        let cell = counters.key(environment, key);
        cell.add();
        cell.add_unknown("typo");
        let waits = (1, Balance { unsent: 1, ..Balance::default() });
        assert_eq!(counters.balance(), waits);
        counters.harvest(1, &mut Accumulator::default());
        assert_eq!(counters.balance(), waits);
        counters.settle(Balance::default(), 0, 0);
        assert_eq!(counters.balance(), (1, Balance::default()));
        drop(cell);
        counters.harvest(2, &mut Accumulator::default());
        assert!(counters.lock().keys.is_empty());
    }
}
