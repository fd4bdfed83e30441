//! Flags that may go, and how one flag is used.

use axum::Json;
use axum::extract::State;
use shared::model::key::FlagKey;
use shared::wire::api::insight::{FlagUsage, StaleFlags};

use crate::app;
use crate::auth::permission::CanView;
use crate::error::AppError;
use crate::http::input::Path;
use crate::state::AppState;

/// Lists flags that may go, each with its reasons in words.
#[utoipa::path(get, path = "/api/v1/projects/{project}/stale-flags", tag = "flags", params(("project" = String, Path)),
               responses((status = 200, body = StaleFlags)))]
pub async fn list_stale_flags(
    State(state): State<AppState>,
    CanView(who): CanView,
) -> Result<Json<StaleFlags>, AppError> {
    app::stale::list(&state, who.id()).await.map(Json)
}

/// When a flag was last evaluated in each environment, and whether it may go.
#[utoipa::path(get, path = "/api/v1/projects/{project}/flags/{flag}/usage", tag = "flags",
               params(("project" = String, Path), ("flag" = String, Path)), responses((status = 200, body = FlagUsage)))]
pub async fn get_flag_usage(
    State(state): State<AppState>,
    CanView(who): CanView,
    Path((_, flag)): Path<(String, FlagKey)>,
) -> Result<Json<FlagUsage>, AppError> {
    app::stale::usage(&state, who.id(), &flag).await.map(Json)
}
