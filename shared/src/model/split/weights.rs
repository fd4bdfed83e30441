//! From a product's weights to ranges of buckets, for imports.

use thiserror::Error;

use crate::model::key::VariantKey;
use crate::model::split::{Algorithm, BUCKETS, BUCKETS_MAX, BucketRange, VariantOrder};

/// Shares that miss the whole, or exceed it, by no more than this part of it per variant were meant to be complete:
/// three times 33.33 %, six times 16.67 %.
const ROUNDING: f64 = 0.000_1;
/// What adding up decimal fractions as floats may get wrong.
const FLOAT_ERROR: f64 = 1e-9;

/// Why a product's weights cannot become ranges of buckets.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum WeightError {
    /// Negative, or no number.
    #[error("weight {weight} of variant '{variant}' must be a number of 0 or more")]
    Negative {
        /// Whose.
        variant: VariantKey,
        /// The weight.
        weight: f64,
    },
    /// A fraction where the product has whole numbers.
    #[error("weight {weight} of variant '{variant}' must be a whole number")]
    Fraction {
        /// Whose.
        variant: VariantKey,
        /// The weight.
        weight: f64,
    },
    /// More than the product can divide.
    #[error("the weights add up to {sum}; the most is {most}")]
    TooMuch {
        /// What they add up to.
        sum: f64,
        /// The most.
        most: f64,
    },
    /// GrowthBook ignores weights that do not add up to about 1.
    #[error("the weights add up to {sum} instead of 1, so GrowthBook splits evenly; give even weights to keep that")]
    Incomplete {
        /// What they add up to.
        sum: f64,
    },
    /// A rollout is for one variant.
    #[error("a rollout has 1 variant, not {0}")]
    NotARollout(usize),
    /// Ranges that end before they begin, or meet.
    #[error("the range {from} to {to} of variant '{variant}' ends before it begins, or overlaps with another")]
    Range {
        /// Whose.
        variant: VariantKey,
        /// Where it begins.
        from: f64,
        /// Where it ends.
        to: f64,
    },
    /// Only GrowthBook states ranges.
    #[error("the algorithm divides by weights; it has no ranges of its own")]
    NoRanges,
}

impl Algorithm {
    /// The number of buckets, and which of them each variant owns so that every user of that product keeps theirs.
    ///
    /// `weights` are the numbers of that product: whole numbers (flagd, Unleash's variants, LaunchDarkly of 100,000),
    /// fractions of 1 (GrowthBook), else percentages; one of them for a rollout. They stand in the order in which
    /// variants take their buckets, but for [`VariantOrder::NamesDescending`], which is applied here. Nobody is left
    /// over where the shares were meant to be complete; buckets that the product gives to nobody are in no range, and
    /// there are no ranges at all when nobody has a share.
    pub fn ranges(self, weights: &[(VariantKey, f64)]) -> Result<(u32, Vec<BucketRange>), WeightError> {
        let weights = self.arranged(weights)?;
        let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
        let (total, mut ends) = match self {
            Self::FlagdV1 | Self::FlagdV2 | Self::FlagdV3 | Self::FlagdV3Shorthand => {
                let (sum, ends) = whole_numbers(&weights, BUCKETS_MAX)?;
                // As many buckets as possible of the usual number, so that shares can be changed in small steps later.
                let scale = BUCKETS.checked_div(sum).unwrap_or(0).max(1);
                (sum * scale, ends.iter().map(|end| end * scale).collect())
            }
            Self::UnleashVariant => whole_numbers(&weights, BUCKETS_MAX)?,
            Self::Launchdarkly => (BUCKETS, whole_numbers(&weights, BUCKETS)?.1),
            Self::GoFeatureFlag => thousandths(&weights, sum)?,
            Self::FliptDistribution => (BUCKETS, tenths(&weights)),
            Self::Murmur3 => (BUCKETS, shares(&weights, BUCKETS)),
            Self::PosthogRollout | Self::PosthogVariant => {
                let total = finest(&weights);
                (total, shares(&weights, total))
            }
            _ => (BUCKETS, points(&weights).map(|point| self.cut(point)).collect()),
        };
        let last = match self {
            // Hashes that no weight reaches belong to the last variant, whatever its weight.
            Self::Launchdarkly => ends.len().checked_sub(1),
            _ if self.is_meant_complete(weights.len(), sum) => weights.iter().rposition(|(_, weight)| *weight > 0.0),
            _ => None,
        };
        if let Some(last) = last {
            ends[last..].fill(total);
        }
        let total = if total == 0 { BUCKETS } else { total };
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let parts =
            weights.into_iter().zip(starts).zip(&ends).map(|(((variant, _), start), end)| (variant, start, *end));
        Ok((total, joined(parts)))
    }

