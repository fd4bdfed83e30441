//! Edges.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use shared::model::id::ProcessId;
use shared::model::timestamp::Timestamp;
use shared::wire::api::edge::EdgeList;
use shared::wire::api::insight::EdgeHistory;
use time::{Duration, OffsetDateTime};

use crate::app;
use crate::auth::permission::{CanManageInstallation, SignedIn};
use crate::error::AppError;
use crate::http::csv::{Table, answer, number};
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
               params(("process" = String, Path), RangeQuery), responses((status = 200, content((EdgeHistory = "application/json"), (String = "text/csv")))))]
pub async fn edge_history(
    State(state): State<AppState>,
    _: SignedIn,
    Path(process): Path<ProcessId>,
    Query(query): Query<RangeQuery>,
) -> Result<Response, AppError> {
    let found = app::edge::history(&state, process, query.range()).await?;
    answer(query.format, &["edge", &process.to_string(), "history"], found)
}

impl Table for EdgeHistory {
    fn columns(&self) -> Vec<&'static str> {
        vec!["from", "memory_bytes", "unsent", "revisions_behind", "lag_ms", "evaluations_per_second"]
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let mut at = OffsetDateTime::from(self.from);
        let mut rows = Vec::with_capacity(self.points.len());
        for point in &self.points {
            rows.push(vec![
                Timestamp::from(at).to_string(),
                number(point.map(|point| point.memory_bytes)),
                number(point.map(|point| point.unsent)),
                number(point.map(|point| point.revisions_behind)),
                number(point.and_then(|point| point.lag_ms)),
                number(point.and_then(|point| point.evaluations_per_second)),
            ]);
            at += Duration::seconds(self.interval_seconds.into());
        }
        rows
    }
}
