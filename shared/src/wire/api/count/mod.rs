//! Counts, as dashboards read them.

mod flag;
mod series;
mod share;
mod summary;

pub use flag::{CountErrors, FlagErrors, TopFlag, TopFlags};
use serde::{Deserialize, Serialize};
pub use series::{CountBy, CountLine, CountSeries, Counted, Interval, OtherLines};
pub use share::{FlagShares, PlaceShares, VariantShare};
pub use summary::{BusyFlag, CountPeak, CountSummary, CountTotals, EnvironmentTotals};

use crate::model::id::ProcessId;
use crate::model::timestamp::Timestamp;

/// The most buckets in one answer.
pub const BUCKETS_MAX: usize = 1_440;
/// The most lines in one answer; the rest is added up.
pub const LINES_MAX: usize = 20;
/// The most flags in a list of top flags.
pub const TOP_FLAGS_MAX: u32 = 100;

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
