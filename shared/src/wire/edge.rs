//! What edges say of themselves, over plain NATS: receipts, heartbeats and goodbyes.

use serde::{Deserialize, Serialize};

use crate::model::id::{EnvironmentId, ProcessId};

/// Receipts go here.
pub const RECEIPT_SUBJECT: &str = "fluxgate.edge.receipt";
/// Heartbeats go here, every [`HEARTBEAT_SECONDS`].
pub const HEARTBEAT_SUBJECT: &str = "fluxgate.edge.heartbeat";
/// Goodbyes go here.
pub const GOODBYE_SUBJECT: &str = "fluxgate.edge.goodbye";
/// How often an edge reports.
pub const HEARTBEAT_SECONDS: u64 = 2;

/// "I answer in this environment by this revision now."
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Who says so.
    pub process: ProcessId,
    /// Its display name.
    pub name: String,
    /// Where.
    pub environment: EnvironmentId,
    /// By what.
    pub revision: u64,
}

/// How an edge is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heartbeat {
    /// Who says so.
    pub process: ProcessId,
    /// Its display name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The processes that used its folder before, which it replaces; newest first, at most 16. More than one, since the
    /// backend may have been away for the whole life of the last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predecessors: Vec<ProcessId>,
    /// What it answers by, per environment.
    pub environments: Vec<EnvironmentRevision>,
    /// Keys of the bucket whose body it cannot read; at most 100.
    #[serde(default)]
    pub unreadable: Vec<String>,
    /// Resident memory, in bytes.
    pub memory_bytes: u64,
    /// Evaluations counted since the process began, those of unknown flags and those not sent included.
    pub counted: u64,
    /// Of these, not yet confirmed.
    pub unsent: u64,
    /// Of these, counted and then lost.
    #[serde(default)]
    pub lost: u64,
    /// Counts of earlier processes on its folder that still wait to be confirmed; at most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inherited: Vec<InheritedCounts>,
}

/// What an earlier process left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InheritedCounts {
    /// Who counted.
    pub process: ProcessId,
    /// Evaluations that wait.
    pub unsent: u64,
}

/// The revision of one environment on an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentRevision {
    /// Which.
    pub environment: EnvironmentId,
    /// By what it answers.
    pub revision: u64,
}

/// "I stop now; do not wait for me."
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goodbye {
    /// Who says so.
    pub process: ProcessId,
    /// Evaluations it counted in all; absent from an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<u64>,
}
