//! SDK keys.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use shared::model::id::SdkKeyId;
use shared::model::key::EnvironmentKey;
use shared::wire::api::sdk_key::{CreateSdkKey, CreatedSdkKey, RotateSdkKey, SdkKeyList, SdkKeySummary, UpdateSdkKey};
use utoipa::IntoParams;

use crate::app;
use crate::auth::permission::{CanManageKeys, CanView};
use crate::error::AppError;
use crate::http::input::{Body, Path, Query};
use crate::state::AppState;

/// Which keys to list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct SdkKeyQuery {
    /// Those of this environment alone.
    #[param(value_type = Option<String>)]
    environment: Option<EnvironmentKey>,
}

/// Lists the keys of a project, without their secrets.
#[utoipa::path(get, path = "/api/v1/projects/{project}/keys", tag = "SDK keys",
               params(("project" = String, Path), SdkKeyQuery), responses((status = 200, body = SdkKeyList)))]
pub async fn list_sdk_keys(
    State(state): State<AppState>,
    CanView(who): CanView,
    Query(query): Query<SdkKeyQuery>,
) -> Result<Json<SdkKeyList>, AppError> {
    app::sdk_key::list(&state, who.id(), query.environment.as_ref()).await.map(Json)
}

/// Makes a key. Its secret is in this answer and nowhere else.
#[utoipa::path(post, path = "/api/v1/projects/{project}/keys", tag = "SDK keys", params(("project" = String, Path)),
               request_body = CreateSdkKey, responses((status = 201, body = CreatedSdkKey)))]
pub async fn create_sdk_key(
    State(state): State<AppState>,
    CanManageKeys(who): CanManageKeys,
    Body(body): Body<CreateSdkKey>,
) -> Result<(StatusCode, Json<CreatedSdkKey>), AppError> {
    let created = app::sdk_key::create(&state, &who, body).await?;
    Ok((StatusCode::CREATED, Json(created)))
}

/// Changes what a key is called, where it may be used from, and when it ends. The last write counts, so no version is asked
/// for: each field says what is to be, and history keeps what was.
#[utoipa::path(patch, path = "/api/v1/projects/{project}/keys/{key}", tag = "SDK keys",
               params(("project" = String, Path), ("key" = String, Path)), request_body = UpdateSdkKey,
               responses((status = 200, body = SdkKeySummary)))]
pub async fn update_sdk_key(
    State(state): State<AppState>,
    CanManageKeys(who): CanManageKeys,
    Path((_, key)): Path<(String, SdkKeyId)>,
    Body(body): Body<UpdateSdkKey>,
) -> Result<Json<SdkKeySummary>, AppError> {
    app::sdk_key::update(&state, &who, key, body).await.map(Json)
}

/// Makes a key that takes over from another one, which stays valid until the overlap ends. The secret of the new key is in
/// this answer and nowhere else.
#[utoipa::path(post, path = "/api/v1/projects/{project}/keys/{key}/rotate", tag = "SDK keys",
               params(("project" = String, Path), ("key" = String, Path)), request_body = RotateSdkKey,
               responses((status = 201, body = CreatedSdkKey)))]
pub async fn rotate_sdk_key(
    State(state): State<AppState>,
    CanManageKeys(who): CanManageKeys,
    Path((_, key)): Path<(String, SdkKeyId)>,
    Body(body): Body<RotateSdkKey>,
) -> Result<(StatusCode, Json<CreatedSdkKey>), AppError> {
    let created = app::sdk_key::rotate(&state, &who, key, body).await?;
    Ok((StatusCode::CREATED, Json(created)))
}

/// Revokes a key for good. The answer says when it was last used, and how often of late: whose requests fail from now on.
#[utoipa::path(post, path = "/api/v1/projects/{project}/keys/{key}/revoke", tag = "SDK keys",
               params(("project" = String, Path), ("key" = String, Path)),
               responses((status = 200, body = SdkKeySummary)))]
pub async fn revoke_sdk_key(
    State(state): State<AppState>,
    CanManageKeys(who): CanManageKeys,
    Path((_, key)): Path<(String, SdkKeyId)>,
) -> Result<Json<SdkKeySummary>, AppError> {
    app::sdk_key::revoke(&state, &who, key).await.map(Json)
}