    /// The same for rules of GrowthBook that state their ranges, and for experiments that cover a part of each weight:
    /// with coverage `c`, a variant whose weight `w` begins at `from` has the range `from` to `from + c × w`.
    pub fn ranges_between(self, parts: &[(VariantKey, f64, f64)]) -> Result<(u32, Vec<BucketRange>), WeightError> {
        if !matches!(self, Self::GrowthbookV1 | Self::GrowthbookV2) {
            return Err(WeightError::NoRanges);
        }
        let mut parts = parts.to_vec();
        parts.sort_by(|(_, a, _), (_, b, _)| a.total_cmp(b));
        let mut free_from = f64::NEG_INFINITY;
        for (variant, from, to) in &parts {
            if !(free_from <= *from && from <= to) {
                return Err(WeightError::Range { variant: variant.clone(), from: *from, to: *to });
            }
            free_from = *to;
        }
        let parts = parts.into_iter().map(|(variant, from, to)| (variant, self.cut(from), self.cut(to)));
        Ok((BUCKETS, joined(parts)))
    }

    /// The weights in the order in which variants take their buckets, and none that makes no sense.
    fn arranged(self, weights: &[(VariantKey, f64)]) -> Result<Vec<(VariantKey, f64)>, WeightError> {
        let mut weights = weights.to_vec();
        if self.is_rollout() && weights.len() != 1 {
            return Err(WeightError::NotARollout(weights.len()));
        }
        for (variant, weight) in &mut weights {
            if matches!(self, Self::FlagdV1 | Self::FlagdV2 | Self::FlagdV3 | Self::FlagdV3Shorthand) {
                // flagd takes less than nothing for nothing, because rules may compute weights.
                *weight = if *weight < 0.0 { 0.0 } else { *weight };
            }
            if !(weight.is_finite() && *weight >= 0.0) {
                return Err(WeightError::Negative { variant: variant.clone(), weight: *weight });
            }
        }
        if self.variant_order() == VariantOrder::NamesDescending {
            weights.sort_by(|(a, _), (b, _)| b.cmp(a));
        }
        let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
        match self {
            Self::GrowthbookV1 | Self::GrowthbookV2 if weights.len() > 1 => {
                if !(0.99..=1.01).contains(&sum) {
                    return Err(WeightError::Incomplete { sum });
                }
            }
            // Everyone, as in the Node engine.
            Self::UnleashRollout => {}
            _ => {
                let excess = ROUNDING * weights.len() as f64 + FLOAT_ERROR;
                if let Some(most) = self.whole().filter(|whole| sum > whole * (1.0 + excess)) {
                    return Err(WeightError::TooMuch { sum, most });
                }
            }
        }
        Ok(weights)
    }

    /// What the shares add up to when they are complete, where that is a fixed number.
    pub(super) fn whole(self) -> Option<f64> {
        match self {
            Self::GrowthbookV1 | Self::GrowthbookV2 => Some(1.0),
            Self::Launchdarkly => Some(f64::from(BUCKETS)),
            Self::FlagdV1 | Self::FlagdV2 | Self::FlagdV3 | Self::FlagdV3Shorthand => None,
            Self::UnleashVariant | Self::GoFeatureFlag => None,
            _ => Some(100.0),
        }
    }

    fn is_meant_complete(self, variants: usize, sum: f64) -> bool {
        match self.whole() {
            // Their weights are the whole.
            None => true,
            // The rest is the feature's own value.
            _ if self == Self::FlagsmithVariant => false,
            Some(whole) => variants > 1 && sum >= whole * (1.0 - ROUNDING * variants as f64 - FLOAT_ERROR),
        }
    }
}

/// What the weights up to each add up to, as floats do it.
fn points(weights: &[(VariantKey, f64)]) -> impl Iterator<Item = f64> {
    weights.iter().scan(0.0, |sum, (_, weight)| {
        *sum += weight;
        Some(*sum)
    })
}

/// The sum of whole numbers, and where each ends.
fn whole_numbers(weights: &[(VariantKey, f64)], most: u32) -> Result<(u32, Vec<u32>), WeightError> {
    if let Some((variant, weight)) = weights.iter().find(|(_, weight)| weight.fract() != 0.0) {
        return Err(WeightError::Fraction { variant: variant.clone(), weight: *weight });
    }
    let sum = points(weights).last().unwrap_or(0.0);
    if sum > f64::from(most) {
        return Err(WeightError::TooMuch { sum, most: most.into() });
    }
    Ok((sum as u32, points(weights).map(|end| end as u32).collect()))
}

