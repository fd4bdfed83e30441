//! SDK keys.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use shared::model::id::SdkKeyId;
use shared::wire::api::sdk_key::{CreateSdkKey, CreatedSdkKey, SdkKeyList, SdkKeySummary};

use crate::app;
use crate::auth::permission::{CanManageKeys, CanView};
use crate::error::AppError;
use crate::http::input::{Body, Path};
use crate::state::AppState;

/// Lists the keys of a project, without their secrets.
#[utoipa::path(get, path = "/api/v1/projects/{project}/keys", tag = "SDK keys", params(("project" = String, Path)),
               responses((status = 200, body = SdkKeyList)))]
pub async fn list_sdk_keys(State(state): State<AppState>, CanView(who): CanView) -> Result<Json<SdkKeyList>, AppError> {
    app::sdk_key::list(&state, who.id()).await.map(Json)
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

/// Revokes a key for good.
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
