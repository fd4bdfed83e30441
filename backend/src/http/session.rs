//! Signing in and out.

use axum::Json;
use axum::extract::State;
use axum::http::header::{SET_COOKIE, USER_AGENT};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use shared::wire::api::session::{SessionDetail, SignIn};

use crate::app;
use crate::auth::agent;
use crate::auth::permission::{SignedInPerson, check_same_site};
use crate::auth::session::cookie;
use crate::error::AppError;
use crate::http::input::Body;
use crate::state::AppState;

/// Tells who is signed in, and renews the session.
#[utoipa::path(get, path = "/api/v1/session", tag = "session", responses((status = 200, body = SessionDetail)))]
pub async fn current_session(State(state): State<AppState>, who: SignedInPerson) -> Result<Response, AppError> {
    let renewed = app::session::renew(&state, &who).await?;
    let body = Json(SessionDetail { user: who.user, is_admin: who.is_admin }).into_response();
    match renewed {
        Some(token) => with_cookie(&state, body, &token),
        None => Ok(body),
    }
}

/// Starts a session.
#[utoipa::path(post, path = "/api/v1/session", tag = "session", request_body = SignIn,
               responses((status = 200, body = SessionDetail)))]
pub async fn sign_in(
    State(state): State<AppState>,
    headers: HeaderMap,
    Body(body): Body<SignIn>,
) -> Result<Response, AppError> {
    check_same_site(&Method::POST, &headers, &state.config.server.public_url)?;
    let started = app::session::sign_in(&state, body, &agent_of(&headers)).await?;
    with_cookie(&state, Json(started.detail).into_response(), &started.token)
}

/// Ends the session.
#[utoipa::path(delete, path = "/api/v1/session", tag = "session", responses((status = 204)))]
pub async fn sign_out(State(state): State<AppState>, who: SignedInPerson) -> Result<Response, AppError> {
    app::session::sign_out(&state, &who).await?;
    with_cookie(&state, StatusCode::NO_CONTENT.into_response(), "")
}

/// With which browser somebody asks, in a few words.
pub(super) fn agent_of(headers: &HeaderMap) -> String {
    agent::describe(headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default())
}

/// The response with the session's cookie; an empty token ends it.
pub(super) fn with_cookie(state: &AppState, mut response: Response, token: &str) -> Result<Response, AppError> {
    let is_secure = !state.config.server.public_url.starts_with("http://");
    let value = HeaderValue::from_str(&cookie(token, is_secure)).map_err(AppError::internal)?;
    response.headers_mut().insert(SET_COOKIE, value);
    Ok(response)
}
