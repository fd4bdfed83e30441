//! For whoever runs the process.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

use crate::error::AppError;
use crate::state::AppState;
use crate::{metrics, store};

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

/// Figures of this process, for Prometheus. Nobody has to sign in: they name no project, flag or person.
pub async fn metrics(State(state): State<AppState>) -> Result<impl IntoResponse, AppError> {
    let text = state.metrics.render(&state.pool).map_err(AppError::internal)?;
    Ok(([(CONTENT_TYPE, metrics::CONTENT_TYPE)], text))
}
