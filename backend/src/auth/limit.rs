//! Slows down guessing of passwords: after five wrong tries in a row an e-mail waits, longer each time.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Wrong tries that cost nothing.
const FREE_TRIES: u32 = 5;
/// The longest wait.
const WAIT_MAX: Duration = Duration::from_secs(300);
/// A try is forgotten after this.
const FORGET_AFTER: Duration = Duration::from_secs(900);
/// More names than this are not remembered; the oldest go first.
const NAMES_MAX: usize = 10_000;

/// Wrong tries by name (an e-mail, or an address).
#[derive(Debug, Default)]
pub struct TryLimit {
    tries: Mutex<HashMap<String, Tries>>,
}

#[derive(Debug)]
struct Tries {
    wrong: u32,
    last: Instant,
}

impl Tries {
    fn wait(&self) -> Duration {
        match self.wrong.checked_sub(FREE_TRIES) {
            None => Duration::ZERO,
            Some(over) => Duration::from_secs(5 << over.min(6)).min(WAIT_MAX),
        }
    }
}

impl TryLimit {
    /// How long this name has to wait before it may try again, and counts the try as wrong until [`Self::clear`].
    pub fn begin(&self, name: &str) -> Result<(), Duration> {
        let mut tries = self.tries.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if tries.len() >= NAMES_MAX && !tries.contains_key(name) {
            tries.retain(|_, known| now - known.last < FORGET_AFTER);
            if tries.len() >= NAMES_MAX
                && let Some(oldest) = tries.iter().min_by_key(|(_, known)| known.last).map(|(name, _)| name.clone())
            {
                tries.remove(&oldest);
            }
        }
        let known = tries.entry(name.to_owned()).or_insert(Tries { wrong: 0, last: now });
        if now - known.last >= FORGET_AFTER {
            known.wrong = 0;
        }
        let left = known.wait().saturating_sub(now - known.last);
        if !left.is_zero() {
            return Err(left);
        }
        known.wrong += 1;
        known.last = now;
        Ok(())
    }

    /// Forgets the tries of a name that got it right.
    pub fn clear(&self, name: &str) {
        self.tries.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sixth_wrong_try_waits_and_a_right_one_forgets() {
        let limit = TryLimit::default();
        for _ in 0..FREE_TRIES {
            assert_eq!(limit.begin("ana"), Ok(()));
        }
        assert!(limit.begin("ana").is_err_and(|wait| wait <= Duration::from_secs(5)));
        assert_eq!(limit.begin("ben"), Ok(()));
        limit.clear("ana");
        assert_eq!(limit.begin("ana"), Ok(()));
    }
}
