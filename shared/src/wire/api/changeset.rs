//! Changesets: what every write answers.

use serde::{Deserialize, Serialize};

use crate::model::changeset::{ChangesetState, Note};
use crate::model::id::ChangesetId;
use crate::model::key::EnvironmentKey;
use crate::model::timestamp::Timestamp;

/// What became of a write: applied, or waiting for people to agree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChangesetDetail {
    /// Its id.
    pub id: ChangesetId,
    /// `applied` or `in_review`.
    pub state: ChangesetState,
    /// Its place in the order of all changes; edges and answers carry it. Absent until it is applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
    /// When it was committed, on the backend's clock. Absent until it is applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_at: Option<Timestamp>,
    /// Environments whose answers it changes, by key; empty when none does.
    pub environments: Vec<EnvironmentKey>,
    /// The rest of the write, which waits for people to agree while this part was applied at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested: Option<RequestedChangeset>,
}

/// A changeset that waits for people to agree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RequestedChangeset {
    /// Its id.
    pub id: ChangesetId,
    /// Environments whose answers it will change, by key.
    pub environments: Vec<EnvironmentKey>,
}

/// Why a change is made, for writes that need no other body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WithNote {
    /// Why; may be empty.
    #[serde(default)]
    pub note: Note,
}
