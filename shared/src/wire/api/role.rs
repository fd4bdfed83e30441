//! Roles: those that come with the product, and those that people made.

use serde::{Deserialize, Serialize};

use crate::model::key::{EnvironmentKey, ProjectKey, RoleKey};
use crate::model::permission::{Permission, PermissionSet};
use crate::model::timestamp::Timestamp;
use crate::wire::api::session::UserSummary;

/// Makes a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateRole {
    /// Names it; cannot change.
    pub key: RoleKey,
    /// For people; 1 to 100 characters.
    pub name: String,
    /// What it allows beside seeing the project; may be empty.
    pub permissions: PermissionSet,
}

/// Changes a role; absent fields stay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UpdateRole {
    /// For people; 1 to 100 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Replaces all it allows. `approve` and `break_glass` cannot be added while somebody has the role in a protected
    /// environment: that would pass over its policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<PermissionSet>,
}

/// A role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RoleSummary {
    /// Names it.
    pub key: RoleKey,
    /// For people.
    pub name: String,
    /// What it allows beside seeing the project.
    pub permissions: PermissionSet,
    /// True for those that come with the product, which nobody can change.
    pub built_in: bool,
    /// For `If-Match`; 0 for built-in ones.
    pub version: u64,
    /// How many people have it, somewhere.
    pub people: u64,
    /// When it was last changed; absent for built-in ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_at: Option<Timestamp>,
    /// Who changed it; absent for built-in ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_by: Option<String>,
}

/// What a permission means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PermissionMeaning {
    /// The permission.
    pub permission: Permission,
    /// The end of a sentence that begins with "may".
    pub meaning: String,
}

/// All roles; at most 100 beside the built-in ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RoleList {
    /// The built-in ones first, from the least to the most; then by name.
    pub items: Vec<RoleSummary>,
    /// All permissions there are, in words.
    pub permissions: Vec<PermissionMeaning>,
}

/// Somebody who has a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RoleHolder {
    /// Who.
    pub person: UserSummary,
    /// In which project.
    pub project: ProjectKey,
    /// In which environment alone; absent for the whole project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<EnvironmentKey>,
}

/// A role with who has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RoleDetail {
    /// The role.
    pub role: RoleSummary,
    /// What it allows, in words.
    pub meanings: Vec<PermissionMeaning>,
    /// Who has it, by name; at most 200.
    pub holders: Vec<RoleHolder>,
}
