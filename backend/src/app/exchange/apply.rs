//! Doing what was planned.

use serde_json::json;
use shared::model::change::Change;
use shared::model::changeset::{ChangesetState, Note};
use shared::model::key::EnvironmentKey;
use shared::model::permission::Permission;
use shared::wire::api::changeset::ChangesetDetail;
use shared::wire::api::import::{ImportPlan, ImportProject, Imported};

use crate::app::changeset::{self, Write};
use crate::app::exchange::diff::Planned;
use crate::app::exchange::planned;
use crate::app::exchange::register::Register;
use crate::auth::permission::InProject;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::audit::NewEvent;

/// Why, where nobody said.
const DEFAULT_NOTE: &str = "Import";

/// Applies a file as it was planned: environments first, then changes in slices, then what no answer depends on. What
/// touches a protected environment waits for others to agree, like everything. Nothing is done when the project changed
/// since the plan, or when the person may not change an environment that the file changes.
pub async fn import(state: &AppState, who: &InProject, body: ImportProject) -> Result<Imported, AppError> {
    let ImportProject { file, digest, note, remove } = body;
    let planned = planned(state, who, file, remove).await?;
    if planned.plan.digest != digest {
        return Err(AppError::PlanChanged);
    }
    check_permissions(state, who, &planned).await?;
    let note = match note.as_str().trim() {
        "" => Note::try_from(DEFAULT_NOTE.to_owned()).map_err(AppError::internal)?,
        _ => note,
    };
    let Planned { environments, slices, register, plan } = planned;
    let mut remaining: u64 = slices.iter().map(|slice| slice.len() as u64).sum::<u64>() + register.len() as u64;
    let mut changesets: Vec<ChangesetDetail> = Vec::new();
    if !environments.is_empty() {
        let writes = environments.into_iter().map(Write::CreateEnvironment).collect();
        changesets.push(changeset::apply(state, who.id(), &who.actor, writes, &note).await?);
    }
    for slice in slices {
        let length = slice.len() as u64;
        match changeset::submit(state, who, slice, &note).await {
            Ok(done) => changesets.push(done),
            // Nothing was done, so there is nothing to tell but this.
            Err(error) if changesets.is_empty() => return Err(error),
            Err(error) => return Ok(told(changesets, remaining, Some(error.to_string()))),
        }
        remaining -= length;
    }
    match finish(state, who, register, &plan).await {
        Ok(()) => Ok(told(changesets, 0, None)),
        Err(error) if changesets.is_empty() => Err(error),
        Err(error) => Ok(told(changesets, remaining, Some(error.to_string()))),
    }
}

/// Does what no answer depends on, and writes down that there was an import.
async fn finish(state: &AppState, who: &InProject, register: Register, plan: &ImportPlan) -> Result<(), AppError> {
    let mut tx = state.pool.begin().await?;
    register.apply(state, &mut tx, who).await?;
    let event = NewEvent {
        at: state.clock.now(),
        actor: Some(who.actor.user),
        via: who.actor.via,
        project: Some(who.id()),
        kind: "project.imported",
        subject: &who.project.key,
        detail: json!({ "created": plan.created, "changed": plan.changed, "removed": plan.removed }),
    };
    store::audit::insert(&mut tx, &event).await?;
    tx.commit().await?;
    Ok(())
}

/// The same that every slice is asked when it is applied, before the first is.
async fn check_permissions(state: &AppState, who: &InProject, planned: &Planned) -> Result<(), AppError> {
    if !planned.environments.is_empty() && !who.permissions.in_project(Permission::ManageEnvironments) {
        let permission = Permission::ManageEnvironments;
        return Err(AppError::Forbidden(format!("the permission {permission}, since the file has new environments")));
    }
    let known = store::environment::list(&mut *state.pool.acquire().await?, who.id()).await?;
    let check = |key: &EnvironmentKey| {
        let id = known.iter().find(|environment| environment.key == key.as_str()).map(|environment| environment.id);
        let is_met = match id {
            Some(id) => who.permissions.in_environment(id, Permission::Edit),
            None => who.permissions.in_project(Permission::Edit),
        };
        if is_met { Ok(()) } else { Err(AppError::Forbidden(format!("the permission {} in {key}", Permission::Edit))) }
    };
    for change in planned.slices.iter().flatten() {
        match change {
            Change::SaveConfig { environment, .. } => check(environment)?,
            Change::CreateFlag(new) => new.configs.keys().try_for_each(check)?,
            _ => {}
        }
    }
    planned.plan.waits.iter().try_for_each(check)
}

fn told(changesets: Vec<ChangesetDetail>, remaining: u64, problem: Option<String>) -> Imported {
    let applied: Vec<u64> = changesets.iter().filter_map(|changeset| changeset.revision).collect();
    let waiting = changesets.iter().filter(|changeset| changeset.state != ChangesetState::Applied).count();
    let mut parts = Vec::new();
    match applied.as_slice() {
        [] => {}
        [one] => parts.push(format!("applied as r{one}")),
        [first, .., last] => parts.push(format!("applied in {} changesets, r{first} to r{last}", applied.len())),
    }
    match waiting {
        0 => {}
        1 => parts.push("1 changeset waits for others to agree".into()),
        count => parts.push(format!("{count} changesets wait for others to agree")),
    }
    if parts.is_empty() {
        parts.push("nothing in the file changes what flags answer".into());
    }
    if let Some(problem) = &problem {
        parts.push(format!("{remaining} changes are not done: {problem}"));
        parts.push("solve that, then plan and import the file again".into());
    }
    Imported { changesets, remaining, problem, sentence: parts.join("; ") }
}
