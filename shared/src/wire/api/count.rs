//! Counts of evaluations, as charts read them.

use serde::{Deserialize, Serialize};

use crate::model::timestamp::Timestamp;

/// Evaluations over time, split by one property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CountSeries {
    /// First moment of the first bucket.
    pub from: Timestamp,
    /// One past the last bucket.
    pub to: Timestamp,
    /// Width of a bucket, in seconds.
    pub interval_seconds: u32,
    /// One per variant that was answered, biggest first; empty buckets are 0.
    pub series: Vec<CountLine>,
    /// Sum of everything.
    pub total: u64,
}

/// One line of a chart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CountLine {
    /// The variant's key; absent when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Evaluations per bucket.
    pub counts: Vec<u64>,
    /// Their sum.
    pub total: u64,
}
