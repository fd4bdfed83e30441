//! Edges, and which revision they answer by.

use serde::{Deserialize, Serialize};

use crate::model::id::{EnvironmentId, ProcessId};
use crate::model::timestamp::Timestamp;

/// The edges of the installation; at most 1,000.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EdgeList {
    /// By name.
    pub items: Vec<EdgeDetail>,
}

/// One edge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EdgeDetail {
    /// Its process.
    pub process: ProcessId,
    /// Its display name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// How it is.
    pub state: EdgeState,
    /// Its last message, on the backend's clock.
    pub last_heard_at: Timestamp,
    /// What it answers by.
    pub environments: Vec<EdgeEnvironment>,
    /// Resident memory, in bytes.
    pub memory_bytes: u64,
    /// Evaluations counted since its process began.
    pub counted: u64,
    /// Of these, not yet acknowledged.
    pub unsent: u64,
    /// Keys of the bucket that it cannot read.
    pub unreadable: Vec<String>,
}

/// How an edge is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum EdgeState {
    /// Heard within the last seconds and up to date everywhere.
    Live,
    /// Heard within the last seconds, some environment is older than the newest revision.
    Behind,
    /// Not heard for 10 s; it may still answer applications.
    Silent,
}

/// One environment on an edge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EdgeEnvironment {
    /// Which.
    pub environment: EnvironmentId,
    /// What it answers by.
    pub revision: u64,
    /// From commit to receipt of that revision, in ms on the backend's clock; absent when this backend did not see both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_ms: Option<u64>,
}

/// How far a revision of an environment has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReceiptDetail {
    /// Where.
    pub environment: EnvironmentId,
    /// Which.
    pub revision: u64,
    /// Edges that answer by it, or by a newer one.
    pub live: u32,
    /// Edges that count.
    pub edges: u32,
    /// From commit until the last of them, in ms; absent until all are live, or when this backend did not see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest_ms: Option<u64>,
    /// Names of those that do not; at most 20.
    pub waiting: Vec<String>,
}
