//! Segments.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use shared::model::key::SegmentKey;
use shared::wire::api::changeset::ChangesetDetail;
use shared::wire::api::segment::{CreateSegment, SegmentDetail, SegmentList, UpdateSegment};

use crate::app;
use crate::auth::permission::{CanEditFlags, CanView};
use crate::error::AppError;
use crate::http::input::{Body, IfMatch, Path};
use crate::state::AppState;

/// Lists the segments of a project.
#[utoipa::path(get, path = "/api/v1/projects/{project}/segments", tag = "segments",
               params(("project" = String, Path)), responses((status = 200, body = SegmentList)))]
pub async fn list_segments(
    State(state): State<AppState>,
    CanView(who): CanView,
) -> Result<Json<SegmentList>, AppError> {
    app::segment::list(&state, who.id()).await.map(Json)
}

/// Makes a segment.
#[utoipa::path(post, path = "/api/v1/projects/{project}/segments", tag = "segments",
               params(("project" = String, Path)), request_body = CreateSegment,
               responses((status = 201, body = ChangesetDetail)))]
pub async fn create_segment(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Body(body): Body<CreateSegment>,
) -> Result<(StatusCode, Json<ChangesetDetail>), AppError> {
    let done = app::segment::create(&state, &who, body).await?;
    Ok((StatusCode::CREATED, Json(done)))
}

/// Reads a segment with the flags and segments that use it.
#[utoipa::path(get, path = "/api/v1/projects/{project}/segments/{segment}", tag = "segments",
               params(("project" = String, Path), ("segment" = String, Path)),
               responses((status = 200, body = SegmentDetail)))]
pub async fn get_segment(
    State(state): State<AppState>,
    CanView(who): CanView,
    Path((_, segment)): Path<(String, SegmentKey)>,
) -> Result<Json<SegmentDetail>, AppError> {
    app::segment::detail(&state, who.id(), &segment).await.map(Json)
}

/// Replaces who is in a segment. `If-Match` carries its version.
#[utoipa::path(put, path = "/api/v1/projects/{project}/segments/{segment}", tag = "segments",
               params(("project" = String, Path), ("segment" = String, Path), ("If-Match" = String, Header)),
               request_body = UpdateSegment, responses((status = 200, body = ChangesetDetail)))]
pub async fn update_segment(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Path((_, segment)): Path<(String, SegmentKey)>,
    IfMatch(version): IfMatch,
    Body(body): Body<UpdateSegment>,
) -> Result<Json<ChangesetDetail>, AppError> {
    app::segment::update(&state, &who, segment, version, body).await.map(Json)
}

/// Removes a segment that no flag and no other segment uses.
#[utoipa::path(delete, path = "/api/v1/projects/{project}/segments/{segment}", tag = "segments",
               params(("project" = String, Path), ("segment" = String, Path)),
               responses((status = 200, body = ChangesetDetail)))]
pub async fn delete_segment(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Path((_, segment)): Path<(String, SegmentKey)>,
) -> Result<Json<ChangesetDetail>, AppError> {
    app::segment::delete(&state, &who, segment).await.map(Json)
}
