//! Segments.

mod keys;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
pub use keys::*;
use serde::Deserialize;
use shared::model::key::{FlagKey, SegmentKey};
use shared::wire::api::changeset::ChangesetDetail;
use shared::wire::api::segment::{
    CreateSegment, RenameSegment, SegmentDetail, SegmentEffect, SegmentList, SegmentUses, UpdateSegment,
};
use utoipa::IntoParams;

use crate::app;
use crate::auth::permission::{CanEditFlags, CanView};
use crate::error::AppError;
use crate::http::input::{Body, IfMatch, Path, Query};
use crate::state::AppState;

/// The most segments of a page.
const PAGE_MAX: u16 = 1_000;

/// Which segments to list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct SegmentsQuery {
    /// Part of the key or name, in any case.
    q: Option<String>,
    /// `next` of the page before.
    #[param(value_type = Option<String>)]
    after: Option<SegmentKey>,
    /// The most segments to answer, 1 to 1,000; as many when absent.
    limit: Option<u16>,
}

/// Where a page of flags begins.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct UsesQuery {
    /// `next` of the page before.
    #[param(value_type = Option<String>)]
    after: Option<FlagKey>,
}

/// Lists the segments of a project by key, with who uses them.
#[utoipa::path(get, path = "/api/v1/projects/{project}/segments", tag = "segments",
               params(("project" = String, Path), SegmentsQuery), responses((status = 200, body = SegmentList)))]
pub async fn list_segments(
    State(state): State<AppState>,
    CanView(who): CanView,
    Query(query): Query<SegmentsQuery>,
) -> Result<Json<SegmentList>, AppError> {
    let limit = query.limit.unwrap_or(PAGE_MAX);
    if !(1..=PAGE_MAX).contains(&limit) {
        return Err(AppError::field("limit", format!("{limit}; a page has 1 to {PAGE_MAX} segments")));
    }
    let text = query.q.as_deref().filter(|text| !text.is_empty());
    app::segment::list(&state, who.id(), text, query.after.as_ref(), limit.into()).await.map(Json)
}

/// Lists who uses a segment: flags by environment with the rules that ask for it, and other segments.
#[utoipa::path(get, path = "/api/v1/projects/{project}/segments/{segment}/uses", tag = "segments",
               params(("project" = String, Path), ("segment" = String, Path), UsesQuery),
               responses((status = 200, body = SegmentUses)))]
pub async fn list_segment_uses(
    State(state): State<AppState>,
    CanView(who): CanView,
    Path((_, segment)): Path<(String, SegmentKey)>,
    Query(query): Query<UsesQuery>,
) -> Result<Json<SegmentUses>, AppError> {
    app::segment::uses(&state, who.id(), &segment, query.after.as_ref()).await.map(Json)
}

/// What a change of a segment would do, and to whom; nothing is written.
#[utoipa::path(post, path = "/api/v1/projects/{project}/segments/{segment}/effect", tag = "segments",
               params(("project" = String, Path), ("segment" = String, Path)), request_body = UpdateSegment,
               responses((status = 200, body = SegmentEffect)))]
pub async fn get_segment_effect(
    State(state): State<AppState>,
    CanView(who): CanView,
    Path((_, segment)): Path<(String, SegmentKey)>,
    Body(body): Body<UpdateSegment>,
) -> Result<Json<SegmentEffect>, AppError> {
    app::segment::effect(&state, who.id(), segment, body).await.map(Json)
}

/// Gives a segment another name. `If-Match` carries its version.
#[utoipa::path(patch, path = "/api/v1/projects/{project}/segments/{segment}", tag = "segments",
               params(("project" = String, Path), ("segment" = String, Path), ("If-Match" = String, Header)),
               request_body = RenameSegment, responses((status = 200, body = ChangesetDetail)))]
pub async fn rename_segment(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Path((_, segment)): Path<(String, SegmentKey)>,
    IfMatch(version): IfMatch,
    Body(body): Body<RenameSegment>,
) -> Result<Json<ChangesetDetail>, AppError> {
    app::segment::rename(&state, &who, &segment, version, body).await.map(Json)
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
