//! Many flags at once: one action on them, or bringing them from one environment to another.

use axum::Json;
use axum::extract::State;
use shared::wire::api::bulk::{BulkChange, BulkResult};
use shared::wire::api::changeset::ChangesetDetail;
use shared::wire::api::compare::{ComparisonPage, Promote};

use crate::app;
use crate::app::flag::CompareQuery;
use crate::auth::permission::{CanEditFlags, CanView};
use crate::error::AppError;
use crate::http::input::{Body, Query};
use crate::state::AppState;

/// Does one thing with many flags as one changeset, all or nothing; answers what became of each.
#[utoipa::path(post, path = "/api/v1/projects/{project}/flag-actions", tag = "flags",
               params(("project" = String, Path)), request_body = BulkChange,
               responses((status = 200, body = BulkResult)))]
pub async fn change_flags(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Body(body): Body<BulkChange>,
) -> Result<Json<BulkResult>, AppError> {
    app::flag::bulk(&state, &who, body).await.map(Json)
}

/// Compares how flags are set up in two environments.
#[utoipa::path(get, path = "/api/v1/projects/{project}/compare", tag = "flags",
               params(("project" = String, Path), CompareQuery), responses((status = 200, body = ComparisonPage)))]
pub async fn compare_environments(
    State(state): State<AppState>,
    CanView(who): CanView,
    Query(query): Query<CompareQuery>,
) -> Result<Json<ComparisonPage>, AppError> {
    app::flag::compare(&state, &who, query).await.map(Json)
}

/// Sets flags up in one environment as they are in another, as one changeset; segments they use come along, seeds stay.
#[utoipa::path(post, path = "/api/v1/projects/{project}/promote", tag = "flags", params(("project" = String, Path)),
               request_body = Promote, responses((status = 200, body = ChangesetDetail)))]
pub async fn promote_flags(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Body(body): Body<Promote>,
) -> Result<Json<ChangesetDetail>, AppError> {
    app::flag::promote(&state, &who, body).await.map(Json)
}
