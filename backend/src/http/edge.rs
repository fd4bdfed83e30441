//! Edges.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use shared::model::id::ProcessId;
use shared::wire::api::edge::EdgeList;
use shared::wire::api::insight::EdgeHistory;

use crate::app;
use crate::auth::permission::{CanManageInstallation, SignedIn};
use crate::error::AppError;
use crate::http::input::{Path, Query};
use crate::http::loss::RangeQuery;
use crate::state::AppState;

/// Lists edges with what they answer by.
#[utoipa::path(get, path = "/api/v1/edges", tag = "edges", responses((status = 200, body = EdgeList)))]
pub async fn list_edges(State(state): State<AppState>, _: SignedIn) -> Result<Json<EdgeList>, AppError> {
    app::edge::list(&state).await.map(Json)
}

/// Makes a silent edge count no more; one that is heard again counts again.
#[utoipa::path(delete, path = "/api/v1/edges/{process}", tag = "edges", params(("process" = String, Path)),
               responses((status = 204)))]
pub async fn dismiss_edge(
    State(state): State<AppState>,
    _: CanManageInstallation,
    Path(process): Path<ProcessId>,
) -> Result<StatusCode, AppError> {
    app::edge::dismiss(&state, process).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// How an edge was over time: memory, rate, what waits, how far behind; in the last hour when no range is given, at most 31
/// days. Where it was not heard there is null.
#[utoipa::path(get, path = "/api/v1/edges/{process}/history", tag = "edges",
               params(("process" = String, Path), RangeQuery), responses((status = 200, body = EdgeHistory)))]
pub async fn edge_history(
    State(state): State<AppState>,
    _: SignedIn,
    Path(process): Path<ProcessId>,
    Query(query): Query<RangeQuery>,
) -> Result<Json<EdgeHistory>, AppError> {
    app::edge::history(&state, process, query.from, query.to).await.map(Json)
}
