//! What changes do, said before they are made.

use serde::{Deserialize, Serialize};

use crate::lint::Warning;
use crate::model::key::{EnvironmentKey, VariantKey};
use crate::wire::api::changeset::EnvironmentReview;

/// What a changeset would do if it were applied now. Nothing is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DryRun {
    /// What would become of it.
    pub outcome: DryRunOutcome,
    /// What it does to each thing, in order.
    pub effects: Vec<ChangeEffect>,
    /// Environments whose answers or rules it changes, in promotion order, and what their policies want.
    pub environments: Vec<EnvironmentReview>,
    /// SHA-256 of all that an approval would sign, in hex.
    pub digest: String,
}

/// What would become of a changeset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum DryRunOutcome {
    /// It is applied at once.
    Applies,
    /// It waits until others agree.
    NeedsApproval,
    /// It needs a note that says why.
    NeedsNote {
        /// Where, as a sentence.
        why: String,
    },
    /// They may not ask for it.
    Forbidden {
        /// What is missing.
        why: String,
    },
}

/// What a changeset does to one thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChangeEffect {
    /// What kind of thing: `flag`, `config`, `segment`, `policy`, `member` …
    pub entity: String,
    /// Its key, or its name where it has none.
    pub key: String,
    /// Where; absent for what is the same everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<EnvironmentKey>,
    /// What changes, one line each; `+` added, `−` removed, `~` changed.
    pub sentences: Vec<String>,
    /// Who gets another variant, by split; only what is known without knowing users.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub movement: Vec<SplitMovement>,
    /// What is allowed and probably a mistake, in what it is then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// What else depends on it; at most 100 of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependents: Vec<Dependent>,
}

/// Who moves when what a rule or the default serves is divided otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SplitMovement {
    /// `default`, or the rule by number and name as `rule 2 Beta`.
    pub place: String,
    /// Name of the attribute by which users are counted.
    pub bucket_by: String,
    /// How many buckets there are.
    pub total: u32,
    /// True when everyone is divided anew: another attribute, algorithm, seed or number of buckets. Nobody can say who moves.
    pub is_anew: bool,
    /// Buckets that go from one variant to another, most first; empty when everyone is divided anew.
    pub moves: Vec<Moved>,
}

/// Buckets that go from one variant to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Moved {
    /// Whose they were; absent for users that went on to what follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<VariantKey>,
    /// Whose they are then; absent for users that go on to what follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<VariantKey>,
    /// How many.
    pub buckets: u32,
}

/// Something that depends on what is changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Dependent {
    /// `flag` or `segment`.
    pub entity: String,
    /// Its key.
    pub key: String,
    /// Where it depends on it; absent for a segment, which is the same everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<EnvironmentKey>,
}
