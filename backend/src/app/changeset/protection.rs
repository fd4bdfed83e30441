//! What stands between a changeset and the environments it touches: permissions and policies.

use std::collections::BTreeMap;

use shared::model::changeset::Note;
use shared::model::id::{EnvironmentId, ProjectId, UserId};
use shared::model::permission::Permission;
use shared::model::policy::Policy;
use sqlx::PgConnection;

use crate::app::changeset::Prepared;
use crate::app::changeset::submit::check_person;
use crate::app::{freeze, zone};
use crate::auth::permission::{InProject, Permissions};
use crate::error::AppError;
use crate::store;
use crate::store::environment::Environment;
use crate::store::freeze::StoredFreeze;
use crate::store::member::Granted;
use crate::store::policy::StoredPolicy;

/// Who may do what in a project, and what its environments need, as it stands in the database.
pub struct Protection {
    policies: Vec<StoredPolicy>,
    freezes: Vec<StoredFreeze>,
    /// By person, the whole project's role first.
    members: BTreeMap<UserId, Vec<Granted>>,
}

/// What is to happen with a changeset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::app) enum Verdict {
    /// It may be applied.
    Free,
    /// Others have to agree first.
    NeedsApproval,
}

/// Somebody whose approval counts in an environment.
#[derive(Clone, Debug)]
pub struct Approver {
    /// Who.
    pub id: UserId,
    /// Their name.
    pub name: String,
}

impl Protection {
    /// Reads it. Hold the project's row to be sure that it stays so.
    pub(in crate::app) async fn find(db: &mut PgConnection, project: ProjectId) -> Result<Self, AppError> {
        let policies = store::policy::list(db, project).await?;
        let freezes = store::freeze::list(db, project).await?;
        let mut members: BTreeMap<UserId, Vec<Granted>> = BTreeMap::new();
        for granted in store::member::list_granted(db, Some(project), None).await? {
            members.entry(granted.user_id).or_default().push(granted);
        }
        Ok(Self { policies, freezes, members })
    }

    /// What an environment needs; `None` when it is not protected.
    pub fn policy(&self, environment: EnvironmentId) -> Option<&Policy> {
        self.policies.iter().find(|stored| stored.environment_id == environment)?.policy.as_ref()
    }

    /// Everybody whose approval counts in a protected environment, in the order of their names.
    pub fn approvers(&self, environment: EnvironmentId) -> Vec<Approver> {
        let Some(policy) = self.policy(environment) else { return Vec::new() };
        let mut approvers: Vec<Approver> = self
            .members
            .values()
            .filter_map(|granted| {
                let own = granted.iter().find(|role| role.environment_id == Some(environment));
                let role = own.or_else(|| granted.iter().find(|role| role.environment_id.is_none()))?;
                let counts = role.permissions.has(Permission::Approve) && policy.accepts(role.user_id, &role.role);
                counts.then(|| Approver { id: role.user_id, name: role.user_name.clone() })
            })
            .collect();
        approvers.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
        approvers
    }

    /// Everybody who may ask for changes in an environment.
    pub(super) fn editors(&self, environment: EnvironmentId) -> impl Iterator<Item = UserId> {
        self.members.iter().filter_map(move |(person, granted)| {
            let permissions = Permissions::of(granted, false)?;
            permissions.in_environment(environment, Permission::Edit).then_some(*person)
        })
    }

    /// What somebody may do, as their roles stand; `None` when they are no member.
    pub fn permissions(&self, person: UserId) -> Option<Permissions> {
        Permissions::of(self.members.get(&person).map_or(&[], Vec::as_slice), false)
    }

    /// Fails when the person may not ask for this at all, or a freeze holds; else says whether it may be applied at once.
    pub(in crate::app) fn judge(&self, who: &InProject, prepared: &Prepared, note: &Note) -> Result<Verdict, AppError> {
        let verdict = self.judge_ahead(who, prepared, note)?;
        self.check_freezes(prepared)?;
        Ok(verdict)
    }

