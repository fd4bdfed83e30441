//! Freezes.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use shared::model::id::FreezeId;
use shared::model::timestamp::Timestamp;
use shared::wire::api::changeset::ChangesetDetail;
use shared::wire::api::freeze::{FreezeList, SaveFreeze};
use utoipa::IntoParams;

use crate::app;
use crate::auth::permission::{CanFreeze, CanView};
use crate::error::AppError;
use crate::http::input::{Body, IfMatch, Path, Query};
use crate::state::AppState;

/// Which time to show.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct FreezeQuery {
    /// The first moment; now when absent.
    from: Option<Timestamp>,
    /// One past the last, at most 366 days later; 30 days later when absent.
    to: Option<Timestamp>,
}

/// Lists the freezes of a project, and when each environment is frozen.
#[utoipa::path(get, path = "/api/v1/projects/{project}/freezes", tag = "freezes",
               params(("project" = String, Path), FreezeQuery), responses((status = 200, body = FreezeList)))]
pub async fn list_freezes(
    State(state): State<AppState>,
    CanView(who): CanView,
    Query(query): Query<FreezeQuery>,
) -> Result<Json<FreezeList>, AppError> {
    app::freeze::list(&state, &who, query.from, query.to).await.map(Json)
}

/// Freezes environments at certain times.
#[utoipa::path(post, path = "/api/v1/projects/{project}/freezes", tag = "freezes",
               params(("project" = String, Path)), request_body = SaveFreeze,
               responses((status = 201, body = ChangesetDetail)))]
pub async fn create_freeze(
    State(state): State<AppState>,
    CanFreeze(who): CanFreeze,
    Body(body): Body<SaveFreeze>,
) -> Result<(StatusCode, Json<ChangesetDetail>), AppError> {
    let done = app::freeze::create(&state, &who, body).await?;
    Ok((StatusCode::CREATED, Json(done)))
}

/// Replaces a freeze. `If-Match` carries its version.
#[utoipa::path(put, path = "/api/v1/projects/{project}/freezes/{freeze}", tag = "freezes",
               params(("project" = String, Path), ("freeze" = FreezeId, Path), ("If-Match" = String, Header)),
               request_body = SaveFreeze, responses((status = 200, body = ChangesetDetail)))]
pub async fn update_freeze(
    State(state): State<AppState>,
    CanFreeze(who): CanFreeze,
    Path((_, freeze)): Path<(String, FreezeId)>,
    IfMatch(version): IfMatch,
    Body(body): Body<SaveFreeze>,
) -> Result<Json<ChangesetDetail>, AppError> {
    app::freeze::update(&state, &who, freeze, version, body).await.map(Json)
}

/// Removes a freeze, which ends it where it holds. `If-Match` carries its version.
#[utoipa::path(delete, path = "/api/v1/projects/{project}/freezes/{freeze}", tag = "freezes",
               params(("project" = String, Path), ("freeze" = FreezeId, Path), ("If-Match" = String, Header)),
               responses((status = 200, body = ChangesetDetail)))]
pub async fn delete_freeze(
    State(state): State<AppState>,
    CanFreeze(who): CanFreeze,
    Path((_, freeze)): Path<(String, FreezeId)>,
    IfMatch(version): IfMatch,
) -> Result<Json<ChangesetDetail>, AppError> {
    app::freeze::delete(&state, &who, freeze, version).await.map(Json)
}
