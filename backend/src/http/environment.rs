//! Environments, and how far their revisions have come.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use shared::model::key::EnvironmentKey;
use shared::wire::api::edge::ReceiptDetail;
use shared::wire::api::environment::{CreateEnvironment, UpdateEnvironment};
use shared::wire::api::project::ProjectDetail;
use utoipa::IntoParams;

use crate::app;
use crate::auth::permission::{CanManageEnvironments, CanView};
use crate::error::AppError;
use crate::http::input::{Body, Path, Query};
use crate::state::AppState;

/// Which revision to look for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ReceiptQuery {
    /// The newest when absent.
    revision: Option<u64>,
}

/// Adds an environment at the end of the promotion order.
#[utoipa::path(post, path = "/api/v1/projects/{project}/environments", tag = "environments",
               params(("project" = String, Path)), request_body = CreateEnvironment,
               responses((status = 201, body = ProjectDetail)))]
pub async fn create_environment(
    State(state): State<AppState>,
    CanManageEnvironments(who): CanManageEnvironments,
    Body(body): Body<CreateEnvironment>,
) -> Result<(StatusCode, Json<ProjectDetail>), AppError> {
    let detail = app::project::create_environment(&state, who, body).await?;
    Ok((StatusCode::CREATED, Json(detail)))
}

/// Changes what an environment is called and its hue. Neither alters an answer, so nobody is asked and no version either; the
/// audit log keeps what was.
#[utoipa::path(patch, path = "/api/v1/projects/{project}/environments/{environment}", tag = "environments",
               params(("project" = String, Path), ("environment" = String, Path)), request_body = UpdateEnvironment,
               responses((status = 200, body = ProjectDetail)))]
pub async fn update_environment(
    State(state): State<AppState>,
    CanManageEnvironments(who): CanManageEnvironments,
    Path((_, environment)): Path<(String, EnvironmentKey)>,
    Body(body): Body<UpdateEnvironment>,
) -> Result<Json<ProjectDetail>, AppError> {
    app::project::update_environment(&state, who, &environment, body).await.map(Json)
}

/// Tells which edges answer by a revision.
#[utoipa::path(get, path = "/api/v1/projects/{project}/environments/{environment}/receipt", tag = "environments",
               params(("project" = String, Path), ("environment" = String, Path), ReceiptQuery),
               responses((status = 200, body = ReceiptDetail)))]
pub async fn get_receipt(
    State(state): State<AppState>,
    CanView(who): CanView,
    Path((_, environment)): Path<(String, EnvironmentKey)>,
    Query(query): Query<ReceiptQuery>,
) -> Result<Json<ReceiptDetail>, AppError> {
    app::edge::receipt(&state, who.id(), &environment, query.revision).await.map(Json)
}
