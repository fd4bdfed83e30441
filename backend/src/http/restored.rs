//! Databases that were restored.

use axum::Json;
use axum::extract::State;
use shared::wire::api::restored::{RestoredDetail, RestoredList};

use crate::app;
use crate::auth::permission::CanManageInstallation;
use crate::error::AppError;
use crate::http::input::Path;
use crate::state::AppState;

/// Lists the times at which a restored database met what was published, with what only edges have.
#[utoipa::path(get, path = "/api/v1/restored", tag = "history", responses((status = 200, body = RestoredList)))]
pub async fn list_restored(
    State(state): State<AppState>,
    _: CanManageInstallation,
) -> Result<Json<RestoredList>, AppError> {
    app::restored::list(&state).await.map(Json)
}

/// Deletes what only edges have since the database was restored.
#[utoipa::path(post, path = "/api/v1/restored/{revision}/confirm", tag = "history",
               params(("revision" = u64, Path)), responses((status = 200, body = RestoredDetail)))]
pub async fn confirm_restored(
    State(state): State<AppState>,
    CanManageInstallation(who): CanManageInstallation,
    Path(revision): Path<u64>,
) -> Result<Json<RestoredDetail>, AppError> {
    app::restored::confirm(&state, &who, revision).await.map(Json)
}
