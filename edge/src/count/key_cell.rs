//! What is counted of one SDK key: its requests, and those for flags that nobody knows.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use shared::model::id::{EnvironmentId, SdkKeyId};
use shared::model::key::FlagKey;

use crate::count::accumulator::{Accumulator, UnknownKey};

/// The most unknown flags of one SDK key that are told apart at once.
const UNKNOWN_MAX: usize = 100;

/// Counts the requests of one SDK key.
#[derive(Debug)]
pub struct KeyCell {
    environment: EnvironmentId,
    key: SdkKeyId,
    requests: AtomicU64,
    unknown: Mutex<Unknown>,
}

/// Requests for flags that the environment does not have.
#[derive(Debug, Default)]
struct Unknown {
    /// Those of the last interval keep their place; new ones come in while there is room.
    flags: HashMap<FlagKey, u64>,
    /// What could be no flag's key, and what found no room.
    others: u64,
}

impl KeyCell {
    pub(super) fn new(environment: EnvironmentId, key: SdkKeyId) -> Self {
        Self { environment, key, requests: AtomicU64::default(), unknown: Mutex::default() }
    }

    /// Counts one request.
    #[inline]
    pub fn add(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one request for a flag that is not there; call it while holding the snapshot that says so.
    pub fn add_unknown(&self, flag: &str) {
        let mut unknown = self.unknown();
        if let Some(count) = unknown.flags.get_mut(flag) {
            *count += 1;
        } else if unknown.flags.len() < UNKNOWN_MAX
            && let Ok(flag) = flag.parse()
        {
            unknown.flags.insert(flag, 1);
        } else {
            unknown.others += 1;
        }
    }

    /// Requests for unknown flags that were not gathered yet.
    pub(super) fn unknown_sum(&self) -> u64 {
        let unknown = self.unknown();
        unknown.flags.values().sum::<u64>() + unknown.others
    }

    /// Returns how many requests there were, and how many for unknown flags.
    pub(super) fn drain(&self, minute: i64, into: &mut Accumulator) -> (u64, u64) {
        let (environment, key) = (self.environment, self.key);
        let requests = self.requests.swap(0, Ordering::Relaxed);
        if requests > 0 {
            into.add_key(minute, environment, key, requests);
        }
        let mut unknown = self.unknown();
        let mut total = std::mem::take(&mut unknown.others);
        if total > 0 {
            into.add_unknown(UnknownKey { minute, environment, key, flag: None }, total);
        }
        unknown.flags.retain(|flag, count| {
            let count = std::mem::take(count);
            if count > 0 {
                into.add_unknown(UnknownKey { minute, environment, key, flag: Some(flag.clone()) }, count);
                total += count;
            }
            count > 0
        });
        (requests, total)
    }

    fn unknown(&self) -> MutexGuard<'_, Unknown> {
        self.unknown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    /// What one interval brings: how often each key, and the others.
    fn interval(cell: &KeyCell) -> (Vec<(String, u64)>, u64) {
        let mut gathered = Accumulator::default();
        let (_, total) = cell.drain(1, &mut gathered);
        let batch = gathered.close_next();
        let entries = batch.map(|batch| batch.unknown).unwrap_or_default();
        assert_eq!(entries.iter().map(|entry| entry.count).sum::<u64>(), total);
        let others = entries.iter().filter(|entry| entry.flag.is_none()).map(|entry| entry.count).sum();
        let named = entries.iter().filter_map(|entry| Some((entry.flag.as_ref()?.to_string(), entry.count)));
        (named.collect(), others)
    }

    #[test]
    fn keys_of_the_last_interval_keep_their_place_and_the_rest_is_counted_together() {
        let cell = KeyCell::new(Uuid::from_u128(1).into(), Uuid::from_u128(2).into());
        for _ in 0..3 {
            cell.add_unknown("typo");
        }
        for bad in ["", "a b", "ä", "../etc", &"x".repeat(201)] {
            cell.add_unknown(bad);
        }
        assert_eq!(cell.unknown_sum(), 8);
        assert_eq!(interval(&cell), (vec![("typo".to_owned(), 3)], 5));
        assert_eq!((cell.unknown_sum(), interval(&cell)), (0, (vec![], 0)), "not asked for, so it lost its place");

        for number in 0..UNKNOWN_MAX + 20 {
            cell.add_unknown(&format!("made-up-{number}"));
        }
        let (named, others) = interval(&cell);
        assert_eq!((named.len(), others), (UNKNOWN_MAX, 20));
        // A hundred others come first, but who was there stays.
        for number in 0..UNKNOWN_MAX {
            cell.add_unknown(&format!("other-{number}"));
            cell.add_unknown("made-up-7");
        }
        assert_eq!(interval(&cell), (vec![("made-up-7".to_owned(), 100)], 100));
        cell.add_unknown("other-1");
        cell.add_unknown("made-up-7");
        assert_eq!(interval(&cell).0.len(), 2, "there is room again");
    }
}
