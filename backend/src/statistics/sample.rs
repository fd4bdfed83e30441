//! One variant: what its users did.

use crate::statistics::sequence::NORMAL_QUANTILE;
use crate::statistics::{Interval, NotYet};

/// How many users did something at least once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proportion {
    /// Users.
    pub units: u64,
    /// Of these, those who did it; never more than `units`.
    pub converted: u64,
}

/// What users brought in, 0 for those who did nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// Users.
    pub units: u64,
    /// Of these, those who did something.
    pub active: u64,
    /// What all of them brought in.
    pub sum: f64,
    /// Of those who did something: the sum of the squared distances from their own mean. Plain squares would lose all
    /// their digits where values are large and alike.
    pub squares: f64,
}

impl Proportion {
    /// The share of users who did it.
    pub fn rate(self) -> Result<f64, NotYet> {
        if self.units == 0 { Err(NotYet::Nobody) } else { Ok(self.converted as f64 / self.units as f64) }
    }

    /// Wilson's interval of the rate.
    pub fn interval(self) -> Result<Interval, NotYet> {
        let (rate, units) = (self.rate()?, self.units as f64);
        let z2 = NORMAL_QUANTILE * NORMAL_QUANTILE;
        let centre = (rate + z2 / (2.0 * units)) / (1.0 + z2 / units);
        let root = (rate * (1.0 - rate) / units + z2 / (4.0 * units * units)).sqrt();
        let half = NORMAL_QUANTILE / (1.0 + z2 / units) * root;
        Ok(Interval { low: (centre - half).max(0.0), high: (centre + half).min(1.0) })
    }

    /// The variance of the rate as an estimate, with one user more who did it and one more who did not (Agresti and
    /// Caffo), so that "nobody of 120" does not count as certain.
    pub(crate) fn variance_of_rate(self) -> f64 {
        let units = self.units as f64 + 2.0;
        let rate = (self.converted as f64 + 1.0) / units;
        rate * (1.0 - rate) / units
    }
}

impl Mean {
    /// What a user brings in on average.
    pub fn mean(self) -> Result<f64, NotYet> {
        match self.units {
            0 => Err(NotYet::Nobody),
            units => Some(self.sum / units as f64).filter(|mean| mean.is_finite()).ok_or(NotYet::BeyondNumbers),
        }
    }

    /// The variance among users, those who did nothing included.
    pub fn variance(self) -> Result<f64, NotYet> {
        let units = self.units as f64;
        let active = self.active.min(self.units) as f64;
        if self.units < 2 {
            return Err(NotYet::FewUnits { units: self.units });
        }
        let mean_of_active = if self.active == 0 { 0.0 } else { self.sum / active };
        // The zeros of the others, a group of its own without variance.
        let between = mean_of_active * mean_of_active * active * ((units - active) / units);
        let variance = (self.squares.max(0.0) + between) / (units - 1.0);
        Some(variance).filter(|variance| variance.is_finite()).ok_or(NotYet::BeyondNumbers)
    }

    /// The variance of the mean as an estimate.
    pub(crate) fn variance_of_mean(self) -> Result<f64, NotYet> {
        Ok(self.variance()? / self.units as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::simulation::assert_near;

    fn proportion(units: u64, converted: u64) -> Proportion {
        Proportion { units, converted }
    }

    #[test]
    fn a_rate_has_wilsons_interval() {
        // statsmodels.stats.proportion.proportion_confint(converted, units, alpha=0.05, method="wilson")
        for (converted, units, low, high) in [
            (509, 4_210, 0.111_398_739_398_435_17, 0.131_097_678_372_980_34),
            (0, 120, 0.0, 0.031_019_166_418_703_5),
            (120, 120, 0.968_980_833_581_296_6, 1.0),
            (1, 1, 0.206_549_314_377_237_4, 1.0),
            (3_000_000, 900_000_000, 0.003_329_569_792_048_874_5, 0.003_337_101_114_450_102_5),
        ] {
            let interval = proportion(units, converted).interval().expect("users");
            assert_near(interval.low, low);
            assert_near(interval.high, high);
        }
        assert_eq!(proportion(0, 0).interval(), Err(NotYet::Nobody));
    }

    #[test]
    fn zeros_of_users_who_did_nothing_are_part_of_the_variance() {
        // numpy.var([3, 5, 10, 0, 0, 0], ddof=1), of which three are active: mean 6, squares 9 + 1 + 16.
        let mean = Mean { units: 6, active: 3, sum: 18.0, squares: 26.0 };
        assert_near(mean.mean().expect("users"), 3.0);
        assert_near(mean.variance().expect("users"), 16.0);
    }

    #[test]
    fn large_values_that_are_alike_keep_their_digits() {
        // numpy.var(1e12 + numpy.array([0, 1, 2, 3]), ddof=1)
        let mean = Mean { units: 4, active: 4, sum: 4e12 + 6.0, squares: 5.0 };
        assert_near(mean.variance().expect("users"), 5.0 / 3.0);
    }

    #[test]
    fn what_cannot_be_computed_is_said() {
        let huge = Mean { units: 2, active: 1, sum: f64::MAX, squares: 0.0 };
        assert_eq!(huge.variance(), Err(NotYet::BeyondNumbers));
        let endless = Mean { units: 2, active: 2, sum: f64::INFINITY, squares: f64::NAN };
        assert_eq!(endless.mean(), Err(NotYet::BeyondNumbers));
        let one = Mean { units: 1, active: 1, sum: 1.0, squares: 0.0 };
        assert_eq!(one.variance(), Err(NotYet::FewUnits { units: 1 }));
    }
}
