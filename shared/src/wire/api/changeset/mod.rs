//! Changesets: what every write answers, what people ask for, and how one that waits is shown.

mod effect;
mod list;
mod review;

pub use effect::{ChangeEffect, Dependent, DryRun, DryRunOutcome, Moved, SplitMovement};
pub use list::{ChangesetCounts, ChangesetPage, ChangesetSummary, EnvironmentApprovals};
pub use review::{
    ApprovalDetail, ApproverDetail, ApproverState, ChangesetReview, CommentDetail, EnvironmentReview, Permit, Permits,
    PersonName,
};
use serde::{Deserialize, Serialize};

use crate::model::change::Change;
use crate::model::changeset::{ChangesetState, Note};
use crate::model::id::ChangesetId;
use crate::model::key::EnvironmentKey;
use crate::model::plan::Plan;
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

/// Changes that somebody asks for, all or nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateChangeset {
    /// 1 to 1,000 changes, in the order in which they are made; none where there is a plan.
    #[serde(default)]
    pub changes: Vec<Change>,
    /// What happens step by step instead. Absent when all of it happens at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// Why; may be empty where no policy needs it.
    #[serde(default)]
    pub note: Note,
    /// True to keep it for later, so that nobody is asked yet.
    #[serde(default)]
    pub draft: bool,
    /// Why it is applied at once whatever the policies say; 1 to 2,000 characters. Needs the permission `break_glass` in every
    /// protected environment that it changes. Absent to do as the policies say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub break_glass: Option<String>,
}

/// Another content of a changeset that waits. All its approvals are void.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UpdateChangeset {
    /// 1 to 1,000 changes; they replace all there were.
    pub changes: Vec<Change>,
    /// Why; replaces what was said.
    #[serde(default)]
    pub note: Note,
}

/// Somebody agrees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApproveChangeset {
    /// `digest` of the changeset as they read it, 64 hex digits; when it is another by now, they agreed to nothing.
    pub digest: String,
    /// What they have to say; may be empty.
    #[serde(default)]
    pub note: Note,
}

/// A reason, for what needs one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WithReason {
    /// Why; 1 to 2,000 characters.
    pub reason: String,
}

/// Something to say about a changeset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateComment {
    /// 1 to 2,000 characters.
    pub text: String,
}
