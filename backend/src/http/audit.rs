//! The audit log.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use shared::model::id::{ProjectId, UserId};
use shared::model::key::EnvironmentKey;
use shared::model::timestamp::Timestamp;
use shared::wire::api::history::{AuditItem, AuditPage};
use time::OffsetDateTime;
use utoipa::IntoParams;

use crate::app;
use crate::auth::permission::{CanManageInstallation, CanManageMembers};
use crate::error::AppError;
use crate::http::csv::{day, text, text_or_empty};
use crate::http::file::{FileFormat, Row, file};
use crate::http::history::query::{bounded, check_limit, check_time};
use crate::http::input::Query;
use crate::state::AppState;
use crate::store::audit::list::Filter;

/// The longest text to search for, in characters.
const TEXT_CHARS_MAX: usize = 200;

/// Which items to list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct AuditQuery {
    /// Only what this person did, by id.
    actor: Option<UserId>,
    /// `token.created`, or `token` for all about tokens; changesets are `changeset.applied`.
    kind: Option<String>,
    /// Only what names this environment.
    #[param(value_type = Option<String>)]
    environment: Option<EnvironmentKey>,
    /// First moment.
    from: Option<Timestamp>,
    /// One past the last moment.
    to: Option<Timestamp>,
    /// Part of a name, a note or a reason, in any case; at most 200 characters.
    q: Option<String>,
    /// `next` of the page before.
    after: Option<String>,
    /// 1 to 100; 50 when absent. Files hold everything.
    limit: Option<usize>,
    /// `json`, or a file: `csv` or `jsonl`.
    format: Option<FileFormat>,
}

/// Lists what people and programs did anywhere, newest first.
#[utoipa::path(get, path = "/api/v1/audit", tag = "history", params(AuditQuery),
               responses((status = 200, content((AuditPage = "application/json"), (String = "text/csv"),
                                                (String = "application/jsonl")))))]
pub async fn list_audit(
    State(state): State<AppState>,
    _: CanManageInstallation,
    Query(query): Query<AuditQuery>,
) -> Result<Response, AppError> {
    answer(state, query, None).await
}

/// Lists what people and programs did in a project, newest first.
#[utoipa::path(get, path = "/api/v1/projects/{project}/audit", tag = "history",
               params(("project" = String, Path), AuditQuery),
               responses((status = 200, content((AuditPage = "application/json"), (String = "text/csv"),
                                                (String = "application/jsonl")))))]
pub async fn list_project_audit(
    State(state): State<AppState>,
    CanManageMembers(who): CanManageMembers,
    Query(query): Query<AuditQuery>,
) -> Result<Response, AppError> {
    answer(state, query, Some((who.id(), who.project.key))).await
}

async fn answer(
    state: AppState,
    query: AuditQuery,
    project: Option<(ProjectId, String)>,
) -> Result<Response, AppError> {
    check_time(query.from, query.to)?;
    let (limit, format) = (check_limit(query.limit)?, query.format.unwrap_or_default());
    let after = query.after.as_deref().map(app::audit::parse_after).transpose()?;
    let (project, key) = project.unzip();
    let filter = Filter {
        project,
        actor: query.actor,
        kind: bounded("kind", query.kind, TEXT_CHARS_MAX)?,
        environment: query.environment.map(String::from),
        from: query.from.map(OffsetDateTime::from),
        to: query.to.map(OffsetDateTime::from),
        text: bounded("q", query.q, TEXT_CHARS_MAX)?,
    };
    if format == FileFormat::Json {
        return Ok(Json(app::audit::list(&state, &filter, after, limit).await?).into_response());
    }
    let name = ["audit", key.as_deref().unwrap_or(""), &day(state.clock.now().into())];
    file(format, &name, app::audit::items(state, filter)).await
}

impl Row for AuditItem {
    const COLUMNS: &'static [&'static str] =
        &["at", "kind", "who", "via", "project", "subject", "revision", "note", "break_glass", "detail"];

    fn fields(&self) -> Vec<String> {
        vec![
            self.at.to_string(),
            text(&self.kind),
            text_or_empty(self.who.as_ref()),
            self.via.as_str().into(),
            text_or_empty(self.project.as_ref()),
            text(&self.subject),
            self.revision.map(|revision| revision.to_string()).unwrap_or_default(),
            text_or_empty(self.note.as_ref()),
            text_or_empty(self.break_glass.as_ref()),
            text_or_empty(self.detail.as_ref()),
        ]
    }
}
