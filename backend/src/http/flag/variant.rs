//! Variants of a flag with their uses, and the tags of all flags.

use axum::Json;
use axum::extract::State;
use shared::model::key::FlagKey;
use shared::wire::api::flag::TagList;
use shared::wire::api::variant::VariantList;

use crate::app;
use crate::auth::permission::CanView;
use crate::error::AppError;
use crate::http::input::Path;
use crate::state::AppState;

/// Lists the variants of a flag, each with the places that name it and the flags that need it.
#[utoipa::path(get, path = "/api/v1/projects/{project}/flags/{flag}/variants", tag = "flags",
               params(("project" = String, Path), ("flag" = String, Path)),
               responses((status = 200, body = VariantList)))]
pub async fn list_variants(
    State(state): State<AppState>,
    CanView(who): CanView,
    Path((_, flag)): Path<(String, FlagKey)>,
) -> Result<Json<VariantList>, AppError> {
    app::flag::variants(&state, who.id(), &flag).await.map(Json)
}

/// Lists the tags of a project's flags.
#[utoipa::path(get, path = "/api/v1/projects/{project}/tags", tag = "flags", params(("project" = String, Path)),
               responses((status = 200, body = TagList)))]
pub async fn list_tags(State(state): State<AppState>, CanView(who): CanView) -> Result<Json<TagList>, AppError> {
    app::flag::tags(&state, who.id()).await.map(Json)
}
