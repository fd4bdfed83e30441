//! Imports: what a file would change, and what became of it.

use serde::{Deserialize, Serialize};

use crate::model::changeset::Note;
use crate::model::key::EnvironmentKey;
use crate::wire::api::changeset::ChangesetDetail;
use crate::wire::project_file::ProjectFile;

/// The most things that a plan names; the others are counted.
pub const ITEMS_MAX: usize = 1_000;
/// The most sentences about one thing.
pub const SENTENCES_MAX: usize = 50;

/// Applies a file as it was planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ImportProject {
    /// The file.
    pub file: ProjectFile,
    /// `digest` of the plan that somebody looked at; when the project changed since, nothing is done.
    pub digest: String,
    /// Why; "Import" when empty.
    #[serde(default)]
    pub note: Note,
    /// Whether what the file does not hold goes, as planned: flags are archived, the rest is deleted.
    #[serde(default)]
    pub remove: bool,
}

/// What a file would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ImportPlan {
    /// Of all that would be done, on what the project is now.
    pub digest: String,
    /// What would be different afterwards; at most 1,000.
    pub items: Vec<ImportItem>,
    /// Whether there are more.
    pub is_cut: bool,
    /// Things that would be made.
    pub created: u64,
    /// Things that would be changed.
    pub changed: u64,
    /// Things that would be removed.
    pub removed: u64,
    /// Things that are in the file as they are here.
    pub unchanged: u64,
    /// Changesets it would take: of at most 1,000 changes and 8 MiB each.
    pub slices: u64,
    /// Protected environments whose part would wait for others to agree; in promotion order.
    pub waits: Vec<EnvironmentKey>,
    /// What differs and stays as it is, in sentences.
    pub notes: Vec<String>,
}

/// One thing that would be different.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ImportItem {
    /// What would happen to it.
    pub action: ImportAction,
    /// What kind of thing it is.
    pub noun: ImportNoun,
    /// Its key or name.
    pub key: String,
    /// What would be different, a sentence each; at most 50.
    pub changes: Vec<String>,
}

/// What an import does to a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ImportAction {
    /// It is made.
    Create,
    /// It is changed.
    Change,
    /// It is removed.
    Remove,
}

impl ImportAction {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Change => "change",
            Self::Remove => "remove",
        }
    }
}

/// A kind of thing that a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ImportNoun {
    /// An environment.
    Environment,
    /// A segment.
    Segment,
    /// A flag with its configs.
    Flag,
    /// A registered attribute.
    Attribute,
    /// A metric.
    Metric,
}

impl ImportNoun {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Environment => "environment",
            Self::Segment => "segment",
            Self::Flag => "flag",
            Self::Attribute => "attribute",
            Self::Metric => "metric",
        }
    }
}

/// What became of an import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Imported {
    /// Its changesets, in order: applied ones first, then those that wait for people to agree.
    pub changesets: Vec<ChangesetDetail>,
    /// Changes that are still to be done; plan and import the same file again when `problem` is solved.
    pub remaining: u64,
    /// Why the rest was not done; absent when all was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// All of it in one sentence.
    pub sentence: String,
}