    /// The same of what is to happen later, whatever is frozen now.
    pub(in crate::app) fn judge_ahead(
        &self,
        who: &InProject,
        prepared: &Prepared,
        note: &Note,
    ) -> Result<Verdict, AppError> {
        check_permissions(who, prepared)?;
        let mut verdict = Verdict::Free;
        for environment in prepared.touched().into_iter().chain(prepared.governed()) {
            let Some(policy) = self.policy(environment.id) else { continue };
            if policy.note_required && note.as_str().trim().is_empty() {
                let message = format!("{} needs a note that says why", environment.key);
                return Err(AppError::field("note", message));
            }
            verdict = Verdict::NeedsApproval;
        }
        Ok(verdict)
    }

    /// Fails unless the author may still do this and enough people agreed to it, as roles and policies stand now. Who
    /// wrote any part of it does not count.
    pub(in crate::app) fn check_agreed(
        &self,
        author: &InProject,
        prepared: &Prepared,
        agreed: &[UserId],
        editors: &[UserId],
    ) -> Result<(), AppError> {
        check_permissions(author, prepared)?;
        for environment in prepared.touched().into_iter().chain(prepared.governed()) {
            let Some(policy) = self.policy(environment.id) else { continue };
            let approvers = self.approvers(environment.id);
            let counts = |person: &Approver| agreed.contains(&person.id) && !editors.contains(&person.id);
            let count = approvers.iter().filter(|person| counts(person)).count();
            if count < usize::try_from(policy.approvals).unwrap_or(usize::MAX) {
                let needed = policy.approvals;
                let message = format!("{needed} approvals in {}, and {count} count now", environment.key);
                return Err(AppError::Forbidden(message));
            }
        }
        Ok(())
    }

    /// Fails when a freeze holds where answers change. Rules stay free, or a freeze could never be ended.
    pub(in crate::app) fn check_freezes(&self, prepared: &Prepared) -> Result<(), AppError> {
        for environment in prepared.touched() {
            if let Some((stored, until_at)) = freeze::holding(&self.freezes, &environment.key, prepared.draft.at)? {
                let zone = zone::find(&stored.freeze.zone, "zone")?;
                return Err(AppError::Frozen {
                    environment: environment.key.clone(),
                    freeze: stored.freeze.name.clone(),
                    until: zone::shown(&zone, &stored.freeze.zone, until_at)?,
                    until_at,
                });
            }
        }
        Ok(())
    }

    /// Fails when the person may not pass over a policy or a freeze that stands in the way; says whether one does.
    pub(super) fn check_break_glass(&self, who: &InProject, prepared: &Prepared) -> Result<bool, AppError> {
        check_person(who, "passes over a policy")?;
        let mut is_broken = false;
        for environment in prepared.touched().into_iter().chain(prepared.governed()) {
            let is_frozen = prepared.touched().iter().any(|touched| touched.id == environment.id)
                && freeze::holding(&self.freezes, &environment.key, prepared.draft.at)?.is_some();
            if self.policy(environment.id).is_none() && !is_frozen {
                continue;
            }
            is_broken = true;
            if !who.permissions.in_environment(environment.id, Permission::BreakGlass) {
                let needed = Permission::BreakGlass;
                return Err(AppError::Forbidden(format!("the permission {needed} in {}", environment.key)));
            }
        }
        Ok(is_broken)
    }
}

/// Fails when the person may not change what this would change.
pub(super) fn check_permissions(who: &InProject, prepared: &Prepared) -> Result<(), AppError> {
    let needs = |permission: Permission, environment: &Environment| {
        AppError::Forbidden(format!("the permission {permission} in {}", environment.key))
    };
    for environment in prepared.touched() {
        if !who.permissions.in_environment(environment.id, Permission::Edit) {
            return Err(needs(Permission::Edit, environment));
        }
    }
    for (permission, environment) in prepared.draft.required() {
        let is_met = match environment {
            Some(environment) => who.permissions.in_environment(environment, permission),
            // Members have their roles everywhere: who manages them in one environment alone could give themselves more.
            None if permission == Permission::ManageMembers => who.permissions.in_project(permission),
            None => who.permissions.anywhere(permission),
        };
        if !is_met {
            let known = environment.and_then(|id| prepared.draft.environments.iter().find(|e| e.id == id));
            return Err(match known {
                Some(environment) => needs(permission, environment),
                None => AppError::Forbidden(format!("the permission {permission} in this project")),
            });
        }
    }
    Ok(())
}
