//! Projects and their environments.

use shared::model::changeset::Note;
use shared::model::environment::ENVIRONMENTS_MAX;
use shared::model::id::ProjectId;
use shared::wire::api::environment::{CreateEnvironment, EnvironmentSummary};
use shared::wire::api::project::{CreateProject, ProjectDetail, ProjectList};
use sqlx::PgConnection;

use crate::app::changeset::{self, Change, check_name};
use crate::auth::permission::{Actor, InProject, Role, SignedIn};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::environment::Environment;
use crate::store::flag::Filter;
use crate::store::project::Project;

/// The projects that a person may see.
pub async fn list(state: &AppState, who: &SignedIn) -> Result<ProjectList, AppError> {
    let mut db = state.pool.acquire().await?;
    let projects = store::project::list(&mut db, who.user.id, who.is_admin).await?;
    let mut items = Vec::with_capacity(projects.len());
    for project in projects {
        let role = if who.is_admin { Some(Role::Admin) } else { project.role.as_deref().and_then(Role::parse) };
        if let Some(role) = role {
            items.push(detail_of(&mut db, project, role).await?);
        }
    }
    Ok(ProjectList { items })
}

/// A project with its environments.
pub async fn detail(state: &AppState, who: InProject) -> Result<ProjectDetail, AppError> {
    detail_of(&mut *state.pool.acquire().await?, who.project, who.role).await
}

/// Makes a project with its environments.
pub async fn create(state: &AppState, author: &Actor, body: CreateProject) -> Result<ProjectDetail, AppError> {
    let key = body.key.clone();
    let mut tx = state.pool.begin().await?;
    let revision = create_in(state, &mut tx, author, body).await?;
    tx.commit().await?;
    state.live.note_commit(revision, state.clock.now());
    let mut db = state.pool.acquire().await?;
    let found = store::project::find(&mut db, key.as_str(), author.user).await?;
    detail_of(&mut db, found.ok_or_else(|| AppError::not_found("project", &key))?, Role::Admin).await
}

/// The same in a transaction of the caller, who commits; answers the revision.
pub(super) async fn create_in(
    state: &AppState,
    tx: &mut PgConnection,
    author: &Actor,
    body: CreateProject,
) -> Result<u64, AppError> {
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
    let changes = body.environments.into_iter().map(Change::CreateEnvironment).collect();
    Ok(changeset::apply_in(state, tx, id, author, changes, &Note::default()).await?.revision)
}

/// Adds an environment at the end of the promotion order.
pub async fn create_environment(
    state: &AppState,
    who: InProject,
    body: CreateEnvironment,
) -> Result<ProjectDetail, AppError> {
    let changes = vec![Change::CreateEnvironment(body)];
    changeset::apply(state, who.id(), &who.actor, changes, &Note::default()).await?;
    detail(state, who).await
}

async fn detail_of(db: &mut PgConnection, project: Project, role: Role) -> Result<ProjectDetail, AppError> {
    let environments = store::environment::list(db, project.id).await?;
    Ok(ProjectDetail {
        key: project.key.parse().map_err(AppError::internal)?,
        flags: store::flag::count(db, project.id, &Filter::default()).await?,
        name: project.name,
        environments: environments.into_iter().map(environment_summary).collect::<Result<_, _>>()?,
        can_edit: role >= Role::Editor,
        can_manage: role >= Role::Admin,
    })
}

fn environment_summary(environment: Environment) -> Result<EnvironmentSummary, AppError> {
    Ok(EnvironmentSummary {
        id: environment.id,
        key: environment.key.parse().map_err(AppError::internal)?,
        name: environment.name,
        hue: u8::try_from(environment.hue).unwrap_or(1),
        revision: u64::try_from(environment.revision).unwrap_or(0),
    })
}
