//! Counts, as dashboards read them.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::model::id::{EnvironmentId, FlagId, ProcessId, RuleId};
use crate::model::key::{EnvironmentKey, FlagKey};
use crate::model::timestamp::Timestamp;

/// The most buckets in one answer.
pub const BUCKETS_MAX: usize = 1_440;
/// The most lines in one answer; the rest is added up.
pub const LINES_MAX: usize = 20;
/// The most flags in a list of top flags.
pub const TOP_FLAGS_MAX: u32 = 100;

/// Width of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Interval {
    /// One minute.
    Minute,
    /// Five.
    #[serde(rename = "5_minutes")]
    FiveMinutes,
    /// Fifteen.
    #[serde(rename = "15_minutes")]
    FifteenMinutes,
    /// An hour by the clocks of the zone.
    Hour,
    /// A day of the zone: 23 or 25 hours when its clocks change.
    Day,
}

/// What lines are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum CountBy {
    /// One line.
    None,
    /// The variant answered.
    Variant,
    /// Where the answer came from.
    Place,
    /// Which rule answered; answers of other places are left out. Needs a flag.
    Rule,
    /// Why it was answered.
    Reason,
    /// Alone, or with all others.
    Mode,
    /// The environment.
    Environment,
    /// The flag.
    Flag,
    /// The edge, one line per process.
    Edge,
    /// The SDK key.
    SdkKey,
}

/// What the numbers are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Counted {
    /// Evaluations of flags. A bulk request is one for each flag it answers.
    Evaluations,
    /// Requests of applications.
    Requests,
}

/// Counts over time, split by one property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CountSeries {
    /// First moment of the first bucket.
    pub from: Timestamp,
    /// One past the last bucket.
    pub to: Timestamp,
    /// Width of the buckets.
    pub interval: Interval,
    /// The zone whose hours and days these are.
    pub zone: String,
    /// What lines are told apart by.
    pub by: CountBy,
    /// What is counted.
    pub counted: Counted,
    /// Where each bucket begins; it ends where the next one does.
    pub buckets: Vec<Timestamp>,
    /// The beginning of the first bucket that is still counting; absent when all are complete, gaps apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counting_from: Option<Timestamp>,
    /// False when buckets had to begin at whole hours or days, because nothing finer is kept of their time; `buckets` says
    /// where they do.
    pub edges_exact: bool,
    /// The biggest first, at most 20; empty buckets are 0.
    pub series: Vec<CountLine>,
    /// All further lines together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<OtherLines>,
    /// Sum of everything.
    pub total: u64,
    /// What may be missing.
    pub gaps: Vec<CountGap>,
}

/// One line of a chart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CountLine {
    /// A variant, place, reason or mode as it was counted, or the key of an environment, flag or SDK key (its hint), or the
    /// name of an edge. Absent when there was no variant, and for what exists no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Of an environment, flag, rule, SDK key or process of an edge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Uuid>,
    /// What people call it: of a rule of the present config, an environment, a flag or an SDK key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How many per bucket.
    pub counts: Vec<u64>,
    /// Their sum.
    pub total: u64,
}

/// Lines beyond those shown, added up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OtherLines {
    /// How many.
    pub lines: u64,
    /// How many per bucket.
    pub counts: Vec<u64>,
    /// Their sum.
    pub total: u64,
}

/// What an edge counted and did not tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CountGap {
    /// Its process.
    pub process: ProcessId,
    /// Its name.
    pub edge: String,
    /// The time in which it was counted.
    pub from: Timestamp,
    /// Its end.
    pub to: Timestamp,
    /// Evaluations of all environments, at most.
    pub lost_max: u64,
    /// False while some of it may still arrive.
    pub is_final: bool,
    /// Why.
    pub cause: LossCause,
}

/// Why counts are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum LossCause {
    /// The process ended without a goodbye.
    Killed,
    /// It was not heard of for a while.
    Silent,
    /// It had no room left for them.
    LetGo,
}

/// The head of a dashboard.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CountSummary {
    /// First moment.
    pub from: Timestamp,
    /// One past the last.
    pub to: Timestamp,
    /// All environments asked for together.
    pub totals: CountTotals,
    /// The same of the time just before, as long as this one.
    pub before: CountTotals,
    /// The busiest part of the time; absent when nothing was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<CountPeak>,
    /// Each environment, in promotion order.
    pub environments: Vec<EnvironmentTotals>,
    /// The ten flags evaluated most.
    pub flags: Vec<BusyFlag>,
    /// What may be missing.
    pub gaps: Vec<CountGap>,
}

