//! What comes back from edges to be added up: batches of counts.

use serde::{Deserialize, Serialize};

use crate::evaluation::Reason;
use crate::model::id::{EnvironmentId, FlagId, ProcessId, SdkKeyId};
use crate::model::key::{EventName, FlagKey, VariantKey};

/// The stream that takes batches, with `discard: new`.
pub const STREAM: &str = "FLUXGATE_COUNTS";
/// Batches go to `fluxgate.count.<process id>`.
pub const SUBJECT: &str = "fluxgate.count";
/// The header of a batch's message that says where to confirm it: the subject of a [`Confirmation`].
pub const CONFIRM_HEADER: &str = "Fluxgate-Confirm";
/// The most entries in a batch; each unit of an exposure or event is one.
pub const ENTRIES_MAX: usize = 10_000;
/// The most bytes in a batch.
pub const BATCH_BYTES_MAX: usize = 512 * 1024;
/// Minutes older than this, or more than [`FUTURE_MINUTES_MAX`] ahead, are moved to the minute of receipt.
pub const PAST_MINUTES_MAX: i64 = 30 * 24 * 60;
/// How far an edge's clock may run ahead.
pub const FUTURE_MINUTES_MAX: i64 = 5;

/// One closed batch: a part of what a process gathered in a range of gatherings. It is never changed.
///
/// A process numbers its gatherings 1, 2, 3, …; once a range `first..=sequence` is sealed nothing comes to it any more, and
/// all who hold it cut it into the same parts. A batch is added exactly once by process, sequence and part; and one
/// whose range meets another range of the process that was added before is refused, since a copy of the edge's folder
/// sent some of the same counts, cut otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountBatch {
    /// The edge's process that counted.
    pub process: ProcessId,
    /// The first gathering of the range; absent when it is the last, too, as always in what an older version sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<u64>,
    /// The last gathering of the range; they count up from 1 within the process.
    pub sequence: u64,
    /// Which part of the range, from 0.
    #[serde(default)]
    pub part: u32,
    /// Evaluations by place.
    pub evaluations: Vec<EvaluationCount>,
    /// Requests by SDK key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<KeyCount>,
    /// Requests for flags that nobody knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<UnknownCount>,
    /// Who saw which variant of an experiment first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exposures: Vec<Exposures>,
    /// What users did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<UnitEvents>,
}

/// A batch is in the database, or was before, or will never be (refused, set aside): the edge lets go of it. Only then;
/// the stream's own acknowledgement says nothing once its store is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Confirmation {
    /// Whose batch.
    pub process: ProcessId,
    /// Of which range.
    pub sequence: u64,
    /// Which part of it.
    #[serde(default)]
    pub part: u32,
}

impl CountBatch {
    /// The first gathering of its range.
    pub fn first(&self) -> u64 {
        self.first.unwrap_or(self.sequence)
    }

    /// What lets its edge go of it.
    pub fn confirmation(&self) -> Confirmation {
        Confirmation { process: self.process, sequence: self.sequence, part: self.part }
    }
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
    /// Why it was answered; absent in what an older version counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
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

/// How often one SDK key asked for a flag that its environment does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownCount {
    /// Minutes since 1970, in UTC.
    pub minute: i64,
    /// Where.
    pub environment: EnvironmentId,
    /// Who asked.
    pub key: SdkKeyId,
    /// For what; absent for all that could be no flag's key, or came when too many different ones were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flag: Option<FlagKey>,
    /// How often.
    pub count: u64,
}

/// Units that a split of an experiment gave a variant for the first time, as far as this process knows; often told
/// again by another one.
///
/// A unit is what the split buckets by (a user, an account), as a 64-bit SipHash-2-4 of the attribute's name, a zero byte
/// and the bucketing key, keyed by the environment's `unit_key` (its 16 bytes).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exposures {
    /// Minutes since 1970, in UTC.
    pub minute: i64,
    /// Where.
    pub environment: EnvironmentId,
    /// The experiment.
    pub flag: FlagId,
    /// `rule <id>` or `default`.
    pub place: String,
    /// What they got.
    pub variant: VariantKey,
    /// Who.
    pub units: Vec<u64>,
}

/// How often units did something within one minute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitEvents {
    /// Minutes since 1970, in UTC.
    pub minute: i64,
    /// Where.
    pub environment: EnvironmentId,
    /// What.
    pub event: EventName,
    /// Who, hashed as in [`Exposures`]; how often; and the sum of the values told with it, 0 without any.
    pub units: Vec<(u64, u64, f64)>,
}
