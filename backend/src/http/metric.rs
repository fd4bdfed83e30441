//! Metrics of experiments.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use shared::model::id::MetricId;
use shared::wire::api::metric::{CreateMetric, MetricDetail, MetricList, UpdateMetric};

use crate::app;
use crate::auth::permission::{CanEditFlags, CanView};
use crate::error::AppError;
use crate::http::input::{Body, Path};
use crate::state::AppState;

/// Lists the metrics of a project.
#[utoipa::path(get, path = "/api/v1/projects/{project}/metrics", tag = "experiments",
               params(("project" = String, Path)), responses((status = 200, body = MetricList)))]
pub async fn list_metrics(State(state): State<AppState>, CanView(who): CanView) -> Result<Json<MetricList>, AppError> {
    app::metric::list(&state, who.id()).await.map(Json)
}

/// Makes a metric: an event that users cause, and how it is read.
#[utoipa::path(post, path = "/api/v1/projects/{project}/metrics", tag = "experiments",
               params(("project" = String, Path)), request_body = CreateMetric,
               responses((status = 201, body = MetricDetail)))]
pub async fn create_metric(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Body(body): Body<CreateMetric>,
) -> Result<(StatusCode, Json<MetricDetail>), AppError> {
    let made = app::metric::create(&state, &who.actor, who.id(), body).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

/// Changes a metric. Results are computed anew, so the change reaches back.
#[utoipa::path(patch, path = "/api/v1/projects/{project}/metrics/{metric}", tag = "experiments",
               params(("project" = String, Path), ("metric" = String, Path)), request_body = UpdateMetric,
               responses((status = 200, body = MetricDetail)))]
pub async fn update_metric(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Path((_, metric)): Path<(String, MetricId)>,
    Body(body): Body<UpdateMetric>,
) -> Result<Json<MetricDetail>, AppError> {
    app::metric::update(&state, who.id(), metric, body).await.map(Json)
}

/// Deletes a metric. Its events stay, and a metric made anew reads them again.
#[utoipa::path(delete, path = "/api/v1/projects/{project}/metrics/{metric}", tag = "experiments",
               params(("project" = String, Path), ("metric" = String, Path)), responses((status = 204)))]
pub async fn delete_metric(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Path((_, metric)): Path<(String, MetricId)>,
) -> Result<StatusCode, AppError> {
    app::metric::delete(&state, who.id(), metric).await?;
    Ok(StatusCode::NO_CONTENT)
}
