//! Projects and their environments.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use shared::model::change::Change;
use shared::model::changeset::Note;
use shared::model::environment::{ENVIRONMENTS_MAX, HUES};
use shared::model::id::{EnvironmentId, ProjectId};
use shared::model::key::EnvironmentKey;
use shared::model::permission::{BuiltInRole, Permission, PermissionSet};
use shared::wire::api::changeset::ChangesetDetail;
use shared::wire::api::environment::{CreateEnvironment, EnvironmentSummary, UpdateEnvironment};
use shared::wire::api::project::{CreateProject, ProjectDetail, ProjectList, UpdateProject};
use sqlx::PgConnection;

use crate::app::changeset::{self, Protection, Write, check_name};
use crate::app::noted::note_in;
use crate::auth::permission::{Actor, InProject, Permissions, SignedIn};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::environment::Environment;
use crate::store::project::Project;

/// The projects that a person may see.
pub async fn list(state: &AppState, who: &SignedIn) -> Result<ProjectList, AppError> {
    let mut db = state.pool.acquire().await?;
    let projects = store::project::list(&mut db, who.user.id, who.is_admin).await?;
    let granted = store::member::list_granted(&mut db, None, Some(who.user.id)).await?;
    let mut items = Vec::new();
    for project in projects.into_iter().filter(|project| who.reaches(project.id)) {
        let own: Vec<_> = granted.iter().filter(|role| role.project_id == project.id).cloned().collect();
        if let Some(permissions) = Permissions::of(&own, who.is_admin) {
            let permissions = who.scope().map_or(permissions.clone(), |scope| permissions.within(scope));
            items.push(detail_of(&mut db, project, &permissions).await?);
        }
    }
    Ok(ProjectList { items })
}

/// A project with its environments.
pub async fn detail(state: &AppState, who: InProject) -> Result<ProjectDetail, AppError> {
    detail_of(&mut *state.pool.acquire().await?, who.project, &who.permissions).await
}

/// Makes a project with its environments.
pub async fn create(state: &AppState, author: &Actor, body: CreateProject) -> Result<ProjectDetail, AppError> {
    let key = body.key.clone();
    let mut tx = state.pool.begin().await?;
    let done = create_in(state, &mut tx, author, body).await?;
    tx.commit().await?;
    changeset::note_commit(state, &done);
    let mut db = state.pool.acquire().await?;
    let found = InProject::find(&mut db, key.as_str(), author.clone(), true).await?;
    let found = found.ok_or_else(|| AppError::not_found("project", &key))?;
    detail_of(&mut db, found.project, &found.permissions).await
}

/// The same in a transaction of the caller, who commits.
pub(super) async fn create_in(
    state: &AppState,
    tx: &mut PgConnection,
    author: &Actor,
    body: CreateProject,
) -> Result<ChangesetDetail, AppError> {
    check_name(&body.name)?;
    if !(1..=ENVIRONMENTS_MAX).contains(&body.environments.len()) {
        let message = format!("{} environments; a project has 1 to {ENVIRONMENTS_MAX}", body.environments.len());
        return Err(AppError::field("environments", message));
    }
    let id: ProjectId = state.clock.id();
    store::project::insert(tx, id, &body.key, body.name.trim(), state.clock.now()).await.map_err(|error| {
        if error.is_conflict("projects_key_unique") {
            AppError::Exists { noun: "project", key: body.key.to_string() }
        } else {
            error.into()
        }
    })?;
    // Who makes a project is its first admin: an installation's admin as such cannot agree to changes of others.
    let role = Some(BuiltInRole::Admin.key());
    let member = Change::SetMember { person: author.user, version: 0, role, environments: BTreeMap::new() };
    let environments = body.environments.into_iter().map(Write::CreateEnvironment);
    let writes = environments.chain([Write::Change(member)]).collect();
    changeset::apply_in(state, tx, id, author, writes, &Note::default()).await
}

/// Adds an environment at the end of the promotion order.
pub async fn create_environment(
    state: &AppState,
    who: InProject,
    body: CreateEnvironment,
) -> Result<ProjectDetail, AppError> {
    let writes = vec![Write::CreateEnvironment(body)];
    changeset::apply(state, who.id(), &who.actor, writes, &Note::default()).await?;
    detail(state, who).await
}

