//! One action on many flags, as one changeset.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::changeset::Note;
use crate::model::id::UserId;
use crate::model::key::{EnvironmentKey, FlagKey};
use crate::wire::api::changeset::ChangesetDetail;

/// Does one thing with many flags: all of them or none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BulkChange {
    /// Which; 1 to 1,000, each once.
    pub flags: Vec<BulkFlag>,
    /// What.
    pub action: BulkAction,
    /// Why; may be empty.
    #[serde(default)]
    pub note: Note,
}

/// A flag as whoever acts saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BulkFlag {
    /// Which.
    pub key: FlagKey,
    /// Version of the flag.
    pub version: u64,
    /// Versions of its configs, by environment; those that are not named may have changed meanwhile.
    #[serde(default)]
    pub configs: BTreeMap<EnvironmentKey, u64>,
}

/// What is done with many flags.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum BulkAction {
    /// Turns them on.
    TurnOn {
        /// Where; at least one.
        environments: Vec<EnvironmentKey>,
    },
    /// Turns them off.
    TurnOff {
        /// Where; at least one.
        environments: Vec<EnvironmentKey>,
    },
    /// Takes them out of service everywhere.
    Archive,
    /// Gives them tags.
    AddTags {
        /// At least one.
        tags: Vec<String>,
    },
    /// Takes tags away.
    RemoveTags {
        /// At least one.
        tags: Vec<String>,
    },
    /// Says whom to ask about them.
    SetOwner {
        /// A member of the project.
        owner: UserId,
    },
    /// Sets them up in one environment as they are in another; seeds stay, so the same users get the same.
    CopyConfig {
        /// From where.
        from: EnvironmentKey,
        /// To where.
        to: EnvironmentKey,
    },
}

/// What became of an action on many flags.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BulkResult {
    /// The one changeset; absent when there was nothing to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changeset: Option<ChangesetDetail>,
    /// One per flag, as asked for.
    pub results: Vec<BulkFlagResult>,
}

/// What became of one flag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BulkFlagResult {
    /// Which.
    pub key: FlagKey,
    /// Whether it is changed, waits for people to agree, or was fine already.
    pub outcome: BulkOutcome,
    /// The same in words: `turned on in staging`, `on already in staging`.
    pub sentence: String,
}

/// Whether a flag is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum BulkOutcome {
    /// It is.
    Applied,
    /// It will be, once people agreed.
    Requested,
    /// There was nothing to do.
    Skipped,
}
