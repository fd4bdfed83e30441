//! Flags and their configs.

pub mod life;
pub mod many;
pub mod variant;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use shared::model::key::{EnvironmentKey, FlagKey};
use shared::wire::api::changeset::ChangesetDetail;
use shared::wire::api::flag::{CreateFlag, FlagDetail, FlagPage, SaveConfig, UpdateFlag};

use crate::app;
use crate::app::flag::FlagQuery;
use crate::auth::permission::{CanEditFlags, CanView};
use crate::error::AppError;
use crate::http::input::{Body, IfMatch, Path, Query};
use crate::state::AppState;

/// Lists flags with their states in all environments.
#[utoipa::path(get, path = "/api/v1/projects/{project}/flags", tag = "flags",
               params(("project" = String, Path), FlagQuery), responses((status = 200, body = FlagPage)))]
pub async fn list_flags(
    State(state): State<AppState>,
    CanView(who): CanView,
    Query(query): Query<FlagQuery>,
) -> Result<Json<FlagPage>, AppError> {
    app::flag::list(&state, &who, &query).await.map(Json)
}

/// Makes a flag with a config in every environment.
#[utoipa::path(post, path = "/api/v1/projects/{project}/flags", tag = "flags", params(("project" = String, Path)),
               request_body = CreateFlag, responses((status = 201, body = ChangesetDetail)))]
pub async fn create_flag(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Body(body): Body<CreateFlag>,
) -> Result<(StatusCode, Json<ChangesetDetail>), AppError> {
    let done = app::flag::create(&state, &who, body).await?;
    Ok((StatusCode::CREATED, Json(done)))
}

/// Reads a flag with its configs in all environments.
#[utoipa::path(get, path = "/api/v1/projects/{project}/flags/{flag}", tag = "flags",
               params(("project" = String, Path), ("flag" = String, Path)),
               responses((status = 200, body = FlagDetail)))]
pub async fn get_flag(
    State(state): State<AppState>,
    CanView(who): CanView,
    Path((_, flag)): Path<(String, FlagKey)>,
) -> Result<Json<FlagDetail>, AppError> {
    app::flag::detail(&state, who.id(), &flag).await.map(Json)
}

/// Changes what is the same in every environment. `If-Match` carries the flag's version.
#[utoipa::path(patch, path = "/api/v1/projects/{project}/flags/{flag}", tag = "flags",
               params(("project" = String, Path), ("flag" = String, Path), ("If-Match" = String, Header)),
               request_body = UpdateFlag, responses((status = 200, body = ChangesetDetail)))]
pub async fn update_flag(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Path((_, flag)): Path<(String, FlagKey)>,
    IfMatch(version): IfMatch,
    Body(body): Body<UpdateFlag>,
) -> Result<Json<ChangesetDetail>, AppError> {
    app::flag::update(&state, &who, flag, version, body).await.map(Json)
}

/// Replaces a flag's config in one environment. `If-Match` carries the config's version; 0 where there is none.
#[utoipa::path(put, path = "/api/v1/projects/{project}/flags/{flag}/environments/{environment}", tag = "flags",
               params(("project" = String, Path), ("flag" = String, Path), ("environment" = String, Path),
                      ("If-Match" = String, Header)),
               request_body = SaveConfig, responses((status = 200, body = ChangesetDetail)))]
pub async fn save_config(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Path((_, flag, environment)): Path<(String, FlagKey, EnvironmentKey)>,
    IfMatch(version): IfMatch,
    Body(body): Body<SaveConfig>,
) -> Result<Json<ChangesetDetail>, AppError> {
    app::flag::save_config(&state, &who, (flag, environment), version, body).await.map(Json)
}
