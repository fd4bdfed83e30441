//! The assignment cache: which exposures were told already.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many places of the table one fingerprint may lie at.
const WAYS: usize = 4;

/// Fingerprints of exposures that were told, in a table of fixed size. One that was pushed out is told again, which
/// changes nothing but the traffic; two different exposures of one fingerprint are as likely as two equal random numbers
/// of 64 bits.
#[derive(Debug)]
pub(super) struct Assignments {
    /// 0 is free.
    slots: Box<[AtomicU64]>,
}

impl Assignments {
    /// A table with room for so many; 0 remembers nothing.
    pub(super) fn new(capacity: usize) -> Self {
        Self { slots: std::iter::repeat_with(AtomicU64::default).take(capacity).collect() }
    }

    /// Whether a fingerprint was put in, and not pushed out since.
    #[inline]
    pub(super) fn has(&self, fingerprint: u64) -> bool {
        self.set(fingerprint).iter().any(|slot| slot.load(Ordering::Relaxed) == fingerprint)
    }

    /// Remembers a fingerprint other than 0. Only one thread at a time may put.
    pub(super) fn put(&self, fingerprint: u64) {
        let set = self.set(fingerprint);
        let free = set.iter().find(|slot| slot.load(Ordering::Relaxed) == 0);
        // The high bits chose the set, so the low ones are as good as chance.
        let slot = free.or_else(|| set.get(fingerprint as usize % set.len().max(1)));
        if let Some(slot) = slot {
            slot.store(fingerprint, Ordering::Relaxed);
        }
    }

    fn set(&self, fingerprint: u64) -> &[AtomicU64] {
        let sets = self.slots.len().div_ceil(WAYS) as u128;
        let begin = ((u128::from(fingerprint) * sets) >> 64) as usize * WAYS;
        let end = (begin + WAYS).min(self.slots.len());
        self.slots.get(begin..end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use xxhash_rust::xxh3::xxh3_64;

    use super::*;

    fn fingerprint(number: u64) -> u64 {
        xxh3_64(&number.to_le_bytes()).max(1)
    }

    #[test]
    fn what_was_put_in_is_there_until_it_is_pushed_out() {
        for capacity in [1, 2, 3, 4, 5, 1_000] {
            let table = Assignments::new(capacity);
            for number in 0..5_000 {
                let fingerprint = fingerprint(number);
                assert!(!table.has(fingerprint), "{capacity} {number}");
                table.put(fingerprint);
                assert!(table.has(fingerprint), "{capacity} {number}");
            }
            let kept = (0..5_000).filter(|number| table.has(fingerprint(*number))).count();
            assert!(kept <= capacity && kept >= capacity.min(4).max(capacity / 2), "{kept} of {capacity}");
        }
    }

    #[test]
    fn a_table_without_room_remembers_nothing() {
        let table = Assignments::new(0);
        table.put(7);
        assert!(!table.has(7));
    }
}
