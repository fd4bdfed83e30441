//! What a flag needs, and what needs it.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use shared::model::key::{EnvironmentKey, FlagKey};
use shared::wire::api::prerequisite::PrerequisiteGraph;
use utoipa::IntoParams;

use crate::app;
use crate::auth::permission::CanView;
use crate::error::AppError;
use crate::http::input::{Path, Query};
use crate::state::AppState;

/// Where to look.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct PrerequisitesQuery {
    /// Key of an environment.
    #[param(value_type = String)]
    environment: EnvironmentKey,
}

/// Reads what a flag needs and what needs it in an environment, each with what it answers now, and the segments it reaches.
#[utoipa::path(get, path = "/api/v1/projects/{project}/flags/{flag}/prerequisites", tag = "flags",
               params(("project" = String, Path), ("flag" = String, Path), PrerequisitesQuery),
               responses((status = 200, body = PrerequisiteGraph)))]
pub async fn get_prerequisites(
    State(state): State<AppState>,
    CanView(who): CanView,
    Path((_, flag)): Path<(String, FlagKey)>,
    Query(query): Query<PrerequisitesQuery>,
) -> Result<Json<PrerequisiteGraph>, AppError> {
    app::prerequisite::graph(&state, who.id(), &flag, query.environment).await.map(Json)
}
