//! Counts of evaluations.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use shared::model::key::{EnvironmentKey, FlagKey};
use shared::model::timestamp::Timestamp;
use shared::wire::api::count::CountSeries;
use utoipa::IntoParams;

use crate::app;
use crate::auth::permission::CanView;
use crate::error::AppError;
use crate::http::input::{Path, Query};
use crate::state::AppState;

/// Which time to look at.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct CountQuery {
    /// First moment; one hour before `to` when absent.
    from: Option<Timestamp>,
    /// One past the last moment; now when absent.
    to: Option<Timestamp>,
}

/// Reads evaluations of a flag by minute and variant, at most 1,440 minutes.
#[utoipa::path(get, path = "/api/v1/projects/{project}/flags/{flag}/environments/{environment}/counts",
               tag = "counts",
               params(("project" = String, Path), ("flag" = String, Path), ("environment" = String, Path), CountQuery),
               responses((status = 200, body = CountSeries)))]
pub async fn get_counts(
    State(state): State<AppState>,
    CanView(who): CanView,
    Path((_, flag, environment)): Path<(String, FlagKey, EnvironmentKey)>,
    Query(query): Query<CountQuery>,
) -> Result<Json<CountSeries>, AppError> {
    let (from, to) = (query.from.map(Into::into), query.to.map(Into::into));
    app::count::by_variant(&state, who.id(), &flag, &environment, from, to).await.map(Json)
}
