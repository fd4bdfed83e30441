//! A variant against the control.

#[cfg(test)]
mod tests;

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::statistics::sample::{Mean, Proportion};
use crate::statistics::sequence::{self, NORMAL_QUANTILE};
use crate::statistics::{ACTIVE_MIN, ALPHA, Interval, NotYet, UNITS_MIN};

/// Degrees of freedom from which Student's distribution is the normal one in all digits that anybody looks at.
const NORMAL_FROM: f64 = 1e6;
/// Degrees of freedom from which the quantile is expanded around the normal one: there it has all its digits, while the
/// inverse of `statrs` loses some.
const EXPANDED_FROM: f64 = 1_000.0;

/// How much a variant differs from the control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Variant minus control.
    pub difference: f64,
    /// Holds the true difference on all days at once: safe to look at any time.
    pub always_valid: Interval,
    /// Its p value.
    pub always_valid_p: f64,
    /// For one look at a time fixed beforehand: Newcombe's of two rates, Welch's of two means.
    pub single_look: Interval,
    /// Its p value: of the pooled z test, of Welch's t test.
    pub single_look_p: f64,
    /// Of Welch's test; absent for rates.
    pub degrees_of_freedom: Option<f64>,
    /// The difference in relation to the control; absent while the control may be 0.
    pub lift: Option<Lift>,
}

/// A difference in relation to the control: 0.05 is 5 % more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lift {
    /// The best guess.
    pub value: f64,
    /// Always valid, by the delta method.
    pub always_valid: Interval,
    /// For one look, by the delta method.
    pub single_look: Interval,
}

/// An estimate with its variance.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    units: u64,
    value: f64,
    variance: f64,
}

/// What one single look says, and what else is needed to look daily.
struct Single {
    interval: Interval,
    p: f64,
    degrees_of_freedom: Option<f64>,
    quantile: f64,
    /// The variance of the difference, were the variants distributed alike.
    pooled: f64,
}

/// Compares two rates.
pub fn of_rates(variant: Proportion, control: Proportion) -> Result<Comparison, NotYet> {
    check_units(variant.units, control.units)?;
    let active = variant.converted.saturating_add(control.converted);
    if active < ACTIVE_MIN {
        return Err(NotYet::FewActive { active });
    }
    let units = variant.units.saturating_add(control.units);
    if units - active.min(units) < ACTIVE_MIN {
        return Err(NotYet::FewInactive { inactive: units - active.min(units) });
    }
    let (rate, base) = (variant.rate()?, control.rate()?);
    let (around, around_base) = (variant.interval()?, control.interval()?);
    let distance = |a: f64, b: f64| (a * a + b * b).sqrt();
    let single_look = Interval {
        low: rate - base - distance(rate - around.low, around_base.high - base),
        high: rate - base + distance(around.high - rate, base - around_base.low),
    };
    let pooled = active as f64 / units as f64;
    let spread = pooled * (1.0 - pooled) * (1.0 / variant.units as f64 + 1.0 / control.units as f64);
    let single_look_p = two_sided_normal((rate - base) / spread.sqrt());
    let single = Single {
        interval: single_look,
        p: single_look_p,
        degrees_of_freedom: None,
        quantile: NORMAL_QUANTILE,
        pooled: spread,
    };
    let one = Estimate { units: variant.units, value: rate, variance: variant.variance_of_rate() };
    finish(one, Estimate { units: control.units, value: base, variance: control.variance_of_rate() }, single)
}

/// Compares two means.
pub fn of_means(variant: Mean, control: Mean) -> Result<Comparison, NotYet> {
    check_units(variant.units, control.units)?;
    let active = variant.active.saturating_add(control.active);
    if active < ACTIVE_MIN {
        return Err(NotYet::FewActive { active });
    }
    let one = Estimate { units: variant.units, value: variant.mean()?, variance: variant.variance_of_mean()? };
    let base = Estimate { units: control.units, value: control.mean()?, variance: control.variance_of_mean()? };
    let total = one.variance + base.variance;
    // Also when it is so small that its square root or square would be nothing.
    if total < f64::MIN_POSITIVE.sqrt() {
        return Err(NotYet::NoVariance);
    }
    // Welch and Satterthwaite, by shares of the variance, so that squares of huge variances do not run over.
    let share = |part: f64, units: u64| (part / total).powi(2) / (units as f64 - 1.0);
    let degrees = 1.0 / (share(one.variance, variant.units) + share(base.variance, control.units));
    let (quantile, p) = student((one.value - base.value) / total.sqrt(), degrees)?;
    let single = Single {
        interval: Interval::around(one.value - base.value, quantile * total.sqrt()),
        p,
        degrees_of_freedom: Some(degrees),
        quantile,
        pooled: pooled_variance(variant, control)?,
    };
    finish(one, base, single)
}

