//! What experiments say: pure functions of sums, without I/O, clock or randomness. The distributions come from `statrs`.
//!
//! [`Proportion`] and [`Mean`] sum up one variant, [`comparison`] sets two of them against each other, [`ratio`] checks
//! that users were divided as the split says. What cannot be told yet is a [`NotYet`] with its reason, never a number
//! that is none.

pub mod comparison;
pub mod ratio;
pub mod sample;
pub mod sequence;
#[cfg(test)]
mod simulation;

pub use comparison::Comparison;
pub use sample::{Mean, Proportion};

use thiserror::Error;

/// Every interval holds the true value in at least this share of cases.
pub const CONFIDENCE: f64 = 0.95;
/// The rest.
pub(crate) const ALPHA: f64 = 0.05;
/// Users that each variant must have before it is compared: with fewer, an estimate is not yet distributed as the
/// intervals suppose.
pub const UNITS_MIN: u64 = 100;
/// Users of both variants together that must have done something, and for a conversion also not done it.
pub const ACTIVE_MIN: u64 = 10;

/// A range that holds the true value with [`CONFIDENCE`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Interval {
    /// The range of `half` on both sides of a value.
    pub(crate) fn around(value: f64, half: f64) -> Self {
        Self { low: value - half, high: value + half }
    }

    /// Whether all of it is on one side of 0.
    pub fn excludes_zero(self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }

    pub(crate) fn is_finite(self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }
}

/// Why something cannot be told yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NotYet {
    /// There is nobody.
    #[error("nobody was given this variant yet")]
    Nobody,
    /// A variant has few users.
    #[error("{units} users were given one of the two variants; it can be told from {UNITS_MIN} in each")]
    FewUnits {
        /// Users of the variant that has fewer.
        units: u64,
    },
    /// All variants have few users.
    #[error("{units} users were given a variant; it can be told from {}", ratio::UNITS_MIN)]
    FewInAll {
        /// Users of all variants.
        units: u64,
    },
    /// Few users did something.
    #[error("{active} users of the two variants did it; it can be told from {ACTIVE_MIN}")]
    FewActive {
        /// How many did.
        active: u64,
    },
    /// Nearly everybody did it.
    #[error("only {inactive} users of the two variants did not do it; it can be told from {ACTIVE_MIN}")]
    FewInactive {
        /// How many did not.
        inactive: u64,
    },
    /// All values are the same.
    #[error("every user of the two variants has the same value, so nothing tells how much is chance")]
    NoVariance,
    /// There is nothing to set it against.
    #[error("the split has one variant only, so there is nothing to compare it with")]
    OneVariant,
    /// Sums that are beyond what can be computed with.
    #[error("the values are too large to compute with; send smaller ones, as 12.5 for 12,500,000 millionths")]
    BeyondNumbers,
}
