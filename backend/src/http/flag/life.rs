//! Copies of flags, and how flags go and come back.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use shared::model::key::FlagKey;
use shared::wire::api::changeset::{ChangesetDetail, WithNote};
use shared::wire::api::flag::{CopyFlag, DeleteFlag};

use crate::app;
use crate::auth::permission::CanEditFlags;
use crate::error::AppError;
use crate::http::input::{Body, IfMatch, Path};
use crate::state::AppState;

/// Takes a flag out of service: applications then get `FLAG_NOT_FOUND` and use their own default. Refused while another
/// flag needs it. `If-Match` carries the flag's version.
#[utoipa::path(post, path = "/api/v1/projects/{project}/flags/{flag}/archive", tag = "flags",
               params(("project" = String, Path), ("flag" = String, Path), ("If-Match" = String, Header)),
               request_body = WithNote, responses((status = 200, body = ChangesetDetail)))]
pub async fn archive_flag(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Path((_, flag)): Path<(String, FlagKey)>,
    IfMatch(version): IfMatch,
    Body(body): Body<WithNote>,
) -> Result<Json<ChangesetDetail>, AppError> {
    app::flag::archive(&state, &who, flag, version, &body.note).await.map(Json)
}

/// Puts an archived flag back into service with the configs it had. `If-Match` carries the flag's version. (`restore`
/// below an environment is something else: it lifts a kill.)
#[utoipa::path(post, path = "/api/v1/projects/{project}/flags/{flag}/unarchive", tag = "flags",
               params(("project" = String, Path), ("flag" = String, Path), ("If-Match" = String, Header)),
               request_body = WithNote, responses((status = 200, body = ChangesetDetail)))]
pub async fn unarchive_flag(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Path((_, flag)): Path<(String, FlagKey)>,
    IfMatch(version): IfMatch,
    Body(body): Body<WithNote>,
) -> Result<Json<ChangesetDetail>, AppError> {
    app::flag::unarchive(&state, &who, flag, version, &body.note).await.map(Json)
}

/// Removes an archived flag for good; its key is free again, its history stays. `If-Match` carries the flag's version.
#[utoipa::path(delete, path = "/api/v1/projects/{project}/flags/{flag}", tag = "flags",
               params(("project" = String, Path), ("flag" = String, Path), ("If-Match" = String, Header)),
               request_body = DeleteFlag, responses((status = 200, body = ChangesetDetail)))]
pub async fn delete_flag(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Path((_, flag)): Path<(String, FlagKey)>,
    IfMatch(version): IfMatch,
    Body(body): Body<DeleteFlag>,
) -> Result<Json<ChangesetDetail>, AppError> {
    app::flag::delete(&state, &who, flag, version, body).await.map(Json)
}

/// Makes a flag like another one.
#[utoipa::path(post, path = "/api/v1/projects/{project}/flags/{flag}/copy", tag = "flags",
               params(("project" = String, Path), ("flag" = String, Path)), request_body = CopyFlag,
               responses((status = 201, body = ChangesetDetail)))]
pub async fn copy_flag(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Path((_, flag)): Path<(String, FlagKey)>,
    Body(body): Body<CopyFlag>,
) -> Result<(StatusCode, Json<ChangesetDetail>), AppError> {
    let done = app::flag::copy(&state, &who, &flag, body).await?;
    Ok((StatusCode::CREATED, Json(done)))
}
