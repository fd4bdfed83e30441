//! A project as one file: exported, planned, imported. Bodies may have 64 MiB here and nowhere else, so only two such
//! requests are served at once.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequest, Request, State};
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use shared::model::problem::FieldProblem;
use shared::wire::api::import::{ImportPlan, ImportProject, Imported};
use shared::wire::project_file::{FILE_BYTES_MAX, Head, HeadError, ProjectFile};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use utoipa::IntoParams;

use crate::app;
use crate::auth::permission::{CanEditFlags, CanView};
use crate::error::AppError;
use crate::http::input::{Query, parse};
use crate::state::AppState;

/// When to come again.
const BUSY_SECONDS: u64 = 5;

/// How to compare.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct PlanQuery {
    /// Whether what the file does not hold goes: flags are archived; segments, attributes and metrics are deleted.
    #[serde(default)]
    #[param(value_type = Option<bool>)]
    remove: bool,
}

/// A large body, read only while a permit is held.
pub struct Large {
    bytes: Bytes,
    permit: OwnedSemaphorePermit,
}

impl FromRequest<AppState> for Large {
    type Rejection = AppError;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, AppError> {
        let permit = permit(&state.exchanges)?;
        match Bytes::from_request(request, state).await {
            Ok(bytes) => Ok(Self { bytes, permit }),
            Err(error) if error.status() == 413 => Err(AppError::TooLarge(FILE_BYTES_MAX)),
            Err(error) => Err(AppError::BadRequest(error.body_text())),
        }
    }
}

/// Writes a project as one JSON file: all that people decided in it, without people, keys, kills and counts.
#[utoipa::path(get, path = "/api/v1/projects/{project}/export", tag = "exchange",
               params(("project" = String, Path)), responses((status = 200, body = ProjectFile)))]
pub async fn export_project(State(state): State<AppState>, CanView(who): CanView) -> Result<Response, AppError> {
    let _permit = permit(&state.exchanges)?;
    let file = app::exchange::export(&state, &who).await?;
    let disposition = format!("attachment; filename=\"{}.json\"", who.project.key);
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (CONTENT_DISPOSITION, HeaderValue::try_from(disposition).map_err(AppError::internal)?),
    ];
    Ok((headers, file).into_response())
}

/// Says what a file would change in a project, or what is wrong with it and where; at most 64 MiB. Nothing is written.
#[utoipa::path(post, path = "/api/v1/projects/{project}/import/plan", tag = "exchange",
               params(("project" = String, Path), PlanQuery), request_body = ProjectFile,
               responses((status = 200, body = ImportPlan)))]
pub async fn plan_import(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Query(query): Query<PlanQuery>,
    Large { bytes, permit: _permit }: Large,
) -> Result<Json<ImportPlan>, AppError> {
    let file = read_file(bytes).await?;
    app::exchange::plan(&state, &who, file, query.remove).await.map(Json)
}

/// Applies a file as it was planned, in numbered changesets; what touches a protected environment waits for others to
/// agree. Refused whole when anything is wrong, or when the project changed since the plan. At most 64 MiB.
#[utoipa::path(post, path = "/api/v1/projects/{project}/import", tag = "exchange",
               params(("project" = String, Path)), request_body = ImportProject,
               responses((status = 200, body = Imported)))]
pub async fn import_project(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Large { bytes, permit: _permit }: Large,
) -> Result<Json<Imported>, AppError> {
    /// What holds the file.
    #[derive(Deserialize)]
    struct Holder {
        file: Head,
    }
    let body: ImportProject = read(bytes, |holder: Holder| holder.file.check()).await?;
    app::exchange::import(&state, &who, body).await.map(Json)
}

/// Reads a file of a project; what is wrong is told with its place.
pub async fn read_file(bytes: Bytes) -> Result<ProjectFile, AppError> {
    read(bytes, |head: Head| head.check()).await
}

async fn read<H, T>(
    bytes: Bytes,
    check: impl FnOnce(H) -> Result<(), HeadError> + Send + 'static,
) -> Result<T, AppError>
where
    H: DeserializeOwned,
    T: DeserializeOwned + Send + 'static,
{
    // Large files keep a thread busy for seconds.
    let read = tokio::task::spawn_blocking(move || {
        check(parse(&bytes).map_err(inside)?).map_err(|error| match error {
            HeadError::Kind(_) => AppError::field("kind", error.to_string()),
            HeadError::Format(_) => AppError::field("format", error.to_string()),
        })?;
        parse(&bytes).map_err(inside)
    });
    read.await.map_err(AppError::internal)?
}

/// Problems of a file are told by their place in the file, wherever that stands.
fn inside(error: AppError) -> AppError {
    let AppError::Invalid(problems) = error else { return error };
    let shorter = |problem: FieldProblem| match problem.field.strip_prefix("file.") {
        Some(field) => FieldProblem { field: field.to_owned(), ..problem },
        None => problem,
    };
    AppError::Invalid(problems.into_iter().map(shorter).collect())
}

fn permit(exchanges: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, AppError> {
    exchanges.clone().try_acquire_owned().map_err(|_| AppError::Busy { seconds: BUSY_SECONDS })
}
