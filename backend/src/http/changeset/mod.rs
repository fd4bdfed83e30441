//! Changesets: asked for, tried, listed, read and edited.

pub mod step;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use shared::model::changeset::ChangesetState;
use shared::model::id::ChangesetId;
use shared::model::key::EnvironmentKey;
use shared::wire::api::changeset::{
    ChangesetDetail, ChangesetPage, ChangesetReview, CreateChangeset, DryRun, UpdateChangeset,
};
use utoipa::IntoParams;

use crate::app::changeset::{proposal, review};
use crate::auth::permission::CanView;
use crate::auth::proposal::CanPropose;
use crate::error::AppError;
use crate::http::input::{Body, IfMatch, Path, Query};
use crate::state::AppState;

/// The most changesets on a page.
const LIMIT_MAX: usize = 100;
/// Changesets on a page when nothing else is asked for.
const LIMIT: usize = 50;

/// Which changesets to list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ChangesetQuery {
    /// `draft`, `in_review`, `approved`, `scheduled`, `applied`, `rejected`, `cancelled` or `suspended`; `open` for all that
    /// somebody asked for and that are not ended, `done` for all that are ended. All when absent.
    state: Option<String>,
    /// True for those that the reader wrote a part of, drafts included.
    #[serde(default)]
    mine: bool,
    /// True for those that wait for the reader's approval.
    #[serde(default)]
    waiting: bool,
    /// Only those that change something in this environment.
    #[param(value_type = Option<String>)]
    environment: Option<EnvironmentKey>,
    /// `next` of the page before.
    #[param(value_type = Option<String>)]
    after: Option<ChangesetId>,
    /// 1 to 100; 50 when absent.
    limit: Option<usize>,
}

/// Lists changesets that people look at or looked at, the newest first, with how many there are by tab.
#[utoipa::path(get, path = "/api/v1/projects/{project}/changesets", tag = "changesets",
               params(("project" = String, Path), ChangesetQuery), responses((status = 200, body = ChangesetPage)))]
pub async fn list_changesets(
    State(state): State<AppState>,
    CanView(who): CanView,
    Query(query): Query<ChangesetQuery>,
) -> Result<Json<ChangesetPage>, AppError> {
    let limit = query.limit.unwrap_or(LIMIT);
    if !(1..=LIMIT_MAX).contains(&limit) {
        return Err(AppError::field("limit", format!("{limit} is not 1 to {LIMIT_MAX}")));
    }
    let wanted = review::Wanted {
        states: states(query.state.as_deref())?,
        mine: query.mine,
        waiting: query.waiting,
        environment: query.environment,
        after: query.after,
    };
    review::list(&state, &who, wanted, limit).await.map(Json)
}

/// Makes changes, all or nothing: applied at once, kept as a draft, or put before those who have to agree.
#[utoipa::path(post, path = "/api/v1/projects/{project}/changesets", tag = "changesets",
               params(("project" = String, Path)), request_body = CreateChangeset,
               responses((status = 201, body = ChangesetDetail)))]
pub async fn create_changeset(
    State(state): State<AppState>,
    CanPropose(who): CanPropose,
    Body(body): Body<CreateChangeset>,
) -> Result<(StatusCode, Json<ChangesetDetail>), AppError> {
    let done = proposal::create(&state, &who, body).await?;
    Ok((StatusCode::CREATED, Json(done)))
}

/// Says what changes would do: to whom, where, and who would have to agree. Nothing is written.
#[utoipa::path(post, path = "/api/v1/projects/{project}/changesets/dry-run", tag = "changesets",
               params(("project" = String, Path)), request_body = UpdateChangeset,
               responses((status = 200, body = DryRun)))]
pub async fn dry_run_changeset(
    State(state): State<AppState>,
    CanPropose(who): CanPropose,
    Body(body): Body<UpdateChangeset>,
) -> Result<Json<DryRun>, AppError> {
    proposal::dry_run(&state, &who, body).await.map(Json)
}

/// Reads a changeset with all that its page shows; one that is not ended is tried against how things stand now.
#[utoipa::path(get, path = "/api/v1/projects/{project}/changesets/{changeset}", tag = "changesets",
               params(("project" = String, Path), ("changeset" = String, Path)),
               responses((status = 200, body = ChangesetReview)))]
pub async fn get_changeset(
    State(state): State<AppState>,
    CanView(who): CanView,
    Path((_, changeset)): Path<(String, ChangesetId)>,
) -> Result<Json<ChangesetReview>, AppError> {
    review::detail(&state, &who, changeset).await.map(Json)
}

/// Gives a changeset that waits another content, which voids its approvals. `If-Match` carries its version.
#[utoipa::path(put, path = "/api/v1/projects/{project}/changesets/{changeset}", tag = "changesets",
               params(("project" = String, Path), ("changeset" = String, Path), ("If-Match" = String, Header)),
               request_body = UpdateChangeset, responses((status = 200, body = ChangesetReview)))]
pub async fn update_changeset(
    State(state): State<AppState>,
    CanPropose(who): CanPropose,
    Path((_, changeset)): Path<(String, ChangesetId)>,
    IfMatch(version): IfMatch,
    Body(body): Body<UpdateChangeset>,
) -> Result<Json<ChangesetReview>, AppError> {
    proposal::update(&state, &who, changeset, version, body).await?;
    review::detail(&state, &who, changeset).await.map(Json)
}

fn states(wanted: Option<&str>) -> Result<Vec<ChangesetState>, AppError> {
    use ChangesetState::{Applied, Approved, Cancelled, InReview, Rejected, Scheduled, Suspended};
    match wanted {
        None => Ok(Vec::new()),
        Some("open") => Ok(vec![InReview, Approved, Scheduled, Suspended]),
        Some("done") => Ok(vec![Applied, Rejected, Cancelled]),
        Some(state) => match state.parse() {
            Ok(state) => Ok(vec![state]),
            Err(_) => {
                let known =
                    "draft, in_review, approved, scheduled, applied, rejected, cancelled, suspended, open or done";
                Err(AppError::field("state", format!("'{state}' is not {known}")))
            }
        },
    }
}
