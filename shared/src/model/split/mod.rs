//! Splits: which variant owns which buckets, and what changes when shares change.

mod algorithm;
mod cut;
mod reallocate;
mod weights;

pub use algorithm::{Algorithm, Comparison, MissingKey, VariantOrder};
pub use reallocate::{Movement, movement, reallocate, rename};
pub use weights::WeightError;

use serde::{Deserialize, Serialize};

use crate::compare::shown;
use crate::model::condition::ATTRIBUTE_BYTES_MAX;
use crate::model::key::VariantKey;
use crate::model::problem::{Path, Problems};

/// Buckets in a split; one bucket is 0.001 %. Only splits that were imported may have another number of them.
pub const BUCKETS: u32 = 100_000;
/// The most buckets of an imported split.
pub const BUCKETS_MAX: u32 = i32::MAX as u32;
/// The most ranges of a split.
pub const RANGES_MAX: usize = 1_000;
/// The longest seed, in bytes.
pub const SEED_BYTES_MAX: usize = 200;

/// Buckets `start..end` belong to a variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BucketRange {
    /// First bucket.
    pub start: u32,
    /// One past the last bucket; at most the split's total.
    pub end: u32,
    /// Who owns them.
    pub variant: VariantKey,
}

/// A division of users among variants by the hash of one attribute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Split {
    /// Name of the attribute whose value is hashed, usually `targetingKey`.
    pub bucket_by: String,
    /// How it is hashed.
    #[serde(default)]
    pub algorithm: Algorithm,
    /// Random text that makes this split independent of others; 1 to 200 bytes, or as the product it was imported from
    /// had it.
    pub seed: String,
    /// How many buckets there are: 100,000, unless it was imported.
    #[serde(default = "buckets", skip_serializing_if = "is_usual")]
    pub total: u32,
    /// Ascending and without overlap; buckets outside every range make the rule not apply, and no range at all means 0 %.
    pub ranges: Vec<BucketRange>,
}

/// What one variant gets of a split.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Share {
    /// Which.
    pub variant: VariantKey,
    /// Of the split's total, usually 100,000.
    pub buckets: u32,
}

impl Split {
    /// Buckets that a variant owns.
    pub fn share(&self, variant: &VariantKey) -> u32 {
        buckets_in(self.ranges.iter().filter(|range| range.variant == *variant))
    }

    /// Buckets that belong to some variant.
    pub fn covered(&self) -> u32 {
        buckets_in(self.ranges.iter())
    }

    /// Notes what is wrong with the split itself; `path` is where it stands.
    pub fn check(&self, path: Path<'_>, problems: &mut Problems) {
        let is_name = (1..=ATTRIBUTE_BYTES_MAX).contains(&self.bucket_by.len());
        if !is_name || self.bucket_by.starts_with('$') || self.bucket_by.contains('\0') {
            let message = format!("'{}' is not an attribute to bucket by; use targetingKey", shown(&self.bucket_by));
            problems.add(format_args!("{path}.bucket_by"), message);
        }
        let is_ours = self.algorithm == Algorithm::Murmur3;
        if (is_ours && self.seed.is_empty()) || self.seed.len() > SEED_BYTES_MAX || self.seed.contains('\0') {
            let message = format!("'{}': a seed has 1 to {SEED_BYTES_MAX} bytes and no U+0000", shown(&self.seed));
            problems.add(format_args!("{path}.seed"), message);
        }
        if (is_ours && self.total != BUCKETS) || !(1..=BUCKETS_MAX).contains(&self.total) {
            let message = format!("{} buckets; a split has {BUCKETS}, an imported one 1 to {BUCKETS_MAX}", self.total);
            problems.add(format_args!("{path}.total"), message);
            return;
        }
        if self.ranges.len() > RANGES_MAX {
            let message = format!("{} ranges; at most {RANGES_MAX} are allowed", self.ranges.len());
            problems.add(format_args!("{path}.ranges"), message);
            return;
        }
        let mut free_from = 0;
        for (index, range) in self.ranges.iter().enumerate() {
            if range.start < free_from || range.end <= range.start || range.end > self.total {
                let BucketRange { start, end, .. } = range;
                let message = format!(
                    "{start}..{end} must begin at {free_from} or later, hold a bucket and end by {}",
                    self.total
                );
                problems.add(format_args!("{path}.ranges[{index}]"), message);
                return;
            }
            free_from = range.end;
        }
    }
}

/// Ranges that were not checked yet may overlap, so that their sum is beyond all numbers.
fn buckets_in<'r>(ranges: impl Iterator<Item = &'r BucketRange>) -> u32 {
    ranges.map(|range| range.end.saturating_sub(range.start)).fold(0, u32::saturating_add)
}

fn buckets() -> u32 {
    BUCKETS
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_usual(total: &u32) -> bool {
    *total == BUCKETS
}
