//! Flags that may go, and how one flag is used.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use shared::model::key::FlagKey;
use shared::sentence;
use shared::wire::api::insight::{FlagUsage, StaleFlag, StaleFlags};
use utoipa::IntoParams;

use crate::app;
use crate::auth::permission::CanView;
use crate::error::AppError;
use crate::http::csv::{Format, Table, answer, number, text};
use crate::http::input::{Path, Query};
use crate::state::AppState;

/// How to write the list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct StaleQuery {
    /// `json` or `csv`.
    format: Option<Format>,
}

/// Lists flags that may go, each with its reasons in words.
#[utoipa::path(get, path = "/api/v1/projects/{project}/stale-flags", tag = "flags",
               params(("project" = String, Path), StaleQuery), responses((status = 200, content((StaleFlags = "application/json"), (String = "text/csv")))))]
pub async fn list_stale_flags(
    State(state): State<AppState>,
    CanView(who): CanView,
    Query(query): Query<StaleQuery>,
) -> Result<Response, AppError> {
    let found = app::stale::list(&state, who.id()).await?;
    answer(query.format, &[&who.project.key, "stale-flags"], found)
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

impl Table for StaleFlags {
    fn columns(&self) -> Vec<&'static str> {
        vec!["flag", "name", "kind", "created_at", "activity", "evaluated_at", "reasons"]
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |flag: &StaleFlag| {
            let usage = &flag.usage;
            let reasons: Vec<&str> = usage.reasons.iter().map(|reason| reason.sentence.as_str()).collect();
            vec![
                text(&flag.key),
                text(&flag.name),
                sentence::kind(flag.kind).to_owned(),
                usage.created_at.to_string(),
                text(&usage.sentence),
                number(usage.environments.iter().filter_map(|environment| environment.evaluated_at).max()),
                text(reasons.join("; ")),
            ]
        };
        self.items.iter().map(row).collect()
    }
}
