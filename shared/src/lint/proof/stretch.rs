//! Everything on one side of a limit, and what several such stretches cover together.

use std::cmp::Ordering;

/// One side of an ordered type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stretch<T> {
    pub(super) limit: T,
    /// The side that is in: less or greater.
    pub(super) side: Ordering,
    /// The limit itself is in too.
    pub(super) is_closed: bool,
}

impl<T: Ord + Clone> Stretch<T> {
    /// Everything that is not in.
    pub(super) fn complement(&self) -> Self {
        Self { limit: self.limit.clone(), side: self.side.reverse(), is_closed: !self.is_closed }
    }
}

impl<T: Ord> Stretch<T> {
    pub(super) fn contains(&self, value: &T) -> bool {
        let ordering = value.cmp(&self.limit);
        ordering == self.side || (self.is_closed && ordering.is_eq())
    }

    /// Whether this and another, together, leave nothing out.
    pub(super) fn completes(&self, other: &Self) -> bool {
        // They face each other and overlap or touch.
        self.side != other.side
            && match self.limit.cmp(&other.limit) {
                Ordering::Equal => self.is_closed || other.is_closed,
                ordering => ordering != self.side,
            }
    }

    /// Whether all of this is in another.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        self.side == other.side
            && match self.limit.cmp(&other.limit) {
                Ordering::Equal => other.is_closed || !self.is_closed,
                ordering => ordering == self.side,
            }
    }

    /// Whether all of this is in others together.
    pub(super) fn is_covered(&self, others: &[&Self]) -> bool {
        others.iter().any(|other| self.is_within(other)) || are_everything(others)
    }
}

/// Whether stretches leave nothing out together.
pub(super) fn are_everything<T: Ord>(stretches: &[&Stretch<T>]) -> bool {
    stretches.iter().enumerate().any(|(at, one)| stretches[..at].iter().any(|other| one.completes(other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretches() -> Vec<Stretch<i32>> {
        let mut all = Vec::new();
        for limit in [1, 3, 5] {
            for side in [Ordering::Less, Ordering::Greater] {
                all.extend([true, false].map(|is_closed| Stretch { limit, side, is_closed }));
            }
        }
        all
    }

    /// Integers stand for values between, too: limits are odd.
    #[test]
    fn what_covers_what_is_told_exactly() {
        let all = stretches();
        for one in &all {
            assert!((-1..8).all(|n| one.contains(&n) != one.complement().contains(&n)), "{one:?}");
            for other in &all {
                let is_in = (-1..8).all(|n| !one.contains(&n) || other.contains(&n));
                assert_eq!(one.is_within(other), is_in, "{one:?} {other:?}");
                let is_whole = (-1..8).all(|n| one.contains(&n) || other.contains(&n));
                assert_eq!(one.completes(other), is_whole, "{one:?} {other:?}");
                for third in &all {
                    let is_in = (-1..8).all(|n| !third.contains(&n) || one.contains(&n) || other.contains(&n));
                    assert_eq!(third.is_covered(&[one, other]), is_in, "{third:?} {one:?} {other:?}");
                }
            }
        }
    }
}
