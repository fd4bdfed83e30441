//! For whoever runs the process.

use axum::extract::State;
use axum::http::StatusCode;

use crate::state::AppState;
use crate::store;

/// The process runs.
pub async fn livez() -> StatusCode {
    StatusCode::OK
}

/// Requests can be answered: PostgreSQL does.
pub async fn readyz(State(state): State<AppState>) -> (StatusCode, &'static str) {
    let answers = match state.pool.acquire().await {
        Ok(mut db) => store::changeset::current_revision(&mut db).await.is_ok(),
        Err(_) => false,
    };
    if answers {
        (StatusCode::OK, "ready\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "PostgreSQL does not answer\n")
    }
}
