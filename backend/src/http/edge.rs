//! Edges.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use shared::model::id::ProcessId;
use shared::wire::api::edge::EdgeList;

use crate::app;
use crate::auth::permission::{CanManageInstallation, SignedIn};
use crate::error::AppError;
use crate::http::input::Path;
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
