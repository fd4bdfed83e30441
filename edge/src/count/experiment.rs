//! What experiments need beside counts: who saw which variant, and what users did. Waits here between two gatherings.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shared::evaluation::Place;
use shared::model::id::EnvironmentId;
use shared::model::key::EventName;

use crate::count::Cells;
use crate::count::accumulator::{Accumulator, EventKey};
use crate::count::assignment::Assignments;

/// The most exposures that wait, gathered ones included; further ones are told when they happen again.
pub const EXPOSURES_WAITING_MAX: usize = 100_000;
/// The most different (event, unit, minute) that wait, gathered ones included; then `POST /track` is refused.
pub const EVENTS_WAITING_MAX: usize = 50_000;

/// What became of an exposure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// It was told before.
    Known,
    /// It is told with the next batch.
    Told,
    /// There is no room: it is told when it happens the next time.
    Postponed,
}

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracked {
    /// It is told with the next batch.
    Taken,
    /// There is no room; nothing was taken.
    Full,
    /// Nobody gathers events here.
    Ignored,
}

/// A unit that was given a variant. Holding the cells costs no allocation, and keeps what they mean.
#[derive(Debug)]
struct Exposed {
    cells: Arc<Cells>,
    place: Place,
    variant: u16,
    unit: u64,
}

type Events = HashMap<(EnvironmentId, EventName, u64), (u64, f64)>;

/// Exposures and events that wait, and the cache that knows what was told.
#[derive(Debug)]
pub(super) struct Experiments {
    assignments: Assignments,
    exposures: Mutex<Vec<Exposed>>,
    events: Mutex<Events>,
    /// Exposures that were gathered and lie in no closed batch yet.
    exposures_gathered: AtomicUsize,
    /// Entries of events likewise.
    events_gathered: AtomicUsize,
}

impl Experiments {
    /// With an assignment cache of this capacity; 0 has none.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            assignments: Assignments::new(capacity),
            exposures: Mutex::default(),
            events: Mutex::default(),
            exposures_gathered: AtomicUsize::default(),
            events_gathered: AtomicUsize::default(),
        }
    }

    /// Notes that a unit got a variant, unless that was told before.
    pub(super) fn expose(&self, cells: &Arc<Cells>, place: Place, variant: u16, unit: u64) -> Exposure {
        let fingerprint = cells.fingerprint(place, variant, unit);
        if self.assignments.has(fingerprint) {
            return Exposure::Known;
        }
        let mut waiting = lock(&self.exposures);
        // Another thread may have told it just now.
        if self.assignments.has(fingerprint) {
            return Exposure::Known;
        }
        if waiting.len() + self.exposures_gathered.load(Ordering::Relaxed) >= EXPOSURES_WAITING_MAX {
            return Exposure::Postponed;
        }
        waiting.push(Exposed { cells: Arc::clone(cells), place, variant, unit });
        self.assignments.put(fingerprint);
        Exposure::Told
    }

    /// Adds one event of some units, of all or of none.
    pub(super) fn track(&self, environment: EnvironmentId, event: &EventName, units: &[u64], value: f64) -> Tracked {
        let mut waiting = lock(&self.events);
        if waiting.len() + units.len() + self.events_gathered.load(Ordering::Relaxed) > EVENTS_WAITING_MAX {
            return Tracked::Full;
        }
        for unit in units {
            let (count, sum) = waiting.entry((environment, event.clone(), *unit)).or_default();
            *count += 1;
            *sum += value;
        }
        Tracked::Taken
    }

    /// Moves everything that waits into `into`. Returns how many entries that were.
    pub(super) fn harvest(&self, minute: i64, into: &mut Accumulator) -> u64 {
        let mut exposed = take_noting(&self.exposures, &self.exposures_gathered, Vec::len);
        let events = take_noting(&self.events, &self.events_gathered, |events| events.len());
        let entries = (exposed.len() + events.len()) as u64;
        let group = |one: &Exposed| {
            let place = match one.place {
                Place::Rule(index) => usize::from(index) + 1,
                _ => 0,
            };
            (Arc::as_ptr(&one.cells), place, one.variant)
        };
        exposed.sort_unstable_by_key(group);
        for same in exposed.chunk_by(|a, b| group(a) == group(b)) {
            if let Some(key) = same[0].cells.exposure(same[0].place, same[0].variant, minute) {
                into.add_exposures(key, same.iter().map(|one| one.unit));
            }
        }
        for ((environment, event, unit), (count, sum)) in events {
            into.add_event(EventKey { minute, environment, event }, unit, count, sum);
        }
        entries
    }

    /// How much was gathered and waits to be closed into a batch.
    pub(super) fn note_gathered(&self, exposures: usize, events: usize) {
        self.exposures_gathered.store(exposures, Ordering::Relaxed);
        self.events_gathered.store(events, Ordering::Relaxed);
    }
}

