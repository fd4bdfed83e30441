//! Writing who is a member, and with which roles.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use shared::model::id::{EnvironmentId, UserId};
use shared::model::key::{EnvironmentKey, RoleKey};
use shared::model::permission::{Permission, PermissionSet};
use sqlx::PgConnection;

use crate::app::changeset::check_version;
use crate::app::changeset::draft::Draft;
use crate::app::changeset::protection::Protection;
use crate::auth::permission::Permissions;
use crate::error::AppError;
use crate::store;
use crate::store::member::Granted;

/// What only those who already govern a protected environment may hand out there.
const GOVERNING: [Permission; 2] = [Permission::Approve, Permission::BreakGlass];

impl Draft {
    pub(super) async fn set_member(
        &mut self,
        db: &mut PgConnection,
        person: UserId,
        expected: u64,
        role: Option<RoleKey>,
        environments: BTreeMap<EnvironmentKey, RoleKey>,
    ) -> Result<(), AppError> {
        let name = match role {
            Some(_) => store::user::find(db, person).await?.map(|user| user.name),
            // Who is out can still be taken out of a project.
            None => store::user::name(db, person).await?,
        };
        let name = name.ok_or_else(|| AppError::not_found("person", person))?;
        check_version("membership", expected, store::member::version(db, self.project, person).await?)?;
        if role.is_none() && !environments.is_empty() {
            let message = "somebody who is no member has no roles in environments; give them a role in the project too";
            return Err(AppError::field("role", message));
        }
        let held = store::member::role(db, self.project, person).await?;
        if held.is_none() && role.is_none() {
            return Err(AppError::not_found("member", person));
        }
        let before = store::member::list_granted(db, Some(self.project), Some(person)).await?;
        if before.is_empty() && store::member::count(db, self.project).await? >= store::member::LIST_MAX {
            let message = format!("a project has at most {} members", store::member::LIST_MAX);
            return Err(AppError::field("person", message));
        }
        let mut roles = BTreeMap::new();
        for (key, role) in environments {
            check_role(db, &format!("environments.{key}"), &role).await?;
            roles.insert(self.environment(key.as_str())?.id, role);
        }
        if let Some(role) = &role {
            check_role(db, "role", role).await?;
        }
        store::member::save(db, self.project, person, role.as_ref(), &roles, expected).await?;
        let after = store::member::list_granted(db, Some(self.project), Some(person)).await?;
        self.govern(db, &before, &after).await?;
        self.require(Permission::ManageMembers, None);
        if manages(&before) && !manages(&after) {
            self.former_managers.push(name.clone());
        }
        let (before, after) = (self.described(&before), self.described(&after));
        // Of somebody who is out nothing is granted, yet there was a membership.
        let before = before.or_else(|| held.map(|role| json!({ "role": role })));
        self.record(None, ("member", person.uuid(), &name), before.as_ref(), after.as_ref())
    }

    /// Fails when somebody stopped managing members and nobody is left who does. An admin of the installation could still
    /// let people in, but nobody in the project could, and it usually happens by mistake. Others may have been written
    /// after them, so this comes last.
    pub(super) async fn check_managers(&self, db: &mut PgConnection) -> Result<(), AppError> {
        let Some(name) = self.former_managers.first() else { return Ok(()) };
        let granted = store::member::list_granted(db, Some(self.project), None).await?;
        if manages(&granted) {
            return Ok(());
        }
        let message =
            format!("{name} is the last who manages members of this project; give somebody else such a role first");
        Err(AppError::conflict("last_manager", message))
    }

    /// Where the person may approve, or pass over the policy, from now on and could not before.
    async fn govern(&mut self, db: &mut PgConnection, was: &[Granted], is: &[Granted]) -> Result<(), AppError> {
        let protection = Protection::find(db, self.project).await?;
        let before = Permissions::of(was, false).unwrap_or_default();
        let after = Permissions::of(is, false).unwrap_or_default();
        // A policy may name roles: another role can make an approval count that did not before.
        let counts = |granted: &[Granted], id: EnvironmentId| {
            let own = granted.iter().find(|role| role.environment_id == Some(id));
            let role = own.or_else(|| granted.iter().find(|role| role.environment_id.is_none()));
            role.zip(protection.policy(id)).is_some_and(|(role, policy)| {
                role.permissions.has(Permission::Approve) && policy.accepts(role.user_id, &role.role)
            })
        };
        let gains = |id: EnvironmentId| {
            GOVERNING.iter().any(|p| after.in_environment(id, *p) && !before.in_environment(id, *p))
                || (counts(is, id) && !counts(was, id))
        };
        let gained: Vec<EnvironmentId> = self.environments.iter().map(|e| e.id).filter(|id| gains(*id)).collect();
        self.governed.extend(gained.into_iter().filter(|id| protection.policy(*id).is_some()));
        Ok(())
    }

    /// A membership as history keeps it; absent where there is none.
    fn described(&self, granted: &[Granted]) -> Option<Value> {
        let role = granted.iter().find(|role| role.environment_id.is_none())?;
        let key = |id: EnvironmentId| self.environments.iter().find(|e| e.id == id).map(|e| e.key.clone());
        let environments: BTreeMap<String, &str> =
            granted.iter().filter_map(|role| Some((key(role.environment_id?)?, role.role.as_str()))).collect();
        Some(json!({ "role": role.role, "environments": environments }))
    }
}

/// Whether one of these roles lets somebody manage the members of the whole project.
fn manages(granted: &[Granted]) -> bool {
    granted.iter().any(|role| role.environment_id.is_none() && role.permissions.has(Permission::ManageMembers))
}

async fn check_role(db: &mut PgConnection, field: &str, role: &RoleKey) -> Result<PermissionSet, AppError> {
    let found = store::role::permissions(db, role).await?;
    found.ok_or_else(|| AppError::field(field, format!("'{role}' is not a role; see the list of roles")))
}
