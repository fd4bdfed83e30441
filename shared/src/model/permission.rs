//! What people may do, and the roles that grant it.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::model::key::RoleKey;

/// Something that a role allows. Seeing a project needs none of them: every member may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Permission {
    /// Change flags and segments where they answer in an environment, or ask for it where that needs approval.
    Edit,
    /// Turn a flag off at once in an environment, and lift that.
    Kill,
    /// Agree to changes of a protected environment.
    Approve,
    /// Change a protected environment without approval, with a reason.
    BreakGlass,
    /// Make, rotate and revoke SDK keys of an environment.
    ManageKeys,
    /// Make environments, protect them and freeze them.
    ManageEnvironments,
    /// Say who is a member, and with which role.
    ManageMembers,
    /// Say who is told of what happens.
    ManageWebhooks,
}

/// Why a text is not a permission.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{0}' is not a permission")]
pub struct PermissionError(String);

impl Permission {
    /// All of them, from the most to the least common.
    pub const ALL: [Self; 8] = [
        Self::Edit,
        Self::Kill,
        Self::Approve,
        Self::BreakGlass,
        Self::ManageKeys,
        Self::ManageEnvironments,
        Self::ManageMembers,
        Self::ManageWebhooks,
    ];

    /// The permission as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Edit => "edit",
            Self::Kill => "kill",
            Self::Approve => "approve",
            Self::BreakGlass => "break_glass",
            Self::ManageKeys => "manage_keys",
            Self::ManageEnvironments => "manage_environments",
            Self::ManageMembers => "manage_members",
            Self::ManageWebhooks => "manage_webhooks",
        }
    }

    /// True for what decides whether a policy is met: agreeing to changes, and passing over what others have to agree to.
    /// No token has it, and no installation admin as such.
    pub fn governs(self) -> bool {
        matches!(self, Self::Approve | Self::BreakGlass)
    }

    /// What it lets somebody do, as the end of a sentence that begins with "may".
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Edit => "change flags and segments, or ask for it where others have to agree",
            Self::Kill => "turn a flag off at once, and lift that",
            Self::Approve => "agree to what others want to change in a protected environment",
            Self::BreakGlass => "change a protected environment without approval, with a reason",
            Self::ManageKeys => "make, rotate and revoke SDK keys",
            Self::ManageEnvironments => "make environments, protect them and freeze them",
            Self::ManageMembers => "say who is a member, and with which role",
            Self::ManageWebhooks => "say who is told of what happens",
        }
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Permission {
    type Err = PermissionError;

    fn from_str(text: &str) -> Result<Self, PermissionError> {
        let found = Self::ALL.into_iter().find(|permission| permission.as_str() == text);
        found.ok_or_else(|| PermissionError(text.chars().take(60).collect()))
    }
}

/// Several permissions, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = Vec<Permission>))]
pub struct PermissionSet(BTreeSet<Permission>);

impl PermissionSet {
    /// All there are.
    pub fn all() -> Self {
        Permission::ALL.into_iter().collect()
    }

    /// True when this one is among them.
    pub fn has(&self, permission: Permission) -> bool {
        self.0.contains(&permission)
    }

    /// Those in this set, in the other, or both.
    pub fn union(&self, other: &Self) -> Self {
        self.0.union(&other.0).copied().collect()
    }

    /// Those in this set alone.
    pub fn difference(&self, other: &Self) -> Self {
        self.0.difference(&other.0).copied().collect()
    }

    /// Those in both.
    pub fn intersection(&self, other: &Self) -> Self {
        self.0.intersection(&other.0).copied().collect()
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = Permission> + '_ {
        self.0.iter().copied()
    }
}

impl FromIterator<Permission> for PermissionSet {
    fn from_iter<I: IntoIterator<Item = Permission>>(permissions: I) -> Self {
        Self(permissions.into_iter().collect())
    }
}

/// What comes with the product; other roles are made by people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltInRole {
    /// Sees everything of the project.
    Viewer,
    /// Changes flags and segments, and kills flags.
    Editor,
    /// The same, and agrees to changes of others.
    Approver,
    /// Everything in the project.
    Admin,
}

impl BuiltInRole {
    /// All of them, from the least to the most.
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Editor, Self::Approver, Self::Admin];

    /// The role with this key, when it is one of these.
    pub fn find(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == key)
    }

    /// The role's key.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Editor => "editor",
            Self::Approver => "approver",
            Self::Admin => "admin",
        }
    }

    /// The role's name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Viewer => "Viewer",
            Self::Editor => "Editor",
            Self::Approver => "Approver",
            Self::Admin => "Admin",
        }
    }

    /// The role's key, as members carry it.
    pub fn key(self) -> RoleKey {
        self.as_str().parse().unwrap_or_else(|_| unreachable!("the words above are keys"))
    }

    /// What it allows.
    pub fn permissions(self) -> PermissionSet {
        use Permission::{Approve, Edit, Kill};
        match self {
            Self::Viewer => PermissionSet::default(),
            Self::Editor => [Edit, Kill].into_iter().collect(),
            Self::Approver => [Edit, Kill, Approve].into_iter().collect(),
            Self::Admin => PermissionSet::all(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_permission_survives_a_round_trip_and_reads_as_in_json() {
        for permission in Permission::ALL {
            assert_eq!(permission.to_string().parse(), Ok(permission));
            let json = serde_json::to_string(&permission).expect("JSON");
            assert_eq!(json, format!("\"{permission}\""));
        }
        assert!("see".parse::<Permission>().is_err());
    }

    #[test]
    fn each_built_in_role_allows_all_that_the_one_before_does() {
        for pair in BuiltInRole::ALL.windows(2) {
            let (less, more) = (pair[0].permissions(), pair[1].permissions());
            assert_eq!(less.union(&more), more);
            assert_ne!(less, more);
            assert_eq!(BuiltInRole::find(pair[1].key().as_str()), Some(pair[1]));
        }
    }
}
