//! Invites: made by admins of the installation, accepted by who has the link. The token comes in the body, so that no log
//! of addresses ever has it.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use shared::model::id::InviteId;
use shared::wire::api::account::ShowLink;
use shared::wire::api::user::{AcceptInvite, AcceptedInvite, CreateInvite, CreatedInvite, Invitation, InviteList};

use crate::app;
use crate::auth::permission::{CanManageInstallation, check_same_site};
use crate::error::AppError;
use crate::http::input::{Body, Path};
use crate::http::session::{agent_of, with_cookie};
use crate::state::AppState;

/// Lists invites, accepted and revoked ones included, without their links.
#[utoipa::path(get, path = "/api/v1/invites", tag = "users", responses((status = 200, body = InviteList)))]
pub async fn list_invites(
    State(state): State<AppState>,
    _: CanManageInstallation,
) -> Result<Json<InviteList>, AppError> {
    app::invite::list(&state).await.map(Json)
}

/// Invites somebody. The link is in this answer and nowhere else, works once and within 7 days.
#[utoipa::path(post, path = "/api/v1/invites", tag = "users", request_body = CreateInvite,
               responses((status = 201, body = CreatedInvite)))]
pub async fn create_invite(
    State(state): State<AppState>,
    CanManageInstallation(actor): CanManageInstallation,
    Body(body): Body<CreateInvite>,
) -> Result<(StatusCode, Json<CreatedInvite>), AppError> {
    let created = app::invite::create(&state, &actor, body).await?;
    Ok((StatusCode::CREATED, Json(created)))
}

/// Takes an invite back.
#[utoipa::path(delete, path = "/api/v1/invites/{invite}", tag = "users", params(("invite" = InviteId, Path)),
               responses((status = 204)))]
pub async fn revoke_invite(
    State(state): State<AppState>,
    CanManageInstallation(actor): CanManageInstallation,
    Path(invite): Path<InviteId>,
) -> Result<StatusCode, AppError> {
    app::invite::revoke(&state, &actor, invite).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Tells what an invite is for, and changes nothing.
#[utoipa::path(post, path = "/api/v1/invitation/check", tag = "account", request_body = ShowLink,
               responses((status = 200, body = Invitation)))]
pub async fn check_invitation(
    State(state): State<AppState>,
    headers: HeaderMap,
    Body(body): Body<ShowLink>,
) -> Result<Json<Invitation>, AppError> {
    check_same_site(&Method::POST, &headers, &state.config.server.public_url)?;
    app::invite::show(&state, &body.token).await.map(Json)
}

/// Accepts an invite, and signs the person in.
#[utoipa::path(post, path = "/api/v1/invitation", tag = "account", request_body = AcceptInvite,
               responses((status = 201, body = AcceptedInvite)))]
pub async fn accept_invitation(
    State(state): State<AppState>,
    headers: HeaderMap,
    Body(body): Body<AcceptInvite>,
) -> Result<Response, AppError> {
    check_same_site(&Method::POST, &headers, &state.config.server.public_url)?;
    let accepted = app::invite::accept(&state, body, &agent_of(&headers)).await?;
    let body = (StatusCode::CREATED, Json(accepted.detail)).into_response();
    with_cookie(&state, body, &accepted.token)
}