/// Changes what a project is called, and in which order its environments stand.
pub async fn update(state: &AppState, mut who: InProject, body: UpdateProject) -> Result<ProjectDetail, AppError> {
    let mut tx = state.pool.begin().await?;
    let key = store::project::lock(&mut tx, who.id()).await?;
    let mut changed = json!({});
    if let Some(name) = &body.name {
        check_name(name)?;
        changed["name"] = json!({ "before": who.project.name, "after": name.trim() });
        name.trim().clone_into(&mut who.project.name);
        store::project::set_name(&mut tx, who.id(), name.trim()).await?;
    }
    if let Some(order) = &body.environments {
        let known = store::environment::list(&mut tx, who.id()).await?;
        let found = order.iter().filter_map(|key| known.iter().find(|environment| environment.key == key.as_str()));
        let ids: Vec<EnvironmentId> = found.map(|environment| environment.id).collect();
        let each_once: BTreeSet<EnvironmentId> = ids.iter().copied().collect();
        if ids.len() != order.len() || each_once.len() != known.len() || order.len() != known.len() {
            let keys: Vec<&str> = known.iter().map(|environment| environment.key.as_str()).collect();
            let message = format!("name each environment of the project once: {}", keys.join(", "));
            return Err(AppError::field("environments", message));
        }
        let keys: Vec<&str> = known.iter().map(|environment| environment.key.as_str()).collect();
        changed["environments"] = json!({ "before": keys, "after": order });
        store::environment::reorder(&mut tx, who.id(), &ids).await?;
    }
    if body.name.is_some() || body.environments.is_some() {
        note_in(state, &mut tx, &who, "project.changed", &key, changed).await?;
    }
    tx.commit().await?;
    detail(state, who).await
}

/// Changes what an environment is called and how it is shown.
pub async fn update_environment(
    state: &AppState,
    who: InProject,
    key: &EnvironmentKey,
    body: UpdateEnvironment,
) -> Result<ProjectDetail, AppError> {
    let mut tx = state.pool.begin().await?;
    store::project::lock(&mut tx, who.id()).await?;
    let known = store::environment::list(&mut tx, who.id()).await?;
    let before = known.into_iter().find(|environment| environment.key == key.as_str());
    let before = before.ok_or_else(|| AppError::not_found("environment", key))?;
    let name = body.name.map_or_else(|| before.name.clone(), |name| name.trim().to_owned());
    check_name(&name)?;
    let hue = body.hue.map_or(before.hue, i16::from);
    if !(1..=i16::from(HUES)).contains(&hue) {
        return Err(AppError::field("hue", format!("{hue} is not a hue; choose 1 to {HUES}")));
    }
    store::environment::update(&mut tx, before.id, &name, hue).await?;
    let changed = json!({
        "before": { "name": before.name, "hue": before.hue },
        "after": { "name": name, "hue": hue },
    });
    note_in(state, &mut tx, &who, "environment.changed", key.as_str(), changed).await?;
    tx.commit().await?;
    detail(state, who).await
}

async fn detail_of(
    db: &mut PgConnection,
    project: Project,
    permissions: &Permissions,
) -> Result<ProjectDetail, AppError> {
    let protection = Protection::find(db, project.id).await?;
    let environments = store::environment::list(db, project.id).await?;
    let summary = |environment: Environment| {
        let is_protected = protection.policy(environment.id).is_some();
        let may = |permission: &Permission| permissions.in_environment(environment.id, *permission);
        let allowed = Permission::ALL.into_iter().filter(may).collect();
        environment_summary(environment, is_protected, allowed)
    };
    let may = |permission: &Permission| permissions.in_project(*permission);
    Ok(ProjectDetail {
        permissions: Permission::ALL.into_iter().filter(may).collect(),
        key: project.key.parse().map_err(AppError::internal)?,
        flags: store::flag::count(db, project.id).await?,
        name: project.name,
        environments: environments.into_iter().map(summary).collect::<Result<_, _>>()?,
        can_edit: permissions.anywhere(Permission::Edit),
        can_manage: permissions.in_project(Permission::ManageEnvironments),
    })
}

fn environment_summary(
    environment: Environment,
    is_protected: bool,
    permissions: PermissionSet,
) -> Result<EnvironmentSummary, AppError> {
    Ok(EnvironmentSummary {
        id: environment.id,
        key: environment.key.parse().map_err(AppError::internal)?,
        name: environment.name,
        hue: u8::try_from(environment.hue).unwrap_or(1),
        revision: u64::try_from(environment.revision).unwrap_or(0),
        is_protected,
        permissions,
    })
}
