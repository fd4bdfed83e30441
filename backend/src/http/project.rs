//! Projects.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use shared::wire::api::project::{CreateProject, ProjectDetail, ProjectList, UpdateProject};

use crate::app;
use crate::auth::permission::{CanManageEnvironments, CanManageInstallation, CanView, SignedIn};
use crate::error::AppError;
use crate::http::input::Body;
use crate::state::AppState;

/// Lists the projects that the person asking may see.
#[utoipa::path(get, path = "/api/v1/projects", tag = "projects", responses((status = 200, body = ProjectList)))]
pub async fn list_projects(State(state): State<AppState>, who: SignedIn) -> Result<Json<ProjectList>, AppError> {
    app::project::list(&state, &who).await.map(Json)
}

/// Makes a project with its environments.
#[utoipa::path(post, path = "/api/v1/projects", tag = "projects", request_body = CreateProject,
               responses((status = 201, body = ProjectDetail)))]
pub async fn create_project(
    State(state): State<AppState>,
    CanManageInstallation(actor): CanManageInstallation,
    Body(body): Body<CreateProject>,
) -> Result<(StatusCode, Json<ProjectDetail>), AppError> {
    let detail = app::project::create(&state, &actor, body).await?;
    Ok((StatusCode::CREATED, Json(detail)))
}

/// Reads a project with its environments.
#[utoipa::path(get, path = "/api/v1/projects/{project}", tag = "projects", params(("project" = String, Path)),
               responses((status = 200, body = ProjectDetail)))]
pub async fn get_project(
    State(state): State<AppState>,
    CanView(who): CanView,
) -> Result<Json<ProjectDetail>, AppError> {
    app::project::detail(&state, who).await.map(Json)
}

/// Changes what a project is called, and in which order its environments stand. Neither alters an answer, so nobody is
/// asked and no version either; the audit log keeps what was.
#[utoipa::path(patch, path = "/api/v1/projects/{project}", tag = "projects", params(("project" = String, Path)),
               request_body = UpdateProject, responses((status = 200, body = ProjectDetail)))]
pub async fn update_project(
    State(state): State<AppState>,
    CanManageEnvironments(who): CanManageEnvironments,
    Body(body): Body<UpdateProject>,
) -> Result<Json<ProjectDetail>, AppError> {
    app::project::update(&state, who, body).await.map(Json)
}
