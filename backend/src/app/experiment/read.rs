//! Metrics of an experiment's variants, compared with the control.

use shared::model::key::VariantKey;
use shared::wire::api::experiment::{
    ComparisonDetail, ExperimentVariant, IntervalDetail, LiftDetail, MetricResult, MetricVariant, Verdict,
};
use shared::wire::api::metric::{MetricDetail, MetricKind};
use sqlx::PgConnection;

use crate::app::experiment::{number, sentence};
use crate::app::range::too_much;
use crate::error::AppError;
use crate::statistics::{Comparison, Interval, Mean, NotYet, Proportion, comparison};
use crate::store::experiment::{self as stored, Scope, VariantEvents};

/// What was summed up of one metric in one variant.
#[derive(Clone, Copy)]
enum Sample {
    Proportion(Proportion),
    Mean(Mean),
}

/// Reads all metrics with one query.
pub(super) async fn metrics(
    db: &mut PgConnection,
    scope: Scope<'_>,
    variants: &[ExperimentVariant],
    control: &VariantKey,
    metrics: Vec<MetricDetail>,
) -> Result<Vec<MetricResult>, AppError> {
    if metrics.is_empty() {
        return Ok(Vec::new());
    }
    let events: Vec<String> = metrics.iter().map(|metric| metric.event.to_string()).collect();
    let sums = stored::sum_events(db, scope, &events).await.map_err(too_much)?;
    Ok(metrics.into_iter().map(|metric| result(metric, variants, control, &sums)).collect())
}

fn result(
    metric: MetricDetail,
    variants: &[ExperimentVariant],
    control: &VariantKey,
    sums: &[VariantEvents],
) -> MetricResult {
    let sample = |variant: &ExperimentVariant| {
        let found =
            sums.iter().find(|sum| sum.event == metric.event.as_str() && sum.variant == variant.variant.as_str());
        Sample::new(metric.kind, variant.units, found)
    };
    let base = variants.iter().find(|variant| variant.variant == *control).map(sample);
    let lines = variants.iter().map(|variant| {
        let own = sample(variant);
        let compared = match base {
            Some(base) if variant.variant != *control => Some((own.compare(base), base)),
            _ => None,
        };
        let words = compared.as_ref().map(|(found, base)| {
            let sides = [own, *base].map(Sample::side);
            sentence::comparison(metric.kind, &variant.variant, control, sides, found)
        });
        own.line(&variant.variant, compared.and_then(|(found, _)| found.ok()), words.unwrap_or_default())
    });
    let mut lines: Vec<MetricVariant> = lines.collect();
    if let [only] = lines.as_mut_slice() {
        only.sentence = sentence::not_yet(NotYet::OneVariant);
    }
    MetricResult { metric, variants: lines }
}

impl Sample {
    fn new(kind: MetricKind, units: u64, found: Option<&VariantEvents>) -> Self {
        let active = found.map_or(0, |found| number(found.active)).min(units);
        match kind {
            MetricKind::Conversion => Self::Proportion(Proportion { units, converted: active }),
            MetricKind::Numeric => Self::Mean(Mean {
                units,
                active,
                sum: found.map_or(0.0, |found| found.sum),
                squares: found.map_or(0.0, |found| found.squares),
            }),
        }
    }

    fn compare(self, base: Self) -> Result<Comparison, NotYet> {
        match (self, base) {
            (Self::Proportion(one), Self::Proportion(base)) => comparison::of_rates(one, base),
            (Self::Mean(one), Self::Mean(base)) => comparison::of_means(one, base),
            // Both are of the same metric.
            _ => Err(NotYet::Nobody),
        }
    }

    /// The estimate with its users, for a sentence.
    fn side(self) -> (Option<f64>, u64) {
        match self {
            Self::Proportion(sample) => (sample.rate().ok(), sample.units),
            Self::Mean(sample) => (sample.mean().ok(), sample.units),
        }
    }

    fn line(self, variant: &VariantKey, compared: Option<Comparison>, sentence: String) -> MetricVariant {
        let (estimate, units) = self.side();
        let (active, interval, sum, deviation) = match self {
            Self::Proportion(sample) => (sample.converted, sample.interval().ok(), None, None),
            Self::Mean(sample) => (sample.active, None, Some(sample.sum), sample.variance().ok().map(f64::sqrt)),
        };
        MetricVariant {
            variant: variant.clone(),
            units,
            active,
            estimate,
            interval: interval.map(detail),
            sum,
            deviation,
            comparison: compared.map(comparison_detail),
            sentence,
        }
    }
}

fn comparison_detail(found: Comparison) -> ComparisonDetail {
    ComparisonDetail {
        verdict: verdict(&found),
        difference: found.difference,
        always_valid: detail(found.always_valid),
        always_valid_p: found.always_valid_p,
        single_look: detail(found.single_look),
        single_look_p: found.single_look_p,
        degrees_of_freedom: found.degrees_of_freedom,
        lift: found.lift.map(|lift| LiftDetail {
            value: lift.value,
            always_valid: detail(lift.always_valid),
            single_look: detail(lift.single_look),
        }),
    }
}

/// What can be said of a difference, looked at any time.
pub(super) fn verdict(found: &Comparison) -> Verdict {
    match found.always_valid {
        interval if !interval.excludes_zero() => Verdict::Open,
        interval if interval.low > 0.0 => Verdict::More,
        _ => Verdict::Less,
    }
}

fn detail(interval: Interval) -> IntervalDetail {
    IntervalDetail { low: interval.low, high: interval.high }
}
