//! What happened, how things were, and going back.

pub mod query;
mod table;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use shared::model::key::{FlagKey, SegmentKey};
use shared::wire::api::history::{
    FlagDiff, FlagThen, HistoryPage, RevertFlag, RevertRevision, Reverted, RevisionDetail, SegmentThen,
};

use crate::app;
use crate::auth::permission::{CanEditFlags, CanView};
use crate::error::AppError;
use crate::http::csv::day;
use crate::http::file::{FileFormat, file};
use crate::http::history::query::{BetweenQuery, FromQuery, HistoryQuery, MomentQuery};
use crate::http::input::{Body, Path, Query};
use crate::state::AppState;

/// Lists what happened in a project, newest first; as a file all of it, entry by entry.
#[utoipa::path(get, path = "/api/v1/projects/{project}/history", tag = "history",
               params(("project" = String, Path), HistoryQuery),
               responses((status = 200, content((HistoryPage = "application/json"), (String = "text/csv"),
                                                (String = "application/jsonl")))))]
pub async fn list_history(
    State(state): State<AppState>,
    CanView(who): CanView,
    Query(query): Query<HistoryQuery>,
) -> Result<Response, AppError> {
    let asked = query.read(&state, who.id()).await?;
    let name = ["history", &who.project.key, &day(state.clock.now().into())];
    match asked.format {
        FileFormat::Json => {
            let page = app::history::list(&state, who.id(), &asked.filter, asked.before, asked.limit).await?;
            Ok(Json(page).into_response())
        }
        format => file(format, &name, app::history::lines(state, who.id(), asked.filter)).await,
    }
}

/// Reads one revision with documents before and after.
#[utoipa::path(get, path = "/api/v1/projects/{project}/history/{revision}", tag = "history",
               params(("project" = String, Path), ("revision" = u64, Path), FromQuery),
               responses((status = 200, body = RevisionDetail)))]
pub async fn get_revision(
    State(state): State<AppState>,
    CanView(who): CanView,
    Path((_, revision)): Path<(String, u64)>,
    Query(query): Query<FromQuery>,
) -> Result<Json<RevisionDetail>, AppError> {
    app::history::detail(&state, who.id(), revision, query.after.unwrap_or(0)).await.map(Json)
}

/// Undoes what a revision did, as a changeset like any other: it may wait for approval. Kills are not undone. Where
/// something was changed again since, the answer is 409 `changed` and names by what, unless `force` is set.
#[utoipa::path(post, path = "/api/v1/projects/{project}/history/{revision}/revert", tag = "history",
               params(("project" = String, Path), ("revision" = u64, Path)), request_body = RevertRevision,
               responses((status = 200, body = Reverted)))]
pub async fn revert_revision(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Path((_, revision)): Path<(String, u64)>,
    Body(body): Body<RevertRevision>,
) -> Result<Json<Reverted>, AppError> {
    app::history::revert_revision(&state, &who, revision, body).await.map(Json)
}

/// Reads a flag as it was at a revision or a time, also one that is archived now.
#[utoipa::path(get, path = "/api/v1/projects/{project}/flags/{flag}/at", tag = "history",
               params(("project" = String, Path), ("flag" = String, Path), MomentQuery),
               responses((status = 200, body = FlagThen)))]
pub async fn flag_at(
    State(state): State<AppState>,
    CanView(who): CanView,
    Path((_, flag)): Path<(String, FlagKey)>,
    Query(query): Query<MomentQuery>,
) -> Result<Json<FlagThen>, AppError> {
    app::history::flag_at(&state, who.id(), &flag, query.moment()?).await.map(Json)
}

/// Reads a segment as it was at a revision or a time, also one that is gone now.
#[utoipa::path(get, path = "/api/v1/projects/{project}/segments/{segment}/at", tag = "history",
               params(("project" = String, Path), ("segment" = String, Path), MomentQuery),
               responses((status = 200, body = SegmentThen)))]
pub async fn segment_at(
    State(state): State<AppState>,
    CanView(who): CanView,
    Path((_, segment)): Path<(String, SegmentKey)>,
    Query(query): Query<MomentQuery>,
) -> Result<Json<SegmentThen>, AppError> {
    app::history::segment_at(&state, who.id(), &segment, query.moment()?).await.map(Json)
}

/// Compares a flag at two revisions.
#[utoipa::path(get, path = "/api/v1/projects/{project}/flags/{flag}/diff", tag = "history",
               params(("project" = String, Path), ("flag" = String, Path), BetweenQuery),
               responses((status = 200, body = FlagDiff)))]
pub async fn flag_diff(
    State(state): State<AppState>,
    CanView(who): CanView,
    Path((_, flag)): Path<(String, FlagKey)>,
    Query(query): Query<BetweenQuery>,
) -> Result<Json<FlagDiff>, AppError> {
    app::history::flag_diff(&state, who.id(), &flag, (query.from, query.to)).await.map(Json)
}

/// Brings a flag back to how it was at a revision, as a changeset like any other.
#[utoipa::path(post, path = "/api/v1/projects/{project}/flags/{flag}/revert", tag = "history",
               params(("project" = String, Path), ("flag" = String, Path)), request_body = RevertFlag,
               responses((status = 200, body = Reverted)))]
pub async fn revert_flag(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Path((_, flag)): Path<(String, FlagKey)>,
    Body(body): Body<RevertFlag>,
) -> Result<Json<Reverted>, AppError> {
    app::history::revert_flag(&state, &who, &flag, body).await.map(Json)
}
