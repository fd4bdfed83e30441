//! What the event stream tells the UI.

use serde::{Deserialize, Serialize};

use crate::model::id::EnvironmentId;
use crate::model::key::{FlagKey, ProjectKey};
use crate::wire::api::edge::ReceiptDetail;

/// Something happened; a page asks again for what it shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Event {
    /// A changeset was committed.
    Changed(Changed),
    /// An edge applied a revision, or the set of edges changed.
    Receipt(ReceiptDetail),
    /// Something about some edge changed.
    Edges,
    /// New counts were added.
    Counts,
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
