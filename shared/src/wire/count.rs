//! What comes back from edges to be added up: batches of counts.

use serde::{Deserialize, Serialize};

use crate::model::id::{EnvironmentId, FlagId, ProcessId, SdkKeyId};

/// The stream that takes batches, with `discard: new`.
pub const STREAM: &str = "FLUXGATE_COUNTS";
/// Batches go to `fluxgate.count.<process id>`.
pub const SUBJECT: &str = "fluxgate.count";
/// The most entries in a batch.
pub const ENTRIES_MAX: usize = 10_000;
/// The most bytes in a batch.
pub const BATCH_BYTES_MAX: usize = 512 * 1024;
/// Minutes older than this, or more than [`FUTURE_MINUTES_MAX`] ahead, are moved to the minute of receipt.
pub const PAST_MINUTES_MAX: i64 = 30 * 24 * 60;
/// How far an edge's clock may run ahead.
pub const FUTURE_MINUTES_MAX: i64 = 5;

/// One closed batch. It is never changed, and added exactly once by its process and sequence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountBatch {
    /// The edge's process that closed it.
    pub process: ProcessId,
    /// Counts up from 1 within the process.
    pub sequence: u64,
    /// Evaluations by place; at most [`ENTRIES_MAX`] together with `keys`.
    pub evaluations: Vec<EvaluationCount>,
    /// Requests by SDK key.
    #[serde(default)]
    pub keys: Vec<KeyCount>,
}

/// How often one place of a flag answered with one variant within one minute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvaluationCount {
    /// Minutes since 1970, in UTC.
    pub minute: i64,
    /// Where it was evaluated.
    pub environment: EnvironmentId,
    /// What was evaluated.
    pub flag: FlagId,
    /// `off`, `killed`, `blocked`, `target`, `rule <id>`, `default` or `error <code>`.
    pub place: String,
    /// The variant answered; absent when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Evaluated alone, or together with all others.
    pub mode: Mode,
    /// How often.
    pub count: u64,
}

/// How a flag was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Mode {
    /// By its key.
    Single,
    /// With all flags of the environment.
    Bulk,
}

/// How many requests one SDK key made within one minute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyCount {
    /// Minutes since 1970, in UTC.
    pub minute: i64,
    /// Where.
    pub environment: EnvironmentId,
    /// Which key.
    pub key: SdkKeyId,
    /// How many.
    pub count: u64,
}
