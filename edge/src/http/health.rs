//! Health, metrics, and the answer to every other address; these may take the long way through a router.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::bus::Bus;
use crate::http::{HttpState, docs};
use crate::snapshot::Snapshot;

/// Every route but the hot ones.
pub(super) fn router(state: Arc<HttpState>) -> Router {
    Router::new()
        .route("/livez", get(show_liveness))
        .route("/readyz", get(show_readiness))
        .route("/metrics", get(show_metrics))
        .merge(docs::router())
        .fallback(not_found)
        .with_state(state)
}

/// That the process runs.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Liveness {
    #[schema(example = "alive")]
    status: &'static str,
}

/// Whether requests should be sent here.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"ready": true, "stale": false,
                          "environments": [{"name": "shop/production", "revision": 413, "stale": false}]}))]
pub(super) struct Readiness {
    ready: bool,
    /// Why not: begins with `stopping`, `no state`, `stale` or `incomplete`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reason: Option<&'static str>,
    /// Answers may be out of date.
    stale: bool,
    environments: Vec<EnvironmentReadiness>,
}

/// How far one environment is.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EnvironmentReadiness {
    /// `project/environment`.
    name: String,
    /// What is answered by.
    revision: u64,
    /// Its answers may be out of date.
    stale: bool,
}

#[derive(Serialize)]
struct Problem {
    #[serde(rename = "errorCode")]
    error_code: &'static str,
    #[serde(rename = "errorDetails")]
    error_details: String,
}

async fn show_liveness() -> Json<Liveness> {
    Json(Liveness { status: "alive" })
}

async fn show_readiness(State(state): State<Arc<HttpState>>) -> Response {
    let snapshot = state.app.snapshot.load();
    let reason = unready(&state.app, &snapshot, state.bus.is_none());
    let mut environments: Vec<EnvironmentReadiness> = snapshot
        .environments
        .values()
        .map(|environment| EnvironmentReadiness {
            name: environment.name.to_string(),
            revision: environment.revision,
            stale: environment.is_stale,
        })
        .collect();
    environments.sort_by(|a, b| a.name.cmp(&b.name));
    let stale = environments.iter().any(|environment| environment.stale);
    let status = if reason.is_none() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(Readiness { ready: reason.is_none(), reason, stale, environments })).into_response()
}

/// Why nobody should send requests here; `None` when all is well.
fn unready(app: &App, snapshot: &Snapshot, is_offline: bool) -> Option<&'static str> {
    if app.is_stopping() {
        Some("stopping: this edge is on its way out")
    } else if snapshot.environments.is_empty() {
        Some("no state: nothing came from NATS or from disk yet")
    } else if !snapshot.is_live && !is_offline {
        Some("stale: answers come from memory, the feed is not live")
    } else if snapshot.environments.values().any(|environment| environment.is_stale) {
        Some("stale: the bucket does not hold everything that is answered from")
    } else if snapshot.is_filling {
        Some("incomplete: the bucket is being filled")
    } else {
        None
    }
}

async fn show_metrics(State(state): State<Arc<HttpState>>) -> Response {
    let text = state.app.metrics.render(&state.app.snapshot.load(), state.bus.as_ref().is_some_and(Bus::is_up));
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

async fn not_found(request: axum::extract::Request) -> Response {
    let path: String = request.uri().path().chars().take(100).collect();
    let error_details = format!("there is nothing at {path}; flags are evaluated at POST /evaluate");
    (StatusCode::NOT_FOUND, Json(Problem { error_code: "GENERAL", error_details })).into_response()
}
