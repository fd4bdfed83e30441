//! The two lists of keys of a segment, as JSON and as CSV.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use shared::model::changeset::Note;
use shared::model::key::SegmentKey;
use shared::wire::api::segment::{EditKeys, EditedKeys, KeyList, SegmentKeys, SegmentMembership};
use utoipa::IntoParams;

use crate::app;
use crate::auth::permission::{CanEditFlags, CanView};
use crate::error::AppError;
use crate::http::csv::{self, Format, KEY_COLUMN, Table, answer};
use crate::http::input::{Body, IfMatch, Path, Query, Raw};
use crate::state::AppState;

/// Which keys to list, and how.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct KeysQuery {
    /// Part of the key, in any case; all keys when absent.
    q: Option<String>,
    /// JSON when absent.
    format: Option<Format>,
}

/// Why the list is replaced.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ReplaceQuery {
    /// Why; may be empty.
    #[serde(default)]
    #[param(value_type = Option<String>)]
    note: Note,
}

/// Whom to ask for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ContainsQuery {
    /// A targeting key.
    key: String,
}

/// Adds keys to a list of a segment and removes others. `If-Match` carries the segment's version.
#[utoipa::path(post, path = "/api/v1/projects/{project}/segments/{segment}/keys", tag = "segments",
               params(("project" = String, Path), ("segment" = String, Path), ("If-Match" = String, Header)),
               request_body = EditKeys, responses((status = 200, body = EditedKeys)))]
pub async fn edit_segment_keys(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Path((_, segment)): Path<(String, SegmentKey)>,
    IfMatch(version): IfMatch,
    Body(body): Body<EditKeys>,
) -> Result<Json<EditedKeys>, AppError> {
    app::segment::edit_keys(&state, &who, &segment, version, body).await.map(Json)
}

/// Reads a list of keys of a segment: all, or those that hold a text.
#[utoipa::path(get, path = "/api/v1/projects/{project}/segments/{segment}/keys/{list}", tag = "segments",
               params(("project" = String, Path), ("segment" = String, Path), ("list" = KeyList, Path), KeysQuery),
               responses((status = 200, content((SegmentKeys = "application/json"), (String = "text/csv")))))]
pub async fn list_segment_keys(
    State(state): State<AppState>,
    CanView(who): CanView,
    Path((_, segment, list)): Path<(String, SegmentKey, KeyList)>,
    Query(query): Query<KeysQuery>,
) -> Result<Response, AppError> {
    let text = query.q.as_deref().filter(|text| !text.is_empty());
    let keys = app::segment::list_keys(&state, who.id(), &segment, list, text).await?;
    answer(query.format, &[&who.project.key, segment.as_str(), list.as_str()], keys)
}

/// Replaces a list of keys of a segment by the first column of a CSV file: one key per line, `key` in the first line being
/// a header; at most 10,000. `If-Match` carries the segment's version.
#[utoipa::path(put, path = "/api/v1/projects/{project}/segments/{segment}/keys/{list}", tag = "segments",
               params(("project" = String, Path), ("segment" = String, Path), ("list" = KeyList, Path), ReplaceQuery,
                      ("If-Match" = String, Header)),
               request_body(content = String, content_type = "text/csv"),
               responses((status = 200, body = EditedKeys)))]
pub async fn replace_segment_keys(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Path((_, segment, list)): Path<(String, SegmentKey, KeyList)>,
    Query(query): Query<ReplaceQuery>,
    IfMatch(version): IfMatch,
    Raw(body): Raw,
) -> Result<Json<EditedKeys>, AppError> {
    let keys = csv::keys(&body)?;
    app::segment::replace_keys(&state, &who, &segment, list, version, keys, &query.note).await.map(Json)
}

/// Says whether the person of a key is in a segment, as far as the key alone tells.
#[utoipa::path(get, path = "/api/v1/projects/{project}/segments/{segment}/contains", tag = "segments",
               params(("project" = String, Path), ("segment" = String, Path), ContainsQuery),
               responses((status = 200, body = SegmentMembership)))]
pub async fn ask_segment(
    State(state): State<AppState>,
    CanView(who): CanView,
    Path((_, segment)): Path<(String, SegmentKey)>,
    Query(query): Query<ContainsQuery>,
) -> Result<Json<SegmentMembership>, AppError> {
    app::segment::contains(&state, who.id(), &segment, query.key).await.map(Json)
}

impl Table for SegmentKeys {
    fn columns(&self) -> Vec<&'static str> {
        vec![KEY_COLUMN]
    }

    fn rows(&self) -> Vec<Vec<String>> {
        self.keys.iter().map(|key| vec![csv::key(key)]).collect()
    }
}
