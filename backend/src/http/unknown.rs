//! Flags that applications ask for and nobody has.

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use shared::model::key::EnvironmentKey;
use shared::model::timestamp::Timestamp;
use shared::wire::api::insight::{UnknownFlag, UnknownFlags};
use utoipa::IntoParams;

use crate::app;
use crate::app::range::Range;
use crate::auth::permission::CanView;
use crate::error::AppError;
use crate::http::csv::{Format, Table, answer, text, text_or_empty};
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
    /// `json` or `csv`.
    format: Option<Format>,
}

/// Lists flags that applications asked for and that nobody has, each with the nearest existing one.
#[utoipa::path(get, path = "/api/v1/projects/{project}/counts/unknown", tag = "counts",
               params(("project" = String, Path), UnknownQuery), responses((status = 200, content((UnknownFlags = "application/json"), (String = "text/csv")))))]
pub async fn list_unknown_flags(
    State(state): State<AppState>,
    CanView(who): CanView,
    Query(query): Query<UnknownQuery>,
) -> Result<Response, AppError> {
    let range = Range { from: query.from, to: query.to, last_minutes: None };
    let found = app::count::unknown_flags(&state, who.id(), query.environment.as_ref(), range).await?;
    answer(query.format, &[&who.project.key, "unknown-flags"], found)
}

impl Table for UnknownFlags {
    fn columns(&self) -> Vec<&'static str> {
        vec!["flag", "environment", "sdk_key", "sdk_key_name", "count", "first_at", "last_at", "nearest", "sentence"]
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |flag: &UnknownFlag| {
            vec![
                text(&flag.key),
                text(&flag.environment),
                flag.sdk_key.to_string(),
                text(&flag.sdk_key_name),
                flag.count.to_string(),
                flag.first_at.to_string(),
                flag.last_at.to_string(),
                text_or_empty(flag.nearest.as_ref()),
                text(&flag.sentence),
            ]
        };
        self.items.iter().map(row).collect()
    }
}
