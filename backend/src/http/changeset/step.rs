//! The steps of a changeset's life; each answers the changeset as it is afterwards.

use axum::Json;
use axum::extract::State;
use shared::model::id::ChangesetId;
use shared::wire::api::changeset::{ApproveChangeset, ChangesetReview, CreateComment, WithReason};

use crate::app::changeset::review;
use crate::auth::permission::CanView;
use crate::auth::proposal::{CanApprove, CanBreakGlass, CanPropose};
use crate::error::AppError;
use crate::http::input::{Body, Path};
use crate::state::AppState;

/// Asks for what was a draft: applied at once where nobody else has to agree, else put before those who have to.
#[utoipa::path(post, path = "/api/v1/projects/{project}/changesets/{changeset}/submit", tag = "changesets",
               params(("project" = String, Path), ("changeset" = String, Path)),
               responses((status = 200, body = ChangesetReview)))]
pub async fn submit_changeset(
    State(state): State<AppState>,
    CanPropose(who): CanPropose,
    Path((_, changeset)): Path<(String, ChangesetId)>,
) -> Result<Json<ChangesetReview>, AppError> {
    review::start(&state, &who, changeset).await?;
    review::detail(&state, &who, changeset).await.map(Json)
}

/// Agrees to a changeset as it was read; with the last approval that was missing it is applied. When it does not fit any
/// more it is suspended instead, and says why.
#[utoipa::path(post, path = "/api/v1/projects/{project}/changesets/{changeset}/approve", tag = "changesets",
               params(("project" = String, Path), ("changeset" = String, Path)), request_body = ApproveChangeset,
               responses((status = 200, body = ChangesetReview)))]
pub async fn approve_changeset(
    State(state): State<AppState>,
    CanApprove(who): CanApprove,
    Path((_, changeset)): Path<(String, ChangesetId)>,
    Body(body): Body<ApproveChangeset>,
) -> Result<Json<ChangesetReview>, AppError> {
    review::approve(&state, &who, changeset, &body.digest, &body.note).await?;
    review::detail(&state, &who, changeset).await.map(Json)
}

/// Refuses a changeset for good, and says why.
#[utoipa::path(post, path = "/api/v1/projects/{project}/changesets/{changeset}/reject", tag = "changesets",
               params(("project" = String, Path), ("changeset" = String, Path)), request_body = WithReason,
               responses((status = 200, body = ChangesetReview)))]
pub async fn reject_changeset(
    State(state): State<AppState>,
    CanApprove(who): CanApprove,
    Path((_, changeset)): Path<(String, ChangesetId)>,
    Body(body): Body<WithReason>,
) -> Result<Json<ChangesetReview>, AppError> {
    review::reject(&state, &who, changeset, &body.reason).await?;
    review::detail(&state, &who, changeset).await.map(Json)
}

/// Takes a changeset back. Its author and who edited it may.
#[utoipa::path(post, path = "/api/v1/projects/{project}/changesets/{changeset}/cancel", tag = "changesets",
               params(("project" = String, Path), ("changeset" = String, Path)),
               responses((status = 200, body = ChangesetReview)))]
pub async fn cancel_changeset(
    State(state): State<AppState>,
    CanView(who): CanView,
    Path((_, changeset)): Path<(String, ChangesetId)>,
) -> Result<Json<ChangesetReview>, AppError> {
    review::cancel(&state, &who, changeset).await?;
    review::detail(&state, &who, changeset).await.map(Json)
}

/// Tries again to apply a changeset that was suspended, or that has enough approvals since a policy asks for fewer.
#[utoipa::path(post, path = "/api/v1/projects/{project}/changesets/{changeset}/apply", tag = "changesets",
               params(("project" = String, Path), ("changeset" = String, Path)),
               responses((status = 200, body = ChangesetReview)))]
pub async fn apply_changeset(
    State(state): State<AppState>,
    CanPropose(who): CanPropose,
    Path((_, changeset)): Path<(String, ChangesetId)>,
) -> Result<Json<ChangesetReview>, AppError> {
    review::apply(&state, &who, changeset).await?;
    review::detail(&state, &who, changeset).await.map(Json)
}

/// Applies a changeset whatever the policies say. The reason stays in history for good.
#[utoipa::path(post, path = "/api/v1/projects/{project}/changesets/{changeset}/break-glass", tag = "changesets",
               params(("project" = String, Path), ("changeset" = String, Path)), request_body = WithReason,
               responses((status = 200, body = ChangesetReview)))]
pub async fn break_glass(
    State(state): State<AppState>,
    CanBreakGlass(who): CanBreakGlass,
    Path((_, changeset)): Path<(String, ChangesetId)>,
    Body(body): Body<WithReason>,
) -> Result<Json<ChangesetReview>, AppError> {
    review::break_glass(&state, &who, changeset, &body.reason).await?;
    review::detail(&state, &who, changeset).await.map(Json)
}

/// Says something about a changeset.
#[utoipa::path(post, path = "/api/v1/projects/{project}/changesets/{changeset}/comments", tag = "changesets",
               params(("project" = String, Path), ("changeset" = String, Path)), request_body = CreateComment,
               responses((status = 200, body = ChangesetReview)))]
pub async fn comment_on_changeset(
    State(state): State<AppState>,
    CanView(who): CanView,
    Path((_, changeset)): Path<(String, ChangesetId)>,
    Body(body): Body<CreateComment>,
) -> Result<Json<ChangesetReview>, AppError> {
    review::comment(&state, &who, changeset, &body.text).await?;
    review::detail(&state, &who, changeset).await.map(Json)
}
