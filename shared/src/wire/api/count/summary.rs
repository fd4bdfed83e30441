//! The head of a dashboard.

use serde::{Deserialize, Serialize};

use crate::model::id::{EnvironmentId, FlagId};
use crate::model::key::{EnvironmentKey, FlagKey};
use crate::model::timestamp::Timestamp;
use crate::wire::api::count::CountGap;

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
    /// The same by parts of the time, at most 25 and equal but for the first and the last.
    pub spark: Vec<u64>,
}
