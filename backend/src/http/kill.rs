//! Kills.

use axum::Json;
use axum::extract::State;
use shared::model::key::{EnvironmentKey, FlagKey};
use shared::wire::api::changeset::{ChangesetDetail, WithNote};
use shared::wire::api::flag::KillFlag;

use crate::app;
use crate::auth::permission::CanKillFlags;
use crate::error::AppError;
use crate::http::input::{Body, Path};
use crate::state::AppState;

/// Turns a flag off at once, whatever its config says.
#[utoipa::path(post, path = "/api/v1/projects/{project}/flags/{flag}/kill", tag = "flags",
               params(("project" = String, Path), ("flag" = String, Path)), request_body = KillFlag,
               responses((status = 200, body = ChangesetDetail)))]
pub async fn kill_flag(
    State(state): State<AppState>,
    CanKillFlags(who): CanKillFlags,
    Path((_, flag)): Path<(String, FlagKey)>,
    Body(body): Body<KillFlag>,
) -> Result<Json<ChangesetDetail>, AppError> {
    app::flag::kill(&state, &who, &flag, body).await.map(Json)
}

/// Lifts a kill: the flag answers again what its config says.
#[utoipa::path(post, path = "/api/v1/projects/{project}/flags/{flag}/environments/{environment}/restore",
               tag = "flags",
               params(("project" = String, Path), ("flag" = String, Path), ("environment" = String, Path)),
               request_body = WithNote, responses((status = 200, body = ChangesetDetail)))]
pub async fn restore_flag(
    State(state): State<AppState>,
    CanKillFlags(who): CanKillFlags,
    Path((_, flag, environment)): Path<(String, FlagKey, EnvironmentKey)>,
    Body(body): Body<WithNote>,
) -> Result<Json<ChangesetDetail>, AppError> {
    app::flag::restore(&state, &who, &flag, environment, &body.note).await.map(Json)
}