/// Adds what holds on all days. Where one variant is much smaller than the other, its own variance is often estimated
/// too small just when its mean is: those who spend most have not come yet. So the error is never taken to be smaller
/// than if both were distributed alike, and as many users are counted as two variants of equal size would need.
fn finish(one: Estimate, base: Estimate, single: Single) -> Result<Comparison, NotYet> {
    let difference = one.value - base.value;
    let own = one.variance + base.variance;
    let error = own.max(single.pooled).sqrt();
    let units = 4.0 / (1.0 / one.units as f64 + 1.0 / base.units as f64);
    let half = sequence::half_width(units);
    let found = Comparison {
        difference,
        always_valid: Interval::around(difference, half * error),
        always_valid_p: sequence::p_value(difference / error, units),
        single_look: single.interval,
        single_look_p: single.p,
        degrees_of_freedom: single.degrees_of_freedom,
        lift: lift(one, base, half * error / own.sqrt(), single.quantile),
    };
    let numbers = [difference, found.always_valid_p, found.single_look_p];
    let is_finite = numbers.iter().all(|number| number.is_finite())
        && found.always_valid.is_finite()
        && found.single_look.is_finite();
    if is_finite { Ok(found) } else { Err(NotYet::BeyondNumbers) }
}

/// By the delta method, which needs a control that is clearly above 0.
fn lift(one: Estimate, base: Estimate, half: f64, quantile: f64) -> Option<Lift> {
    if base.value <= half * base.variance.sqrt() {
        return None;
    }
    let ratio = one.value / base.value;
    let error = (one.variance + ratio * ratio * base.variance).sqrt() / base.value;
    let found = Lift {
        value: ratio - 1.0,
        always_valid: Interval::around(ratio - 1.0, half * error),
        single_look: Interval::around(ratio - 1.0, quantile * error),
    };
    (found.value.is_finite() && found.always_valid.is_finite() && found.single_look.is_finite()).then_some(found)
}

fn check_units(one: u64, other: u64) -> Result<(), NotYet> {
    let units = one.min(other);
    if units < UNITS_MIN { Err(NotYet::FewUnits { units }) } else { Ok(()) }
}

fn two_sided_normal(z: f64) -> f64 {
    (2.0 * Normal::standard().sf(z.abs())).min(1.0)
}

/// The quantile of 97.5 % and the two-sided p value of `t`.
fn student(t: f64, degrees: f64) -> Result<(f64, f64), NotYet> {
    if degrees >= NORMAL_FROM {
        return Ok((NORMAL_QUANTILE, two_sided_normal(t)));
    }
    let distribution = StudentsT::new(0.0, 1.0, degrees).map_err(|_| NotYet::BeyondNumbers)?;
    let p = (2.0 * distribution.sf(t.abs())).min(1.0);
    let quantile =
        if degrees >= EXPANDED_FROM { expanded_quantile(degrees) } else { distribution.inverse_cdf(1.0 - ALPHA / 2.0) };
    Ok((quantile, p))
}

/// Cornish and Fisher's expansion (Abramowitz and Stegun, 26.7.5).
fn expanded_quantile(degrees: f64) -> f64 {
    let z = NORMAL_QUANTILE;
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    z + (first + (second + third / degrees) / degrees) / degrees
}

/// The variance of the difference of two means, with the variance of all users of both.
fn pooled_variance(one: Mean, other: Mean) -> Result<f64, NotYet> {
    let (units, others) = (one.units as f64, other.units as f64);
    let within = (units - 1.0) * one.variance()? + (others - 1.0) * other.variance()?;
    Ok(within / (units + others - 2.0) * (1.0 / units + 1.0 / others))
}
