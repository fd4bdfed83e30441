//! One changeset that people look at, with all that its page shows.

use serde::{Deserialize, Serialize};

use crate::model::change::Change;
use crate::model::changeset::{ChangesetState, Via};
use crate::model::id::{ChangesetId, UserId};
use crate::model::key::EnvironmentKey;
use crate::model::timestamp::Timestamp;
use crate::wire::api::changeset::ChangeEffect;
use crate::wire::api::plan::PlanDetail;

/// A changeset that people look at before it is applied, or that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChangesetReview {
    /// Its id.
    pub id: ChangesetId,
    /// Where it stands.
    pub state: ChangesetState,
    /// Counts up with every edit and every step of its life; `If-Match` of an edit carries it.
    pub version: u64,
    /// SHA-256 of all that an approval signs, in hex.
    pub digest: String,
    /// Who began it.
    pub author: PersonName,
    /// Everybody who wrote a part of it; none of them can approve it.
    pub editors: Vec<PersonName>,
    /// Through what it was asked for, or applied.
    pub via: Via,
    /// When it was begun.
    pub created_at: Timestamp,
    /// Why.
    pub note: String,
    /// What it does, as it was sent.
    pub changes: Vec<Change>,
    /// What happens step by step instead, and how far that has come. Absent when all of it happens at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanDetail>,
    /// What it changes, as `checkout in production`; one per change.
    pub subjects: Vec<String>,
    /// What it does to each thing: if it were applied now, or what it did. Empty when it does not fit any more.
    pub effects: Vec<ChangeEffect>,
    /// Whether it could be applied now but for approvals; absent once it is ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fits: Option<bool>,
    /// Why it does not fit, is suspended or was rejected, and what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Environments whose answers or rules it changes, in promotion order.
    pub environments: Vec<EnvironmentKey>,
    /// What the policies of these want now, in the same order.
    pub policies: Vec<EnvironmentReview>,
    /// Approvals of this content, the oldest first; whether one counts is in `policies`.
    pub approvals: Vec<ApprovalDetail>,
    /// What people said, the oldest first.
    pub comments: Vec<CommentDetail>,
    /// What the reader may do.
    pub can: Permits,
    /// Its number, once it is applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
    /// When it was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_at: Option<Timestamp>,
    /// When it was rejected or taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Timestamp>,
    /// By whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_by: Option<String>,
    /// Why the policy was passed over, when it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub break_glass: Option<String>,
    /// By whom, where that was not the author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub break_glass_by: Option<String>,
}

/// Somebody by id and name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PersonName {
    /// Their id.
    pub id: UserId,
    /// Their name.
    pub name: String,
}

/// An environment that a changeset changes, and what its policy wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EnvironmentReview {
    /// Which.
    pub environment: EnvironmentKey,
    /// Whether changes need approval there.
    pub is_protected: bool,
    /// How many people must agree; 0 where it is not protected.
    pub needed: u32,
    /// How many did whose approval counts now.
    pub given: u32,
    /// Whether a note must say why.
    pub note_required: bool,
    /// Who may approve there, by name.
    pub approvers: Vec<ApproverDetail>,
}

/// Somebody who may approve in an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApproverDetail {
    /// Their id.
    pub id: UserId,
    /// Their name.
    pub name: String,
    /// How they stand to this changeset.
    pub state: ApproverState,
}

/// How an approver stands to a changeset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ApproverState {
    /// They may approve it.
    MayApprove,
    /// They did.
    Approved,
    /// They wrote a part of it, and so cannot.
    WroteIt,
}

/// Somebody's approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApprovalDetail {
    /// Who.
    pub by: PersonName,
    /// When.
    pub at: Timestamp,
    /// What they said; may be empty.
    pub note: String,
}

/// What somebody said about a changeset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CommentDetail {
    /// Who.
    pub by: PersonName,
    /// When.
    pub at: Timestamp,
    /// What.
    pub text: String,
}

/// What the reader may do with a changeset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Permits {
    /// Agree to it.
    pub approve: Permit,
    /// Refuse it for good.
    pub reject: Permit,
    /// Give it another content.
    pub edit: Permit,
    /// Ask for it, while it is a draft.
    pub submit: Permit,
    /// Try again to apply it.
    pub apply: Permit,
    /// Take it back.
    pub cancel: Permit,
    /// Apply it whatever the policies say.
    pub break_glass: Permit,
}

/// Whether the reader may do something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Permit {
    /// Whether they may.
    pub may: bool,
    /// Why not, as a sentence; absent when they may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
