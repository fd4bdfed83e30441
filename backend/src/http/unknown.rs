//! Flags that applications ask for and nobody has.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use shared::model::key::EnvironmentKey;
use shared::model::timestamp::Timestamp;
use shared::wire::api::insight::UnknownFlags;
use utoipa::IntoParams;

use crate::app;
use crate::auth::permission::CanView;
use crate::error::AppError;
use crate::http::input::Query;
use crate::state::AppState;

/// Where and when to look.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct UnknownQuery {
    /// Where; everywhere when absent.
    environment: Option<EnvironmentKey>,
    /// First moment; 24 hours before `to` when absent.
    from: Option<Timestamp>,
    /// One past the last moment; now when absent.
    to: Option<Timestamp>,
}

/// Lists flags that applications asked for and that nobody has, each with the nearest existing one.
#[utoipa::path(get, path = "/api/v1/projects/{project}/counts/unknown", tag = "counts",
               params(("project" = String, Path), UnknownQuery), responses((status = 200, body = UnknownFlags)))]
pub async fn list_unknown_flags(
    State(state): State<AppState>,
    CanView(who): CanView,
    Query(query): Query<UnknownQuery>,
) -> Result<Json<UnknownFlags>, AppError> {
    app::unknown::list(&state, who.id(), query.environment.as_ref(), query.from, query.to).await.map(Json)
}
