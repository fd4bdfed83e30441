//! Members of a project, and who could become one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::changeset::Note;
use crate::model::key::{EnvironmentKey, RoleKey};
use crate::model::timestamp::Timestamp;
use crate::wire::api::session::UserSummary;

/// Makes somebody a member, or gives them other roles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SaveMember {
    /// Their role in the project.
    pub role: RoleKey,
    /// Other roles, by environment; replaces all of them.
    #[serde(default)]
    pub environments: BTreeMap<EnvironmentKey, RoleKey>,
    /// Why; may be empty where no policy asks for it.
    #[serde(default)]
    pub note: Note,
}

/// A member of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MemberDetail {
    /// Who.
    pub person: UserSummary,
    /// Their role in the project.
    pub role: RoleKey,
    /// Other roles, by environment.
    pub environments: BTreeMap<EnvironmentKey, RoleKey>,
    /// For `If-Match`; counts up with every change of the membership.
    pub version: u64,
    /// When they last did anything, to the minute; absent when that was never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen_at: Option<Timestamp>,
    /// True for somebody who is out: they cannot sign in, and their roles count for nothing.
    pub disabled: bool,
}

/// The members of a project; at most 1,000.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MemberList {
    /// By name.
    pub items: Vec<MemberDetail>,
    /// Whether the person asking may change them.
    pub can_manage: bool,
}

/// People who could become members; at most 20.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CandidateList {
    /// By name.
    pub items: Vec<UserSummary>,
    /// True when there are more; search for more of the name.
    pub has_more: bool,
}
