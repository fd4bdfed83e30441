//! One's own account.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use shared::model::id::SessionId;
use shared::wire::api::account::{AccountDetail, ChangePassword, EndedSessions, SessionList, UpdateAccount};

use crate::app;
use crate::auth::permission::SignedInPerson;
use crate::error::AppError;
use crate::http::input::{Body, Path};
use crate::state::AppState;

/// Reads one's own account.
#[utoipa::path(get, path = "/api/v1/account", tag = "account", responses((status = 200, body = AccountDetail)))]
pub async fn get_account(State(state): State<AppState>, who: SignedInPerson) -> Result<Json<AccountDetail>, AppError> {
    app::account::detail(&state, &who).await.map(Json)
}

/// Changes what people call one. The last write counts.
#[utoipa::path(patch, path = "/api/v1/account", tag = "account", request_body = UpdateAccount,
               responses((status = 200, body = AccountDetail)))]
pub async fn update_account(
    State(state): State<AppState>,
    who: SignedInPerson,
    Body(body): Body<UpdateAccount>,
) -> Result<Json<AccountDetail>, AppError> {
    app::account::rename(&state, &who, body).await.map(Json)
}

/// Changes one's password; all other sessions end.
#[utoipa::path(post, path = "/api/v1/account/password", tag = "account", request_body = ChangePassword,
               responses((status = 204)))]
pub async fn change_password(
    State(state): State<AppState>,
    who: SignedInPerson,
    Body(body): Body<ChangePassword>,
) -> Result<StatusCode, AppError> {
    app::account::change_password(&state, &who, body).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lists one's own sessions.
#[utoipa::path(get, path = "/api/v1/account/sessions", tag = "account", responses((status = 200, body = SessionList)))]
pub async fn list_sessions(State(state): State<AppState>, who: SignedInPerson) -> Result<Json<SessionList>, AppError> {
    app::account::sessions(&state, &who).await.map(Json)
}

/// Ends one of one's own sessions.
#[utoipa::path(delete, path = "/api/v1/account/sessions/{session}", tag = "account",
               params(("session" = SessionId, Path)), responses((status = 204)))]
pub async fn end_session(
    State(state): State<AppState>,
    who: SignedInPerson,
    Path(session): Path<SessionId>,
) -> Result<StatusCode, AppError> {
    app::account::end_session(&state, &who, session).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ends all of one's own sessions but the one that asks.
#[utoipa::path(post, path = "/api/v1/account/sign-out-others", tag = "account",
               responses((status = 200, body = EndedSessions)))]
pub async fn sign_out_others(
    State(state): State<AppState>,
    who: SignedInPerson,
) -> Result<Json<EndedSessions>, AppError> {
    app::account::sign_out_others(&state, &who).await.map(Json)
}
