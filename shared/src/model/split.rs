//! Splits: which variant owns which buckets, and what changes when shares change.

use serde::{Deserialize, Serialize};

use crate::model::key::VariantKey;
use crate::model::problem::Problems;
use crate::model::rule::ATTRIBUTE_BYTES_MAX;

/// Buckets in a split; one bucket is 0.001 %.
pub const BUCKETS: u32 = 100_000;
/// The most ranges of a split.
pub const RANGES_MAX: usize = 1_000;
/// The longest seed, in bytes.
pub const SEED_BYTES_MAX: usize = 200;

/// How a bucketing key becomes a bucket. Stored by name so that imported flags keep every user where they were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Algorithm {
    /// `murmur3_x86_32(seed + ":" + key)`, scaled to the number of buckets.
    #[default]
    Murmur3,
}

/// Buckets `start..end` belong to a variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BucketRange {
    /// First bucket.
    pub start: u32,
    /// One past the last bucket; at most 100,000.
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
    /// Random text that makes this split independent of others; 1 to 200 bytes.
    pub seed: String,
    /// Ascending and without overlap; buckets outside every range make the rule not apply.
    pub ranges: Vec<BucketRange>,
}

/// Buckets that go from one owner to another; `None` is "no variant".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Movement {
    /// Who owned them.
    pub from: Option<VariantKey>,
    /// Who owns them now.
    pub to: Option<VariantKey>,
    /// How many.
    pub buckets: u32,
}

impl Split {
    /// Buckets that a variant owns.
    pub fn share(&self, variant: &VariantKey) -> u32 {
        self.ranges.iter().filter(|r| r.variant == *variant).map(|r| r.end.saturating_sub(r.start)).sum()
    }

    /// Buckets that belong to some variant.
    pub fn covered(&self) -> u32 {
        self.ranges.iter().map(|r| r.end.saturating_sub(r.start)).sum()
    }

    /// Notes what is wrong with the split itself; `path` is where it stands.
    pub fn check(&self, path: &str, problems: &mut Problems) {
        let is_name = (1..=ATTRIBUTE_BYTES_MAX).contains(&self.bucket_by.len());
        if !is_name || self.bucket_by.starts_with('$') || self.bucket_by.contains('\0') {
            let message = format!("'{}' is not an attribute to bucket by; use targetingKey", self.bucket_by);
            problems.add(format!("{path}.bucket_by"), message);
        }
        if self.seed.is_empty() || self.seed.len() > SEED_BYTES_MAX || self.seed.contains('\0') {
            problems.add(format!("{path}.seed"), format!("a seed has 1 to {SEED_BYTES_MAX} bytes and no U+0000"));
        }
        if self.ranges.len() > RANGES_MAX {
            let message = format!("{} ranges; at most {RANGES_MAX} are allowed", self.ranges.len());
            problems.add(format!("{path}.ranges"), message);
            return;
        }
        let mut free_from = 0;
        for (index, range) in self.ranges.iter().enumerate() {
            if range.start < free_from || range.end <= range.start || range.end > BUCKETS {
                let BucketRange { start, end, .. } = range;
                let message =
                    format!("{start}..{end} must begin at {free_from} or later, hold a bucket and end by {BUCKETS}");
                problems.add(format!("{path}.ranges[{index}]"), message);
                return;
            }
            free_from = range.end;
        }
        if self.ranges.is_empty() {
            problems.add(format!("{path}.ranges"), "a split needs at least one range");
        }
    }
}

/// New ranges for new shares, moving the fewest possible buckets: who shrinks gives from its end, who grows takes
/// what is free from the front, so raising a share never takes a bucket away from its variant.
///
/// `shares` lists buckets per variant, at most [`BUCKETS`] in all; variants it does not name lose everything.
pub fn reallocate(old: &[BucketRange], shares: &[(VariantKey, u32)]) -> Vec<BucketRange> {
    let mut wanted: Vec<(VariantKey, u32)> = shares.to_vec();
    let mut kept = Vec::new();
    for range in old {
        if let Some((_, missing)) = wanted.iter_mut().find(|(variant, _)| *variant == range.variant) {
            let take = (*missing).min(range.end.saturating_sub(range.start));
            if take > 0 {
                kept.push(BucketRange { end: range.start + take, ..range.clone() });
                *missing -= take;
            }
        }
    }
    let mut ranges = Vec::new();
    let mut free_from = 0;
    let end = BucketRange {
        start: BUCKETS,
        end: BUCKETS,
        variant: match shares.first() {
            Some((variant, _)) => variant.clone(),
            None => return Vec::new(),
        },
    };
    for range in kept.into_iter().chain([end]) {
        for (variant, missing) in &mut wanted {
            let take = (*missing).min(range.start - free_from);
            push(&mut ranges, free_from, free_from + take, variant);
            free_from += take;
            *missing -= take;
        }
        push(&mut ranges, range.start, range.end, &range.variant);
        free_from = range.end;
    }
    ranges
}

/// Who moves between two divisions with the same `bucket_by`, algorithm and seed; biggest first.
pub fn movement(old: &[BucketRange], new: &[BucketRange]) -> Vec<Movement> {
    let mut cuts: Vec<u32> = old.iter().chain(new).flat_map(|r| [r.start, r.end]).chain([0, BUCKETS]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let owner = |ranges: &[BucketRange], bucket: u32| {
        ranges.iter().find(|r| (r.start..r.end).contains(&bucket)).map(|r| r.variant.clone())
    };
    let mut moves: Vec<Movement> = Vec::new();
    for pair in cuts.windows(2) {
        let (from, to, buckets) = (owner(old, pair[0]), owner(new, pair[0]), pair[1] - pair[0]);
        if from == to {
            continue;
        }
        match moves.iter_mut().find(|m| m.from == from && m.to == to) {
            Some(known) => known.buckets += buckets,
            None => moves.push(Movement { from, to, buckets }),
        }
    }
    moves.sort_by_key(|m| std::cmp::Reverse(m.buckets));
    moves
}

fn push(ranges: &mut Vec<BucketRange>, start: u32, end: u32, variant: &VariantKey) {
    if start == end {
        return;
    }
    match ranges.last_mut() {
        Some(last) if last.end == start && last.variant == *variant => last.end = end,
        _ => ranges.push(BucketRange { start, end, variant: variant.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> VariantKey {
        text.parse().expect("a variant key")
    }

    fn ranges(list: &[(u32, u32, &str)]) -> Vec<BucketRange> {
        list.iter().map(|&(start, end, variant)| BucketRange { start, end, variant: key(variant) }).collect()
    }

    #[test]
    fn raising_a_share_only_adds_buckets() {
        let old = ranges(&[(0, 10_000, "on"), (10_000, BUCKETS, "off")]);
        let new = reallocate(&old, &[(key("on"), 25_000), (key("off"), 75_000)]);
        let moved = movement(&old, &new);
        assert_eq!(moved, [Movement { from: Some(key("off")), to: Some(key("on")), buckets: 15_000 }]);
        assert_eq!(new.iter().map(|r| r.end - r.start).sum::<u32>(), BUCKETS);
    }

    #[test]
    fn a_gap_stays_a_gap() {
        let new = reallocate(&[], &[(key("a"), 30_000), (key("b"), 20_000)]);
        assert_eq!(new, ranges(&[(0, 30_000, "a"), (30_000, 50_000, "b")]));
    }
}