/// Takes everything; it counts as gathered before anybody may come in its place.
fn take_noting<T: Default>(waiting: &Mutex<T>, gathered: &AtomicUsize, len: impl Fn(&T) -> usize) -> T {
    let mut waiting = lock(waiting);
    gathered.fetch_add(len(&waiting), Ordering::Relaxed);
    std::mem::take(&mut *waiting)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use shared::evaluation::Reason;
    use shared::wire::count::CountBatch;
    use uuid::Uuid;

    use super::*;
    use crate::count::cells::tests::cells;

    fn gathered(experiments: &Experiments) -> CountBatch {
        let mut open = Accumulator::default();
        experiments.harvest(1, &mut open);
        open.close_next().expect("a batch")
    }

    #[test]
    fn a_unit_is_told_once_for_each_variant_and_place_while_the_cache_remembers_it() {
        let cells = Arc::new(cells([Reason::Split; 2]));
        let experiments = Experiments::new(100);
        let expose = |place, variant, unit| experiments.expose(&cells, place, variant, unit);
        assert_eq!(expose(Place::Default, 0, 7), Exposure::Told);
        assert_eq!(expose(Place::Default, 0, 7), Exposure::Known);
        assert_eq!(expose(Place::Default, 1, 7), Exposure::Told);
        assert_eq!(expose(Place::Rule(0), 0, 7), Exposure::Told);
        assert_eq!(expose(Place::Default, 0, 8), Exposure::Told);
        let batch = gathered(&experiments);
        let told: Vec<_> = batch.exposures.iter().map(|e| (&*e.place, e.variant.as_str(), &e.units[..])).collect();
        let rule = "rule 00000000-0000-0000-0000-000000000003";
        assert_eq!(told, [("default", "off", &[7][..]), ("default", "on", &[7, 8]), (rule, "on", &[7])]);
        assert_eq!(expose(Place::Default, 0, 7), Exposure::Known, "also after it was gathered");
    }

    #[test]
    fn what_finds_no_room_is_told_the_next_time() {
        let cells = Arc::new(cells([Reason::Split; 2]));
        let experiments = Experiments::new(1_000_000);
        for unit in 0..EXPOSURES_WAITING_MAX as u64 {
            assert_eq!(experiments.expose(&cells, Place::Default, 0, unit), Exposure::Told);
        }
        assert_eq!(experiments.expose(&cells, Place::Default, 0, u64::MAX), Exposure::Postponed);
        let mut open = Accumulator::default();
        assert_eq!(experiments.harvest(1, &mut open), EXPOSURES_WAITING_MAX as u64);
        experiments.note_gathered(open.exposures(), open.events());
        assert_eq!(
            experiments.expose(&cells, Place::Default, 0, u64::MAX),
            Exposure::Postponed,
            "gathered ones wait too"
        );
        assert!(open.close_next().is_some());
        experiments.note_gathered(open.exposures(), open.events());
        assert_eq!(experiments.expose(&cells, Place::Default, 0, u64::MAX), Exposure::Told);
    }

    #[test]
    fn without_a_cache_a_unit_is_told_anew_and_lies_in_a_batch_once() {
        let cells = Arc::new(cells([Reason::Split; 2]));
        let experiments = Experiments::new(0);
        for _ in 0..3 {
            assert_eq!(experiments.expose(&cells, Place::Default, 0, 7), Exposure::Told);
        }
        let batch = gathered(&experiments);
        assert_eq!(batch.exposures.iter().flat_map(|told| &told.units).collect::<Vec<_>>(), [&7]);
    }

    #[test]
    fn events_are_added_up_and_taken_whole_or_not_at_all() {
        let experiments = Experiments::new(0);
        let (environment, purchase) = (Uuid::from_u128(1).into(), "purchase".parse().expect("a name"));
        let track = |units: &[u64], value| experiments.track(environment, &purchase, units, value);
        assert_eq!(track(&[1, 2], 12.5), Tracked::Taken);
        assert_eq!(track(&[1], 0.5), Tracked::Taken);
        experiments.events_gathered.store(EVENTS_WAITING_MAX - 3, Ordering::Relaxed);
        assert_eq!(track(&[3, 4], 1.0), Tracked::Full);
        assert_eq!(track(&[3], 1.0), Tracked::Taken);
        assert_eq!(track(&[1], 1.0), Tracked::Full);
        let batch = gathered(&experiments);
        assert_eq!(batch.events[0].units, [(1, 2, 13.0), (2, 1, 12.5), (3, 1, 1.0)]);
    }
}