/// Sums over a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CountTotals {
    /// Evaluations of flags.
    pub evaluations: u64,
    /// Of these, with an error.
    pub errors: u64,
    /// Requests of applications.
    pub requests: u64,
    /// Evaluations of flags that nobody knows, not among the others.
    pub unknown: u64,
}

/// The busiest part of a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CountPeak {
    /// When it began.
    pub from: Timestamp,
    /// When it ended.
    pub to: Timestamp,
    /// Evaluations in it.
    pub evaluations: u64,
    /// The same per second.
    pub per_second: f64,
}

/// Sums of one environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EnvironmentTotals {
    /// Which.
    pub environment: EnvironmentKey,
    /// Its id.
    pub id: EnvironmentId,
    /// For people.
    pub name: String,
    /// In the time.
    pub totals: CountTotals,
    /// In the time before.
    pub before: CountTotals,
}

/// A flag evaluated much.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BusyFlag {
    /// Its id.
    pub id: FlagId,
    /// Its key; absent when it exists no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flag: Option<FlagKey>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Evaluations.
    pub total: u64,
    /// Their part of all, 0 to 1.
    pub share: f64,
    /// 24 equal parts of the time, or fewer where that is too fine for what is kept.
    pub spark: Vec<u64>,
}

/// The flags evaluated most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TopFlags {
    /// First moment.
    pub from: Timestamp,
    /// One past the last.
    pub to: Timestamp,
    /// The biggest first.
    pub flags: Vec<TopFlag>,
    /// How many flags were evaluated in all.
    pub evaluated: u64,
    /// Evaluations of all of them.
    pub total: u64,
    /// What may be missing.
    pub gaps: Vec<CountGap>,
}

/// How often a flag was evaluated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TopFlag {
    /// Its id.
    pub id: FlagId,
    /// Its key; absent when it exists no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flag: Option<FlagKey>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// All evaluations.
    pub total: u64,
    /// Alone.
    pub single: u64,
    /// With all others.
    pub bulk: u64,
    /// With an error.
    pub errors: u64,
    /// The last minute in which it was evaluated alone, whenever that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_evaluated_at: Option<Timestamp>,
}

/// Evaluations that could not be answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CountErrors {
    /// First moment.
    pub from: Timestamp,
    /// One past the last.
    pub to: Timestamp,
    /// The most frequent first, at most 200.
    pub errors: Vec<FlagErrors>,
    /// All of them, those not listed included.
    pub total: u64,
    /// What may be missing.
    pub gaps: Vec<CountGap>,
}

/// One kind of error of one flag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FlagErrors {
    /// The flag.
    pub id: FlagId,
    /// Its key; absent when it exists no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flag: Option<FlagKey>,
    /// OpenFeature's error code.
    pub code: String,
    /// How often.
    pub count: u64,
    /// The first minute in which it was ever counted.
    pub first_at: Timestamp,
    /// The last.
    pub last_at: Timestamp,
}

/// What each place of a flag answered, beside what it is set up to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FlagShares {
    /// First moment.
    pub from: Timestamp,
    /// One past the last.
    pub to: Timestamp,
    /// In words.
    pub sentence: String,
    /// Evaluations of the flag alone.
    pub total: u64,
    /// Variants over all places, the most frequent first.
    pub variants: Vec<VariantShare>,
    /// The places of the present config in the order in which they are looked at, then others that answered.
    pub places: Vec<PlaceShares>,
    /// What may be missing.
    pub gaps: Vec<CountGap>,
}

/// What one place answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PlaceShares {
    /// As it is counted: `off`, `killed`, `blocked`, `target`, `rule <id>`, `default` or `error <code>`.
    pub place: String,
    /// Of a rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleId>,
    /// The rule's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// False for a rule that is not in the present config any more.
    pub is_current: bool,
    /// True when it is a split now; then only answers of a split are counted here.
    pub is_split: bool,
    /// Evaluations of the flag alone.
    pub total: u64,
    /// What it answered, and what its split says.
    pub variants: Vec<VariantShare>,
}

/// How often a variant was answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VariantShare {
    /// Its key; absent when none was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Evaluations.
    pub count: u64,
    /// Their part of the place, 0 to 1; absent without evaluations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// The part of its users that the split gives it, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configured: Option<f64>,
}
