//! Which flags somebody looks at right now, so that one query a second tells all who do.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shared::model::id::{EnvironmentId, FlagId};
use shared::model::key::FlagKey;

/// The most flags that are watched at once on one backend.
const WATCHED_MAX: usize = 100;

/// A flag in an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WatchedFlag {
    /// Where.
    pub environment: EnvironmentId,
    /// Which.
    pub flag: FlagId,
}

/// All flags that are watched, each with its key and how many watch it.
#[derive(Debug, Default)]
pub(super) struct Watches(Mutex<HashMap<WatchedFlag, (FlagKey, usize)>>);

/// Somebody watches a flag until this is dropped.
#[derive(Debug)]
pub struct Watching {
    watches: Arc<Watches>,
    flag: WatchedFlag,
}

impl Watches {
    /// `None` when too many others are watched.
    pub(super) fn add(self: &Arc<Self>, flag: WatchedFlag, key: FlagKey) -> Option<Watching> {
        let mut flags = self.lock();
        if !flags.contains_key(&flag) && flags.len() >= WATCHED_MAX {
            return None;
        }
        flags.entry(flag).or_insert((key, 0)).1 += 1;
        Some(Watching { watches: Arc::clone(self), flag })
    }

    /// All that are watched.
    pub(super) fn list(&self) -> Vec<(WatchedFlag, FlagKey)> {
        self.lock().iter().map(|(flag, (key, _))| (*flag, key.clone())).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<WatchedFlag, (FlagKey, usize)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watching {
    /// Which flag.
    pub fn flag(&self) -> WatchedFlag {
        self.flag
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut flags = self.watches.lock();
        if let Some((_, viewers)) = flags.get_mut(&self.flag) {
            *viewers -= 1;
            if *viewers == 0 {
                flags.remove(&self.flag);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_flag_is_watched_until_the_last_viewer_leaves_and_not_too_many_are() {
        let watches = Arc::new(Watches::default());
        let key: FlagKey = "checkout".parse().expect("a key");
        let flag = |n: usize| WatchedFlag { environment: Uuid::nil().into(), flag: Uuid::from_u128(n as u128).into() };
        let first = watches.add(flag(0), key.clone());
        let second = watches.add(flag(0), key.clone());
        drop(first);
        assert_eq!(watches.list(), [(flag(0), key.clone())]);
        let others: Vec<_> = (1..WATCHED_MAX).map(|n| watches.add(flag(n), key.clone()).expect("room")).collect();
        assert!(watches.add(flag(WATCHED_MAX), key.clone()).is_none());
        assert!(watches.add(flag(0), key.clone()).is_some(), "one that is watched anyway costs nothing");
        drop((second, others));
        assert_eq!(watches.list(), []);
    }
}
