//! What was counted on edges and did not arrive.

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use shared::model::timestamp::Timestamp;
use shared::wire::api::insight::{CountLoss, CountLosses};
use utoipa::IntoParams;

use crate::app;
use crate::app::range::Range;
use crate::auth::permission::SignedIn;
use crate::error::AppError;
use crate::http::csv::{Format, Table, answer, text};
use crate::http::input::Query;
use crate::state::AppState;

/// Which time to look at.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct RangeQuery {
    /// First moment.
    from: Option<Timestamp>,
    /// One past the last moment; now when absent.
    to: Option<Timestamp>,
    /// `json` or `csv`.
    pub format: Option<Format>,
}

impl RangeQuery {
    /// What is asked for.
    pub fn range(&self) -> Range {
        Range { from: self.from, to: self.to, last_minutes: None }
    }
}

/// Lists gaps in the counts with the most that each can have lost, beside what arrived; of the last 24 hours when no range
/// is given.
#[utoipa::path(get, path = "/api/v1/counts/losses", tag = "counts", params(RangeQuery),
               responses((status = 200, content((CountLosses = "application/json"), (String = "text/csv")))))]
pub async fn list_losses(
    State(state): State<AppState>,
    _: SignedIn,
    Query(query): Query<RangeQuery>,
) -> Result<Response, AppError> {
    let found = app::count::losses(&state, query.range()).await?;
    answer(query.format, &["lost-counts"], found)
}

impl Table for CountLosses {
    fn columns(&self) -> Vec<&'static str> {
        vec!["edge", "process", "cause", "from", "to", "lost_max", "is_final"]
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |loss: &CountLoss| {
            vec![
                text(&loss.edge),
                loss.process.to_string(),
                loss.cause.clone(),
                loss.from.to_string(),
                loss.to.to_string(),
                loss.lost_max.to_string(),
                loss.is_final.to_string(),
            ]
        };
        self.items.iter().map(row).collect()
    }
}
