//! Plans: changesets that happen step by step.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use shared::model::changeset::ChangesetState;
use shared::model::id::ChangesetId;
use shared::model::key::{EnvironmentKey, FlagKey};
use shared::wire::api::changeset::WithNote;
use shared::wire::api::plan::{CreatePlan, PlanDetail, PlanPage, StopPlan};
use utoipa::IntoParams;

use crate::app;
use crate::auth::permission::{CanEditFlags, CanView};
use crate::error::AppError;
use crate::http::input::{Body, Path, Query};
use crate::state::AppState;

/// Which plans to list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct PlanQuery {
    /// Those that are about this flag.
    #[param(value_type = Option<String>)]
    flag: Option<FlagKey>,
    /// Those that touch this environment.
    #[param(value_type = Option<String>)]
    environment: Option<EnvironmentKey>,
    /// Those that stand like this; when absent, those that run, are suspended or wait for people to agree.
    state: Option<ChangesetState>,
    /// `next` of the page before.
    after: Option<ChangesetId>,
}

/// Lists plans, the newest first: what has happened, what comes next and when, and what holds it back.
#[utoipa::path(get, path = "/api/v1/projects/{project}/plans", tag = "plans",
               params(("project" = String, Path), PlanQuery), responses((status = 200, body = PlanPage)))]
pub async fn list_plans(
    State(state): State<AppState>,
    CanView(who): CanView,
    Query(query): Query<PlanQuery>,
) -> Result<Json<PlanPage>, AppError> {
    let PlanQuery { flag, environment, state: stands, after } = query;
    app::plan::list(&state, &who, flag, environment, stands, after).await.map(Json)
}

/// Makes a plan. Every step is checked now, one after another; where a policy wants it, people agree to all of it at once.
#[utoipa::path(post, path = "/api/v1/projects/{project}/plans", tag = "plans",
               params(("project" = String, Path)), request_body = CreatePlan,
               responses((status = 201, body = PlanDetail)))]
pub async fn create_plan(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Body(body): Body<CreatePlan>,
) -> Result<(StatusCode, Json<PlanDetail>), AppError> {
    let made = app::plan::submit(&state, &who, body.plan, &body.note).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

/// Reads a plan.
#[utoipa::path(get, path = "/api/v1/projects/{project}/plans/{changeset}", tag = "plans",
               params(("project" = String, Path), ("changeset" = ChangesetId, Path)),
               responses((status = 200, body = PlanDetail)))]
pub async fn get_plan(
    State(state): State<AppState>,
    CanView(who): CanView,
    Path((_, changeset)): Path<(String, ChangesetId)>,
) -> Result<Json<PlanDetail>, AppError> {
    app::plan::detail(&state, &who, changeset).await.map(Json)
}

/// Keeps a plan from going on.
#[utoipa::path(post, path = "/api/v1/projects/{project}/changesets/{changeset}/pause", tag = "plans",
               params(("project" = String, Path), ("changeset" = ChangesetId, Path)), request_body = WithNote,
               responses((status = 200, body = PlanDetail)))]
pub async fn pause_plan(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Path((_, changeset)): Path<(String, ChangesetId)>,
    Body(body): Body<WithNote>,
) -> Result<Json<PlanDetail>, AppError> {
    app::plan::pause(&state, &who, changeset, &body.note).await.map(Json)
}

/// Lets a plan go on that was paused or suspended; a step whose time has passed happens at once.
#[utoipa::path(post, path = "/api/v1/projects/{project}/changesets/{changeset}/resume", tag = "plans",
               params(("project" = String, Path), ("changeset" = ChangesetId, Path)), request_body = WithNote,
               responses((status = 200, body = PlanDetail)))]
pub async fn resume_plan(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Path((_, changeset)): Path<(String, ChangesetId)>,
    Body(body): Body<WithNote>,
) -> Result<Json<PlanDetail>, AppError> {
    app::plan::resume(&state, &who, changeset, &body.note).await.map(Json)
}

/// Applies the next step of a plan before its time. Where a policy protects an environment, people agreed to the times,
/// too: there, only somebody whose approval of the plan would count may do this.
#[utoipa::path(post, path = "/api/v1/projects/{project}/changesets/{changeset}/next", tag = "plans",
               params(("project" = String, Path), ("changeset" = ChangesetId, Path)), request_body = WithNote,
               responses((status = 200, body = PlanDetail)))]
pub async fn next_step(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Path((_, changeset)): Path<(String, ChangesetId)>,
    Body(body): Body<WithNote>,
) -> Result<Json<PlanDetail>, AppError> {
    app::plan::next(&state, &who, changeset, &body.note).await.map(Json)
}

/// Ends a plan before its last step, and keeps what its steps did or takes it back.
#[utoipa::path(post, path = "/api/v1/projects/{project}/changesets/{changeset}/stop", tag = "plans",
               params(("project" = String, Path), ("changeset" = ChangesetId, Path)), request_body = StopPlan,
               responses((status = 200, body = PlanDetail)))]
pub async fn stop_plan(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Path((_, changeset)): Path<(String, ChangesetId)>,
    Body(body): Body<StopPlan>,
) -> Result<Json<PlanDetail>, AppError> {
    app::plan::stop(&state, &who, changeset, body).await.map(Json)
}
