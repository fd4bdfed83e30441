//! What people draw from counts: unknown keys, stale flags, losses, and how edges were.

use serde::{Deserialize, Serialize};

use crate::model::flag::FlagKind;
use crate::model::id::{ProcessId, SdkKeyId};
use crate::model::key::{EnvironmentKey, FlagKey};
use crate::model::timestamp::Timestamp;
use crate::wire::api::flag::FlagOwner;

/// Requests for flags that an environment does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UnknownFlags {
    /// First moment; earlier than asked for where only whole hours or days are kept.
    pub from: Timestamp,
    /// One past the last moment.
    pub to: Timestamp,
    /// The most asked for first; at most 200.
    pub items: Vec<UnknownFlag>,
    /// All requests for unknown flags, those not listed included.
    pub total: u64,
    /// True when there are more than are listed.
    pub is_cut: bool,
}

/// An unknown flag that one SDK key asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UnknownFlag {
    /// What was asked for; empty for all that can be no flag's key, or were too many different ones.
    pub key: String,
    /// Where.
    pub environment: EnvironmentKey,
    /// Who asked.
    pub sdk_key: SdkKeyId,
    /// The SDK key's name; empty when it is known no more.
    pub sdk_key_name: String,
    /// Beginning and end of the SDK key.
    pub sdk_key_hint: String,
    /// Requests.
    pub count: u64,
    /// The first minute in which it was asked for.
    pub first_at: Timestamp,
    /// The last one.
    pub last_at: Timestamp,
    /// What became of the key.
    pub status: UnknownStatus,
    /// The existing flag whose key is nearest, where one is near.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<FlagKey>,
    /// The same in words.
    pub sentence: String,
}

/// What became of a key that was unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum UnknownStatus {
    /// No flag has it.
    Unknown,
    /// A flag of the project has it by now, or a client key asked for a flag that only servers may see.
    Exists,
    /// The project's flag with this key has no config in this environment.
    ElsewhereOnly,
    /// The flag was archived.
    Archived,
    /// No key, but all others together.
    Others,
}

/// Flags that may go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StaleFlags {
    /// Those with most reasons first, then the oldest; at most 500.
    pub items: Vec<StaleFlag>,
    /// All that are stale.
    pub total: u64,
    /// All flags of the project that are not archived.
    pub flags: u64,
    /// When counting began; absent when nothing was ever counted. Nothing is called unused before 30 days of counting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counting_since: Option<Timestamp>,
}

/// A flag that may go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StaleFlag {
    /// Which.
    pub key: FlagKey,
    /// For people.
    pub name: String,
    /// What it is for.
    pub kind: FlagKind,
    /// Whom to ask about it; nobody when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<FlagOwner>,
    /// Version of the flag, for archiving it.
    pub version: u64,
    /// How it is used and why it may go.
    pub usage: FlagUsage,
}

/// How a flag is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FlagUsage {
    /// When it was made.
    pub created_at: Timestamp,
    /// Whether anybody asks for it.
    pub activity: FlagActivity,
    /// The same in words.
    pub sentence: String,
    /// In promotion order.
    pub environments: Vec<EnvironmentUsage>,
    /// Why it may go; empty while nothing says so.
    pub reasons: Vec<StaleReason>,
}

/// Whether anybody asks for a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum FlagActivity {
    /// It was evaluated by its key within 30 days.
    Evaluated,
    /// Only calls for all flags received it within 30 days: sent to browsers, use unknown.
    SentInBulk,
    /// Nobody received it within 30 days.
    Unused,
    /// It is younger than 30 days, or counting is.
    TooEarly,
}

/// When a flag was last asked for in an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EnvironmentUsage {
    /// Where.
    pub environment: EnvironmentKey,
    /// The last minute in which it was evaluated by its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluated_at: Option<Timestamp>,
    /// The last minute in which a call for all flags received it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_in_bulk_at: Option<Timestamp>,
}

/// Why a flag may go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StaleReason {
    /// What kind of reason.
    pub kind: StaleKind,
    /// For so many days.
    pub days: u32,
    /// The same in words.
    pub sentence: String,
}

/// What makes a flag stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum StaleKind {
    /// Nobody received it for 30 days.
    NotEvaluated,
    /// The last environment in promotion order gave everyone the same answer for 14 days, and can give no other.
    SameForEveryone,
    /// It is older than flags of its kind usually get.
    PastLifetime,
}

/// What was counted on edges and did not arrive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CountLosses {
    /// First moment; earlier than asked for where only whole hours or days are kept.
    pub from: Timestamp,
    /// One past the last moment.
    pub to: Timestamp,
    /// The newest first; at most 500.
    pub items: Vec<CountLoss>,
    /// Evaluations lost at most, those not listed included.
    pub lost_max: u64,
    /// Evaluations that arrived.
    pub evaluations: u64,
    /// In words: "1 gap, at most 4,200 of 48.2 M".
    pub sentence: String,
}

/// A gap in the counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CountLoss {
    /// The edge's name.
    pub edge: String,
    /// Its process.
    pub process: ProcessId,
    /// `killed`, `silent` or `let_go`.
    pub cause: String,
    /// The cause in words.
    pub sentence: String,
    /// The time in which it was counted.
    pub from: Timestamp,
    /// Its end.
    pub to: Timestamp,
    /// Evaluations, at most.
    pub lost_max: u64,
    /// False while some of it may still arrive.
    pub is_final: bool,
}

/// How an edge was over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EdgeHistory {
    /// Its process.
    pub process: ProcessId,
    /// Its display name.
    pub name: String,
    /// First moment of the first point.
    pub from: Timestamp,
    /// One past the last point.
    pub to: Timestamp,
    /// Width of a point, in seconds.
    pub interval_seconds: u32,
    /// One for each interval; null where the edge was not heard. At most 1,440.
    pub points: Vec<Option<EdgePoint>>,
}

/// How an edge was within one interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EdgePoint {
    /// The most resident memory, in bytes.
    pub memory_bytes: u64,
    /// The most evaluations that waited to arrive.
    pub unsent: u64,
    /// The most revisions that the environment furthest behind lacked.
    pub revisions_behind: u64,
    /// The longest from commit to receipt, in ms; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_ms: Option<u64>,
    /// Evaluations per second; absent when the edge was not heard just before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluations_per_second: Option<f64>,
}
