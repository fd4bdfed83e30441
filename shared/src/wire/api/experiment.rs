//! What an experiment says: users per variant, what they did, and how much of the difference is chance.

use serde::{Deserialize, Serialize};

use crate::model::key::{EnvironmentKey, FlagKey, VariantKey};
use crate::model::timestamp::Timestamp;
use crate::wire::api::metric::MetricDetail;

/// The most metrics in one answer.
pub const RESULT_METRICS_MAX: usize = 10;

/// The results of one split of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExperimentResult {
    /// The experiment.
    pub flag: FlagKey,
    /// Where it runs.
    pub environment: EnvironmentKey,
    /// The split looked at: `default` or `rule <id>`.
    pub place: String,
    /// The other splits of the config, that with most users first.
    pub other_places: Vec<ExperimentPlace>,
    /// Users whose first exposure is earlier are left out.
    pub from: Timestamp,
    /// What is later is left out.
    pub to: Timestamp,
    /// Why it begins there: "since r413 changed the split".
    pub since: String,
    /// The attribute whose values are counted as users.
    pub bucket_by: String,
    /// Users that were given exactly one variant, in all variants of the split together.
    pub units: u64,
    /// Users that were given several variants; they are in no figure.
    pub in_several_variants: u64,
    /// Users that were given a variant before `from`; they are in no figure.
    pub exposed_before: u64,
    /// Users whose variant the split has not any more; they are in no figure.
    pub in_other_variants: u64,
    /// What the others are compared with.
    pub control: VariantKey,
    /// In the order of the split.
    pub variants: Vec<ExperimentVariant>,
    /// Whether users were divided as the split says.
    pub ratio: RatioResult,
    /// One for each metric asked for.
    pub metrics: Vec<MetricResult>,
    /// Share of cases in which an interval holds the true value.
    pub confidence: f64,
    /// What to know before believing any of it.
    pub warnings: Vec<String>,
}

/// A split of the config.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExperimentPlace {
    /// `default` or `rule <id>`.
    pub place: String,
    /// The rule's name; empty for the default and where it has none.
    pub name: String,
    /// Users it ever gave a variant, also those who are in no figure; with several variants they count several times.
    pub exposed: u64,
}

/// Users of a variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExperimentVariant {
    /// Which.
    pub variant: VariantKey,
    /// Share of users it should get, 0 to 1.
    pub configured_share: f64,
    /// Users it was given to.
    pub units: u64,
}

/// Whether users were divided as the split says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RatioResult {
    /// True when no comparison can be trusted.
    pub is_mismatch: bool,
    /// The p value that holds on all days at once; a mismatch is told below 0.001. Absent while it cannot be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always_valid_p: Option<f64>,
    /// Of Pearson's test, for one single look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single_look_p: Option<f64>,
    /// Pearson's chi-square.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chi_square: Option<f64>,
    /// The same in words, or why it cannot be told yet.
    pub sentence: String,
}

/// One metric in all variants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MetricResult {
    /// Which.
    pub metric: MetricDetail,
    /// In the order of the split.
    pub variants: Vec<MetricVariant>,
}

/// One metric in one variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MetricVariant {
    /// Which.
    pub variant: VariantKey,
    /// Users.
    pub units: u64,
    /// Of these, those who caused the event since their first exposure.
    pub active: u64,
    /// Their share of `units`, or the mean value of all `units`; absent without users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<f64>,
    /// Wilson's interval of a share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<IntervalDetail>,
    /// Sum of all values, of a numeric metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum: Option<f64>,
    /// Standard deviation among `units`, of a numeric metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
    /// Against the control; absent for the control itself and while it cannot be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<ComparisonDetail>,
    /// The comparison in words, or why it cannot be told yet; empty for the control.
    pub sentence: String,
}

/// A range that holds the true value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct IntervalDetail {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// How much a variant differs from the control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ComparisonDetail {
    /// What can be said of it, looked at any time.
    pub verdict: Verdict,
    /// Variant minus control, in shares or values.
    pub difference: f64,
    /// Holds the true difference on all days at once: safe to look at any time.
    pub always_valid: IntervalDetail,
    /// Its p value.
    pub always_valid_p: f64,
    /// Newcombe's interval of shares, Welch's of means, for one look at a time fixed beforehand.
    pub single_look: IntervalDetail,
    /// Its p value.
    pub single_look_p: f64,
    /// Of Welch's test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub degrees_of_freedom: Option<f64>,
    /// The difference in relation to the control, 0.05 for 5 % more; absent while the control may be 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lift: Option<LiftDetail>,
}

/// What can be said of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Verdict {
    /// More than in the control.
    More,
    /// Less than in the control.
    Less,
    /// The always-valid interval holds 0: too early to tell.
    Open,
}

/// A difference in relation to the control.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LiftDetail {
    /// 0.05 is 5 % more.
    pub value: f64,
    /// Holds the true lift on all days at once.
    pub always_valid: IntervalDetail,
    /// For one look.
    pub single_look: IntervalDetail,
}
