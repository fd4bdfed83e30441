//! What the event stream tells the UI.

use serde::{Deserialize, Serialize};

use crate::model::changeset::ChangesetState;
use crate::model::id::{ChangesetId, EnvironmentId};
use crate::model::key::{FlagKey, ProjectKey};
use crate::model::timestamp::Timestamp;
use crate::wire::api::edge::ReceiptDetail;

/// Something happened; a page asks again for what it shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Event {
    /// A changeset was committed.
    Changed(Changed),
    /// A changeset that people look at moved on.
    Changeset(ChangesetMoved),
    /// An edge applied a revision, or the set of edges changed.
    Receipt(ReceiptDetail),
    /// Something about some edge changed.
    Edges,
    /// Evaluations were added, at most once a second.
    Counts(AddedCounts),
    /// The last minutes of a flag that this stream watches.
    FlagCounts(FlagMinutes),
    /// Events were missed; ask for everything again.
    Resync,
}

/// A changeset was committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Changed {
    /// Its revision.
    pub revision: u64,
    /// Where.
    pub project: ProjectKey,
    /// Environments whose answers changed.
    pub environments: Vec<EnvironmentId>,
    /// Flags that were changed; at most 50.
    pub flags: Vec<FlagKey>,
    /// Who did it.
    pub by: String,
}

/// A changeset that people look at moved on: somebody asked for it, approved it, edited it, said something, or ended it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChangesetMoved {
    /// Where.
    pub project: ProjectKey,
    /// Which.
    pub id: ChangesetId,
    /// Where it stands now.
    pub state: ChangesetState,
}

/// Evaluations that were added since the last event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AddedCounts {
    /// Where; empty when that is not known, and it may have been anywhere.
    pub environments: Vec<EnvironmentAdded>,
}

/// Evaluations that were added in one environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EnvironmentAdded {
    /// Where.
    pub environment: EnvironmentId,
    /// How many.
    pub added: u64,
}

/// The last minutes of a flag in an environment; what is not told of them is 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FlagMinutes {
    /// Where.
    pub environment: EnvironmentId,
    /// Which flag.
    pub flag: FlagKey,
    /// The first minute told; everything counted since then is in `minutes`.
    pub from: Timestamp,
    /// By minute and variant.
    pub minutes: Vec<VariantMinute>,
}

/// Evaluations within a minute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VariantMinute {
    /// When it began.
    pub minute: Timestamp,
    /// The variant's key; absent when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// So far.
    pub count: u64,
}
