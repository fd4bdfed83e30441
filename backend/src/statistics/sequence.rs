//! Intervals that stay right however often somebody looks: the asymptotic confidence sequence of Waudby-Smith, Arbour,
//! Sinha, Kennedy and Ramdas ("Time-uniform central limit theory and asymptotic confidence sequences", 2021), the
//! mixture with one ρ for all times, which is also what sequential tests of the trade use.

use crate::statistics::ALPHA;

/// Users at which the intervals are narrowest in relation to those of one single look; elsewhere they are a little wider.
pub const TUNED_FOR: f64 = 5_000.0;
/// `scipy.stats.norm.ppf(0.975)`.
pub(crate) const NORMAL_QUANTILE: f64 = 1.959_963_984_540_054;

/// Half the width of the always-valid interval in standard errors, with `units` users in both variants together.
pub fn half_width(units: f64) -> f64 {
    let information = information(units);
    ((information + 1.0) / information * ((information + 1.0) / (ALPHA * ALPHA)).ln()).sqrt()
}

/// The chance of this much difference or more on any day, were there none; `z` is the difference in standard errors. It is
/// below 5 % exactly when the always-valid interval excludes 0.
pub fn p_value(z: f64, units: f64) -> f64 {
    let information = information(units);
    let exponent = -z * z * information / (2.0 * (information + 1.0));
    ((information + 1.0).sqrt() * exponent.exp()).min(1.0)
}

/// n ρ², with the ρ that makes the interval narrowest at [`TUNED_FOR`] users.
fn information(units: f64) -> f64 {
    let tail = -2.0 * ALPHA.ln();
    units.max(1.0) * (tail + (tail + 1.0).ln()) / TUNED_FOR
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::simulation::assert_near;

    #[test]
    fn it_is_as_wide_as_published() {
        // numpy: r = (-2*log(.05) + log(1 - 2*log(.05))) / 5000; sqrt((n*r+1)/(n*r) * log((n*r+1)/.05**2))
        for (units, half) in [
            (200.0, 5.099_959_969_897_445),
            (1_000.0, 3.363_887_725_782_781),
            (5_000.0, 3.035_208_990_376_253_4),
            (100_000.0, 3.336_857_533_786_599),
            (1_000_000_000.0, 4.502_108_333_163_705),
        ] {
            assert_near(half_width(units), half);
        }
    }

    #[test]
    fn the_p_value_is_five_percent_at_the_end_of_the_interval() {
        for units in [1.0, 200.0, 5_000.0, 1e6, 1e19] {
            assert_near(p_value(half_width(units), units), 0.05);
            assert!(p_value(0.0, units) == 1.0 && p_value(f64::MAX, units) == 0.0);
        }
    }

    #[test]
    fn twenty_looks_are_safe_whatever_outcomes_do_meanwhile() {
        // The sequence supposes that a user's outcome is known when they come. Where it grows afterwards, the bound of
        // Bonferroni still holds, as no look is ever taken at less than 3.03 standard errors.
        let narrowest = (1_u16..2_000).map(|hundreds| half_width(f64::from(hundreds) * 100.0)).fold(f64::MAX, f64::min);
        // 20 * 2 * scipy.stats.norm.sf(3.03) = 0.0489
        assert!(narrowest > 3.03, "{narrowest}");
    }
}