/// GO Feature Flag counts in thousandths of a percent and leaves out what is smaller.
fn thousandths(weights: &[(VariantKey, f64)], sum: f64) -> Result<(u32, Vec<u32>), WeightError> {
    let most = f64::from(BUCKETS_MAX) / 1_000.0;
    if sum > most {
        return Err(WeightError::TooMuch { sum, most });
    }
    // It adds up in an order that changes from call to call, so a sum that may come out just below a whole number makes
    // it waver between two totals; the whole number is what most orders give.
    let total = (sum * 1_000.0 + 1e-6) as u32;
    let ends = weights.iter().scan(0.0, |end, (_, weight)| {
        *end += weight * 1_000.0;
        Some((*end as u32).min(total))
    });
    Ok((total, ends.collect()))
}

/// Flipt counts in tenths of a percent, leaves out what is smaller, and has 32-bit floats.
fn tenths(weights: &[(VariantKey, f64)]) -> Vec<u32> {
    let ends = weights.iter().scan(0, |end, (_, weight)| {
        *end += (*weight as f32 * 10.0) as u32;
        Some((*end * (BUCKETS / 1_000)).min(BUCKETS))
    });
    ends.collect()
}

/// Percentages, rounded to whole buckets.
fn shares(weights: &[(VariantKey, f64)], total: u32) -> Vec<u32> {
    let ends = points(weights).map(|point| (point / 100.0 * f64::from(total)).round() as u32);
    ends.map(|end| end.min(total)).collect()
}

/// The fewest buckets, from the usual number to a billion, that divide percentages without rounding.
fn finest(weights: &[(VariantKey, f64)]) -> u32 {
    let divides = |total: u32| {
        points(weights).all(|point| {
            let end = point / 100.0 * f64::from(total);
            (end - end.round()).abs() < 1e-6
        })
    };
    let totals = (0..4).map(|power| BUCKETS * 10_u32.pow(power));
    totals.into_iter().find(|total| divides(*total)).unwrap_or(1_000_000_000)
}

/// Ranges of the parts that hold a bucket, neighbours of one variant as one.
fn joined(parts: impl Iterator<Item = (VariantKey, u32, u32)>) -> Vec<BucketRange> {
    let mut ranges: Vec<BucketRange> = Vec::new();
    for (variant, start, end) in parts.filter(|(_, start, end)| start < end) {
        match ranges.last_mut() {
            Some(last) if last.end == start && last.variant == variant => last.end = end,
            _ => ranges.push(BucketRange { start, end, variant }),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(algorithm: Algorithm, weights: &[(&str, f64)]) -> (u32, Vec<u32>) {
        let weights: Vec<_> = weights.iter().map(|(name, weight)| (name.parse().expect("a key"), *weight)).collect();
        let (total, ranges) = algorithm.ranges(&weights).expect("weights of that product");
        (total, ranges.iter().map(|range| range.end).collect())
    }

    #[test]
    fn flipt_leaves_out_what_is_smaller_than_a_tenth() {
        let found = ends(Algorithm::FliptDistribution, &[("a", 33.37), ("b", 33.3), ("c", 33.33)]);
        assert_eq!(found, (100_000, vec![33_300, 66_600, 100_000]));
    }

    #[test]
    fn go_feature_flag_has_the_total_that_most_orders_of_adding_give() {
        let weights = [("z9", 16.3), ("a", 9.1), ("c", 0.6), ("e", 24.8), ("v", 49.2)];
        let from_z_to_a: f64 = [16.3, 49.2, 24.8, 0.6, 9.1].iter().sum();
        assert!(from_z_to_a < 100.0, "this order wavers");
        let (total, ends) = ends(Algorithm::GoFeatureFlag, &weights);
        assert_eq!((total, ends.len(), ends.last()), (100_000, 5, Some(&100_000)));
    }

    #[test]
    fn posthog_has_as_many_buckets_as_its_percentages_need() {
        assert_eq!(ends(Algorithm::PosthogRollout, &[("on", 12.5)]), (100_000, vec![12_500]));
        assert_eq!(ends(Algorithm::PosthogRollout, &[("on", 33.3333)]), (1_000_000, vec![333_333]));
        assert_eq!(ends(Algorithm::PosthogVariant, &[("a", 100.0 / 3.0)]), (1_000_000_000, vec![333_333_333]));
    }

    #[test]
    fn whole_numbers_become_as_many_buckets_as_the_usual_number_allows() {
        assert_eq!(ends(Algorithm::FlagdV2, &[("a", 25.0), ("b", 75.0)]), (100_000, vec![25_000, 100_000]));
        assert_eq!(ends(Algorithm::FlagdV2, &[("a", 1.0), ("b", 2.0)]), (99_999, vec![33_333, 99_999]));
        assert_eq!(ends(Algorithm::FlagdV2, &[("a", 70_000.0), ("b", 70_000.0)]), (140_000, vec![70_000, 140_000]));
        // A remainder is taken of the very sum.
        assert_eq!(ends(Algorithm::UnleashVariant, &[("a", 1.0), ("b", 2.0)]), (3, vec![1, 3]));
    }
}
