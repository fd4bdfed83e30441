//! Changesets: what every write answers.

use serde::{Deserialize, Serialize};

use crate::model::changeset::Note;
use crate::model::id::ChangesetId;
use crate::model::key::EnvironmentKey;
use crate::model::timestamp::Timestamp;

/// An applied changeset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChangesetDetail {
    /// Its id.
    pub id: ChangesetId,
    /// Its place in the order of all changes; edges and answers carry it.
    pub revision: u64,
    /// When it was committed, on the backend's clock.
    pub applied_at: Timestamp,
    /// Environments whose answers it changed, by key; empty when none did.
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
