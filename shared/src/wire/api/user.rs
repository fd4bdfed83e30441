//! People of the installation, and how they are let in.

use serde::{Deserialize, Serialize};

use crate::model::id::{ChangesetId, InviteId, UserId};
use crate::model::key::{ProjectKey, RoleKey};
use crate::model::timestamp::Timestamp;
use crate::wire::api::account::OneTimeLink;
use crate::wire::api::session::UserSummary;

/// A person, as admins of the installation see them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UserDetail {
    /// The person's id.
    pub id: UserId,
    /// The person's name.
    pub name: String,
    /// The person's e-mail.
    pub email: String,
    /// May do everything everywhere but agree to changes.
    pub is_admin: bool,
    /// True for somebody who is out.
    pub disabled: bool,
    /// When they were let in.
    pub created_at: Timestamp,
    /// When they last did anything, to the minute; absent when that was never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen_at: Option<Timestamp>,
    /// Sessions that have not ended.
    pub sessions: u64,
    /// API tokens that are valid.
    pub tokens: u64,
    /// What they belong to.
    pub projects: Vec<ProjectRole>,
}

/// A role in a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProjectRole {
    /// The project.
    pub project: ProjectKey,
    /// The role in the project as a whole.
    pub role: RoleKey,
}

/// A page of people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UserPage {
    /// By e-mail; at most 100.
    pub items: Vec<UserDetail>,
    /// Where the next page begins; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Changes what somebody may be; absent fields stay. The last write counts: each field says what is to be, not what
/// changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UpdateUser {
    /// Out at once when true: sessions end, tokens are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    /// May do everything everywhere when true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_admin: Option<bool>,
}

/// Asks somebody to come in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateInvite {
    /// What they will sign in with, in any case.
    pub email: String,
    /// At most 100 characters; they may choose another one.
    #[serde(default)]
    pub name: String,
    /// Whether they may do everything everywhere.
    #[serde(default)]
    pub is_admin: bool,
    /// What they become a member of, at most 50 projects. Where that needs approval, it waits for it.
    #[serde(default)]
    pub projects: Vec<ProjectRole>,
}

/// Where an invite stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum InviteState {
    /// It can be accepted.
    Open,
    /// Somebody came in by it.
    Accepted,
    /// An admin took it back, or who made it is no admin any more.
    Revoked,
    /// Its time is over.
    Expired,
}

/// An invite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct InviteDetail {
    /// Its id.
    pub id: InviteId,
    /// What they will sign in with.
    pub email: String,
    /// What they are called by who invites them; may be empty.
    pub name: String,
    /// Whether they may do everything everywhere.
    pub is_admin: bool,
    /// What they become a member of, and what became of that.
    pub projects: Vec<InvitedProject>,
    /// Where it stands.
    pub state: InviteState,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it.
    pub created_by: String,
    /// Refused from then on.
    pub expires_at: Timestamp,
}

/// A project that an invite is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct InvitedProject {
    /// The project.
    pub project: ProjectKey,
    /// Its name.
    pub name: String,
    /// The role.
    pub role: RoleKey,
    /// Absent until the invite is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<InviteOutcome>,
    /// The changeset that made, or will make, them a member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changeset: Option<ChangesetId>,
    /// Why they are no member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What became of a membership that an invite is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum InviteOutcome {
    /// They are a member.
    Applied,
    /// It waits for people to agree.
    Waiting,
    /// It cannot be; see the problem.
    Refused,
}

/// A new invite with its link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreatedInvite {
    /// The invite.
    pub invite: InviteDetail,
    /// What to send to the person.
    pub link: OneTimeLink,
}

/// Invites; at most 500.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct InviteList {
    /// Newest first.
    pub items: Vec<InviteDetail>,
}

/// An invite as the person sees it who was invited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Invitation {
    /// What they will sign in with.
    pub email: String,
    /// What they are called by who invites them; may be empty.
    pub name: String,
    /// Who invites them.
    pub invited_by: String,
    /// Names of the projects they become a member of.
    pub projects: Vec<String>,
    /// Refused from then on.
    pub expires_at: Timestamp,
}

/// Somebody who came in by an invite, and is signed in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AcceptedInvite {
    /// Who.
    pub user: UserSummary,
    /// May do everything everywhere.
    pub is_admin: bool,
    /// What they became a member of, or will when others agree.
    pub projects: Vec<InvitedProject>,
}

/// Accepts an invite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AcceptInvite {
    /// What stands behind `#`.
    pub token: String,
    /// For people; 1 to 100 characters.
    pub name: String,
    /// 12 to 200 characters.
    pub password: String,
}
