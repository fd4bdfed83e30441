//! Counts over time.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::model::timestamp::Timestamp;
use crate::wire::api::count::CountGap;

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
