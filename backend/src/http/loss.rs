//! What was counted on edges and did not arrive.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use shared::model::timestamp::Timestamp;
use shared::wire::api::insight::CountLosses;
use utoipa::IntoParams;

use crate::app;
use crate::auth::permission::SignedIn;
use crate::error::AppError;
use crate::http::input::Query;
use crate::state::AppState;

/// Which time to look at.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct RangeQuery {
    /// First moment.
    pub from: Option<Timestamp>,
    /// One past the last moment; now when absent.
    pub to: Option<Timestamp>,
}

/// Lists gaps in the counts with the most that each can have lost, beside what arrived; of the last 24 hours when no range
/// is given.
#[utoipa::path(get, path = "/api/v1/counts/losses", tag = "counts", params(RangeQuery),
               responses((status = 200, body = CountLosses)))]
pub async fn list_losses(
    State(state): State<AppState>,
    _: SignedIn,
    Query(query): Query<RangeQuery>,
) -> Result<Json<CountLosses>, AppError> {
    app::loss::list(&state, query.from, query.to).await.map(Json)
}
