//! Setting a new password by a link. The token comes in the body, so that no log of addresses ever has it.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode};
use shared::wire::api::account::{PasswordReset, ResetPassword, ShowLink};

use crate::app;
use crate::auth::permission::check_same_site;
use crate::error::AppError;
use crate::http::input::Body;
use crate::state::AppState;

/// Tells whose password a link sets, and changes nothing.
#[utoipa::path(post, path = "/api/v1/password-reset/check", tag = "account", request_body = ShowLink,
               responses((status = 200, body = PasswordReset)))]
pub async fn check_reset(
    State(state): State<AppState>,
    headers: HeaderMap,
    Body(body): Body<ShowLink>,
) -> Result<Json<PasswordReset>, AppError> {
    check_same_site(&Method::POST, &headers, &state.config.server.public_url)?;
    app::reset::show(&state, &body.token).await.map(Json)
}

/// Sets a new password by a link, which ends all sessions of the person.
#[utoipa::path(post, path = "/api/v1/password-reset", tag = "account", request_body = ResetPassword,
               responses((status = 204)))]
pub async fn reset_password(
    State(state): State<AppState>,
    headers: HeaderMap,
    Body(body): Body<ResetPassword>,
) -> Result<StatusCode, AppError> {
    check_same_site(&Method::POST, &headers, &state.config.server.public_url)?;
    app::reset::apply(&state, body).await?;
    Ok(StatusCode::NO_CONTENT)
}
