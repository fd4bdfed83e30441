//! The one home of clock, ids and chance.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use shared::model::id::ProcessId;
use uuid::Uuid;

/// Milliseconds since 1970, in UTC.
#[expect(clippy::disallowed_methods, reason = "this is the one home of the clock")]
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Nanoseconds since 1970, in UTC.
#[expect(clippy::disallowed_methods, reason = "this is the one home of the clock")]
pub fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Fits until 2554.
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Minutes since 1970, in UTC.
pub fn minute() -> i64 {
    now_ms() / 60_000
}

/// How long until the next minute begins; at least a millisecond.
pub fn until_next_minute() -> Duration {
    Duration::from_millis(60_000 - now_ms().rem_euclid(60_000).unsigned_abs())
}

/// A new id for this process.
#[expect(clippy::disallowed_methods, reason = "this is the one home of ids")]
pub fn new_process_id() -> ProcessId {
    Uuid::now_v7().into()
}

/// Any number with the same chance.
pub fn random() -> u64 {
    rand::random()
}

/// Random bytes that name something, so never all zero.
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    rand::fill(&mut bytes);
    if bytes == [0; N] {
        bytes[N - 1] = 1;
    }
    bytes
}

/// A random part of `most`, so that many edges do not act in the same instant.
pub fn jitter(most: Duration) -> Duration {
    most.mul_f64(rand::random::<f64>())
}

/// Waits that double up to a cap, each shortened by chance to between half and whole.
#[derive(Debug)]
pub struct Backoff {
    first: Duration,
    most: Duration,
    next: Duration,
}

impl Backoff {
    /// Waits from `first` up to `most`.
    pub fn new(first: Duration, most: Duration) -> Self {
        Self { first, most, next: first }
    }

    /// How long to wait this time.
    pub fn wait(&mut self) -> Duration {
        let wait = self.next;
        self.next = (wait * 2).min(self.most);
        wait / 2 + jitter(wait / 2)
    }

    /// Begins anew after a success.
    pub fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_the_cap_and_begin_anew_after_a_success() {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_millis(400));
        for whole in [100, 200, 400, 400] {
            let wait = backoff.wait();
            assert!(wait >= Duration::from_millis(whole / 2) && wait <= Duration::from_millis(whole), "{wait:?}");
        }
        backoff.reset();
        assert!(backoff.wait() <= Duration::from_millis(100));
    }
}
