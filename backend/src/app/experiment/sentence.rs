//! The results of an experiment in words.

use shared::model::key::VariantKey;
use shared::wire::api::experiment::{ExperimentResult, ExperimentVariant, Verdict};
use shared::wire::api::metric::MetricKind;

use crate::app::experiment::read::verdict;
use crate::app::shown::{count, ends, percent, significant};
use crate::statistics::ratio::{MISMATCH_BELOW, Ratio};
use crate::statistics::{Comparison, NotYet};

/// Users in several variants are worth a warning above this share.
const SEVERAL_SHARE_MAX: f64 = 0.01;

/// Why the results begin where they do.
pub(super) fn since(is_asked: bool, revision: Option<u64>) -> String {
    match (is_asked, revision) {
        (true, _) => "from the time asked for".into(),
        (false, Some(revision)) => format!("since r{revision} changed the split"),
        (false, None) => "since the flag was made".into(),
    }
}

/// A comparison, or why there is none; `sides` are the variant's estimate and users, and the control's.
pub(super) fn comparison(
    kind: MetricKind,
    variant: &VariantKey,
    control: &VariantKey,
    sides: [(Option<f64>, u64); 2],
    found: &Result<Comparison, NotYet>,
) -> String {
    let found = match found {
        Ok(found) => found,
        Err(reason) => return not_yet(*reason),
    };
    let [(one, units), (base, base_units)] = sides;
    let (one, base) = (one.unwrap_or(0.0), base.unwrap_or(0.0));
    let interval = found.always_valid;
    let (units, base_units) = (count(units), count(base_units));
    let (measured, low, high, verb) = match kind {
        MetricKind::Conversion => {
            let (low, high) = ends(interval.low * 100.0, interval.high * 100.0);
            let measured = format!(
                "{variant} converts {} of {units} users, the control {control} {} of {base_units}",
                percent(one),
                percent(base)
            );
            (measured, low, format!("{high} points"), "converts")
        }
        MetricKind::Numeric => {
            let (low, high) = ends(interval.low, interval.high);
            let measured = format!(
                "{variant} brings {} per user with {units} users, the control {control} {} with {base_units}",
                significant(one),
                significant(base)
            );
            (measured, low, high, "brings")
        }
    };
    let verdict = match verdict(found) {
        Verdict::Open => "too early to tell".into(),
        Verdict::More => format!("{variant} {verb} more"),
        Verdict::Less => format!("{variant} {verb} less"),
    };
    format!("{measured}; the difference is between {low} and {high} (95 %, safe to look at any time): {verdict}")
}

/// What cannot be told yet.
pub(super) fn not_yet(reason: NotYet) -> String {
    format!("cannot be told yet: {reason}")
}

/// Whether users were divided as the split says.
pub(super) fn ratio(found: &Result<Ratio, NotYet>, variants: &[ExperimentVariant]) -> String {
    let found = match found {
        Ok(found) => found,
        Err(reason) => return not_yet(*reason),
    };
    let total: u64 = variants.iter().map(|variant| variant.units).sum();
    let parts = variants.iter().map(|variant| {
        let share = variant.units as f64 / total.max(1) as f64;
        format!(
            "{} has {} of users, the split says {}",
            variant.variant,
            percent(share),
            percent(variant.configured_share)
        )
    });
    let parts = parts.collect::<Vec<_>>().join("; ");
    if found.is_mismatch() {
        format!(
            "users were not divided as the split says: {parts}; chance does this in less than 1 of 1,000 experiments"
        )
    } else {
        format!("nothing says that users were divided otherwise than the split says: {parts}")
    }
}

/// What to know before believing the results; `mixed` is the changeset that changed the split within their time.
pub(super) fn warnings(result: &ExperimentResult, mixed: Option<u64>) -> Vec<String> {
    let mut warnings = Vec::new();
    if result.ratio.is_mismatch {
        warnings.push(format!(
            "users were not divided as the split says (p below {MISMATCH_BELOW}), so something loses users of one variant: \
             trust no comparison until it is found"
        ));
    }
    if let Some(revision) = mixed {
        warnings.push(format!(
            "r{revision} changed the split within this time, so users of two divisions are mixed; leave `from` out to \
             begin there"
        ));
    }
    let several = result.in_several_variants;
    let share = several as f64 / (several + result.units).max(1) as f64;
    if share > SEVERAL_SHARE_MAX {
        warnings.push(format!(
            "{} users ({}) were given several variants and are left out; see whether {} is the same for a user on all \
             devices",
            count(several),
            percent(share),
            result.bucket_by
        ));
    }
    if result.in_other_variants > 0 {
        let others = count(result.in_other_variants);
        warnings.push(format!("{others} users were given a variant that the split has not; they are left out"));
    }
    if result.bucket_by != "targetingKey" {
        warnings
            .push(format!("users are values of {}, so only events sent with that attribute count", result.bucket_by));
    }
    let comparisons = result.metrics.len() * result.variants.len().saturating_sub(1);
    if comparisons > 1 {
        warnings.push(format!(
            "these are {comparisons} comparisons, each right in 95 % of cases: with so many some differ by chance, so \
             choose beforehand which one decides"
        ));
    }
    warnings
}
