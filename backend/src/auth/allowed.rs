//! What somebody may do in a project, by their roles and, where a program asks, by its token.

use std::collections::HashMap;

use shared::model::id::{EnvironmentId, ProjectId, TokenId};
use shared::model::permission::{Permission, PermissionSet};

use crate::store::member::Granted;

/// What somebody may do in a project.
#[derive(Clone, Debug, Default)]
pub struct Permissions {
    /// Where no environment says otherwise.
    everywhere: PermissionSet,
    /// Of environments with a role of their own.
    environments: HashMap<EnvironmentId, PermissionSet>,
}

/// What a token lets a program do at most; its owner's permissions bound it too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The token.
    pub token: TokenId,
    /// Beside reading.
    pub permissions: PermissionSet,
    /// The only project it reaches; absent for all of its owner's.
    pub project: Option<ProjectId>,
    /// The only environments in which it may do more than read; absent for all.
    pub environments: Option<Vec<EnvironmentId>>,
}

impl Permissions {
    /// What a person's roles in one project allow; `None` without any. An installation's admin may do everything but
    /// agree to changes and pass over policies: for that, somebody has to make them a member.
    pub fn of(granted: &[Granted], is_installation_admin: bool) -> Option<Self> {
        let always: PermissionSet =
            Permission::ALL.into_iter().filter(|p| is_installation_admin && !p.governs()).collect();
        if granted.is_empty() && !is_installation_admin {
            return None;
        }
        let mut permissions = Self { everywhere: always.clone(), environments: HashMap::new() };
        for role in granted {
            let allowed = always.union(&role.permissions);
            match role.environment_id {
                None => permissions.everywhere = allowed,
                Some(environment) => {
                    permissions.environments.insert(environment, allowed);
                }
            }
        }
        Some(permissions)
    }

    /// What is left of them for a program with a token. Programs never agree to changes, and never pass over policies.
    pub fn within(&self, scope: &Scope) -> Self {
        let allowed: PermissionSet = scope.permissions.iter().filter(|permission| !permission.governs()).collect();
        let narrow = |set: &PermissionSet| set.intersection(&allowed);
        match &scope.environments {
            None => Self {
                everywhere: narrow(&self.everywhere),
                environments: self.environments.iter().map(|(id, set)| (*id, narrow(set))).collect(),
            },
            // What concerns the project as a whole concerns the environments that are out of reach.
            Some(ids) => Self {
                everywhere: PermissionSet::default(),
                environments: ids.iter().map(|id| (*id, narrow(self.at(*id)))).collect(),
            },
        }
    }

    /// Whether they may in the project as a whole.
    pub fn in_project(&self, permission: Permission) -> bool {
        self.everywhere.has(permission)
    }

    /// Whether they may in this environment.
    pub fn in_environment(&self, environment: EnvironmentId, permission: Permission) -> bool {
        self.at(environment).has(permission)
    }

    /// Whether they may in some environment, or in the project as a whole.
    pub fn anywhere(&self, permission: Permission) -> bool {
        self.in_project(permission) || self.environments.values().any(|set| set.has(permission))
    }

    fn at(&self, environment: EnvironmentId) -> &PermissionSet {
        self.environments.get(&environment).unwrap_or(&self.everywhere)
    }
}

#[cfg(test)]
mod tests {
    use shared::model::permission::BuiltInRole;
    use uuid::Uuid;

    use super::*;

    fn granted(role: BuiltInRole, environment: Option<EnvironmentId>) -> Granted {
        Granted {
            project_id: Uuid::from_u128(1).into(),
            user_id: Uuid::from_u128(2).into(),
            user_name: "Ben".into(),
            environment_id: environment,
            role: role.as_str().into(),
            permissions: role.permissions(),
        }
    }

    fn scope(permissions: PermissionSet, environments: Option<Vec<EnvironmentId>>) -> Scope {
        let project = Some(Uuid::from_u128(1).into());
        Scope { token: Uuid::from_u128(3).into(), permissions, project, environments }
    }

    #[test]
    fn a_token_takes_away_and_never_adds() {
        let (staging, production) = (EnvironmentId::from(Uuid::from_u128(10)), Uuid::from_u128(11).into());
        let roles = [granted(BuiltInRole::Admin, None), granted(BuiltInRole::Viewer, Some(production))];
        let own = Permissions::of(&roles, false).expect("a member");
        let all = own.within(&scope(PermissionSet::all(), None));
        assert!(all.in_environment(staging, Permission::Edit) && all.in_project(Permission::ManageMembers));
        assert!(!all.in_environment(production, Permission::Edit), "the owner may not");
        assert!(!all.anywhere(Permission::Approve) && !all.anywhere(Permission::BreakGlass));
        let nothing = own.within(&scope(PermissionSet::default(), None));
        assert!(Permission::ALL.into_iter().all(|permission| !nothing.anywhere(permission)));
    }

    #[test]
    fn a_token_for_an_environment_does_nothing_elsewhere_and_nothing_to_the_project() {
        let (staging, production) = (EnvironmentId::from(Uuid::from_u128(10)), Uuid::from_u128(11).into());
        let own = Permissions::of(&[granted(BuiltInRole::Admin, None)], true).expect("a member");
        let narrow = own.within(&scope(PermissionSet::all(), Some(vec![staging])));
        assert!(narrow.in_environment(staging, Permission::Edit));
        assert!(!narrow.in_environment(production, Permission::Edit));
        assert!(!narrow.in_project(Permission::ManageMembers));
        let none = own.within(&scope(PermissionSet::all(), Some(Vec::new())));
        assert!(!none.anywhere(Permission::Edit), "an empty list is no list of all");
    }
}
