//! What happened, by whom, and how things were.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::changeset::{Note, Via};
use crate::model::flag::FlagConfig;
use crate::model::id::{ChangesetId, UserId};
use crate::model::key::EnvironmentKey;
use crate::model::timestamp::Timestamp;
use crate::wire::api::changeset::ChangesetDetail;
use crate::wire::api::flag::{FlagDetail, KillDetail};
use crate::wire::api::segment::SegmentDetail;

/// A page of what happened in a project, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HistoryPage {
    /// One per revision.
    pub items: Vec<HistoryItem>,
    /// Where the next page begins; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A revision: who changed what, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HistoryItem {
    /// Its place in the order of all changes.
    pub revision: u64,
    /// When it was applied.
    pub at: Timestamp,
    /// Who asked for it; absent when the product itself acted, or somebody at the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// The same person's id, for the filter `actor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who_id: Option<UserId>,
    /// Through what.
    pub via: Via,
    /// Why; may be empty.
    pub note: String,
    /// Why the policy was passed over, when it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub break_glass: Option<String>,
    /// The changeset that people looked at before; absent when nobody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changeset: Option<ChangesetId>,
    /// What it touched, in its order, at most 20; with a filter for a flag or segment only those.
    pub entries: Vec<HistoryEntry>,
    /// How much it touched in all.
    pub entries_total: u64,
}

/// One thing that a revision touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HistoryEntry {
    /// `flag`, `config`, `kill`, `segment`, `sdk_key`, `policy`, `member`, `environment`, `freeze`, `restored` …
    pub entity: String,
    /// Its key or name at that time.
    pub key: String,
    /// Where; absent for what is the same everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<EnvironmentKey>,
    /// What changed, in words; `+` added, `−` removed, `~` changed. At most 10 lines in lists.
    pub sentences: Vec<String>,
}

/// A revision with documents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RevisionDetail {
    /// The revision, without entries.
    #[serde(flatten)]
    pub item: HistoryItem,
    /// What it touched, before and after, at most 50.
    pub documents: Vec<EntryDocuments>,
    /// Where the rest of `documents` begins; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// One thing that a revision touched, before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EntryDocuments {
    /// What.
    #[serde(flatten)]
    pub entry: HistoryEntry,
    /// Before; absent when it was new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// After; absent when it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// A flag as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FlagThen {
    /// The last revision that is seen.
    pub revision: u64,
    /// When that was applied.
    pub at: Timestamp,
    /// The flag with everything about it, as it was. Only a config's `version` of today can be saved on.
    pub flag: FlagDetail,
}

/// A segment as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SegmentThen {
    /// The last revision that is seen.
    pub revision: u64,
    /// When that was applied.
    pub at: Timestamp,
    /// The segment as it was, without who used it.
    pub segment: SegmentDetail,
}

/// What lies between two revisions of a flag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FlagDiff {
    /// The one.
    pub from: u64,
    /// The other; may be the older one.
    pub to: u64,
    /// What is the same in every environment, in words.
    pub sentences: Vec<String>,
    /// Name, description, tags and definition at `from`; absent when it did not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The same at `to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    /// Environments that differ, in promotion order.
    pub environments: Vec<EnvironmentDiff>,
}

/// What lies between two revisions of a flag in one environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EnvironmentDiff {
    /// Where.
    pub environment: EnvironmentKey,
    /// In words, kills included.
    pub sentences: Vec<String>,
    /// The config at `from`; absent when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<FlagConfig>,
    /// The config at `to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<FlagConfig>,
    /// Set where it was killed at `from`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kill_before: Option<KillDetail>,
    /// Set where it was killed at `to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kill_after: Option<KillDetail>,
}

/// Undoes a revision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RevertRevision {
    /// Why; may be empty.
    #[serde(default)]
    pub note: Note,
    /// Also where something changed since; what changed is lost then.
    #[serde(default)]
    pub force: bool,
}

/// Brings a flag back to how it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RevertFlag {
    /// As of which revision.
    pub revision: u64,
    /// Where; everywhere when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environments: Option<Vec<EnvironmentKey>>,
    /// Also what is the same everywhere: name, description, tags, kind, variants.
    #[serde(default)]
    pub definition: bool,
    /// Why; may be empty.
    #[serde(default)]
    pub note: Note,
}

/// What became of a revert.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Reverted {
    /// The changeset that undoes it, applied or waiting like any other.
    pub changeset: ChangesetDetail,
    /// What it does not undo, and why.
    pub left_out: Vec<LeftOut>,
}

/// Something that a revert does not undo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LeftOut {
    /// What kind of thing, as in history.
    pub entity: String,
    /// Its key or name.
    pub key: String,
    /// Where; absent for what is the same everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<EnvironmentKey>,
    /// Why, as a sentence.
    pub reason: String,
}

/// A page of what people and programs did, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditPage {
    /// Changesets and events together.
    pub items: Vec<AuditItem>,
    /// Where the next page begins; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Something that somebody did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditItem {
    /// When.
    pub at: Timestamp,
    /// `changeset.applied`, `session.started`, `token.created` …
    pub kind: String,
    /// Who; absent when the product itself acted, or nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// The same person's id, for the filter `actor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who_id: Option<UserId>,
    /// Through what.
    pub via: Via,
    /// The project's key; absent for what concerns the installation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// To what, by its name for people.
    pub subject: String,
    /// Of a changeset: its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
    /// Of a changeset: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Of a changeset: why the policy was passed over, when it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub break_glass: Option<String>,
    /// Of an event: what else there is to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Value>,
}
