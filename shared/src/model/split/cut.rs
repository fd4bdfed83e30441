//! Where a share ends, in products that have few values and compare them as floats.

use crate::model::split::{Algorithm, BUCKETS};

impl Algorithm {
    /// The number of buckets below a point, where a product has few values and compares them as floats: so many that
    /// each of its values is on its own side, and of those the number that is nearest to the point.
    pub(super) fn cut(self, point: f64) -> u32 {
        let (values, is_below): (u32, fn(u32, f64) -> bool) = match self {
            Self::UnleashRollout => (100, |value, point| f64::from(value) + 1.0 <= point),
            Self::GrowthbookV1 => (1_000, |value, point| f64::from(value) / 1_000.0 < point),
            Self::GrowthbookV2 => (10_000, |value, point| f64::from(value) / 10_000.0 < point),
            Self::FlagsmithRollout => (9_998, |value, point| f64::from(value) / 9_998.0 * 100.0 <= point),
            Self::FlagsmithVariant => (9_998, |value, point| f64::from(value) / 9_998.0 * 100.0 < point),
            // Flipt has 32-bit floats.
            _ => (100, |value, point| (value as f32) < point as f32),
        };
        let below = (0..values).take_while(|value| is_below(*value, point)).count() as u32;
        let bucket = |value: u32| self.bucket_of(value.into(), BUCKETS);
        let least = below.checked_sub(1).map_or(0, |value| bucket(value) + 1);
        let most = if below < values { bucket(below) } else { BUCKETS };
        let nearest = (point / self.whole().unwrap_or(100.0) * f64::from(BUCKETS)).round() as u32;
        nearest.clamp(least, most)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Compares as the product does, told in another way than above.
    fn is_in(algorithm: Algorithm, value: u32, from: f64, to: f64) -> bool {
        let exact = f64::from(value);
        match algorithm {
            Algorithm::UnleashRollout => exact + 1.0 <= to,
            Algorithm::GrowthbookV1 => exact / 1_000.0 >= from && exact / 1_000.0 < to,
            Algorithm::GrowthbookV2 => exact / 10_000.0 >= from && exact / 10_000.0 < to,
            Algorithm::FlagsmithRollout => (exact / 9_998.0) * 100.0 <= to,
            Algorithm::FlagsmithVariant => (exact / 9_998.0) * 100.0 >= from && (exact / 9_998.0) * 100.0 < to,
            _ => (value as f32) < to as f32,
        }
    }

    fn check(algorithm: Algorithm, values: u32, from: f64, to: f64) -> Result<(), TestCaseError> {
        let (start, end) = (if from == 0.0 { 0 } else { algorithm.cut(from) }, algorithm.cut(to));
        prop_assert!(start <= end && end <= BUCKETS);
        for value in 0..values {
            let bucket = algorithm.bucket_of(value.into(), BUCKETS);
            let expected = is_in(algorithm, value, from, to);
            prop_assert_eq!((start..end).contains(&bucket), expected, "{:?}: {} in {}..{}", algorithm, value, from, to);
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn every_value_of_a_rollout_stays_on_its_side(thousandths in 0..=100_000_u32) {
            let percent = f64::from(thousandths) / 1_000.0;
            check(Algorithm::UnleashRollout, 100, 0.0, percent)?;
            check(Algorithm::FliptRollout, 100, 0.0, percent)?;
            check(Algorithm::FlagsmithRollout, 9_998, 0.0, percent)?;
            check(Algorithm::GrowthbookV1, 1_000, 0.0, percent / 100.0)?;
        }

        #[test]
        fn every_value_of_a_split_stays_on_its_side(weights in proptest::collection::vec(1..5_000_u32, 2..8)) {
            let sum: u32 = weights.iter().sum();
            for whole in [1.0, 100.0] {
                let mut from = 0.0;
                for weight in &weights {
                    let to = from + whole * f64::from(*weight) / f64::from(sum);
                    if whole == 1.0 {
                        check(Algorithm::GrowthbookV1, 1_000, from, to)?;
                        check(Algorithm::GrowthbookV2, 10_000, from, to)?;
                    } else {
                        check(Algorithm::FlagsmithVariant, 9_998, from, to)?;
                    }
                    from = to;
                }
            }
        }
    }

    #[test]
    fn a_share_is_the_number_that_was_written_where_that_separates_the_same_values() {
        assert_eq!(Algorithm::UnleashRollout.cut(33.5), 33_500);
        assert_eq!(Algorithm::FlagsmithRollout.cut(50.0), 50_000);
        assert_eq!(Algorithm::GrowthbookV2.cut(0.333_33), 33_333);
        // Three tenths as a float sum are more than 0.3, so the value 0.3 is below them.
        assert_eq!(Algorithm::GrowthbookV1.cut(0.1 + 0.1 + 0.1), 30_001);
        assert_eq!(Algorithm::GrowthbookV1.cut(0.3), 30_000);
    }
}
