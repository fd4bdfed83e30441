//! First run.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use shared::wire::api::session::SessionDetail;
use shared::wire::api::setup::{Setup, SetupStatus};

use crate::app;
use crate::auth::permission::check_same_site;
use crate::error::AppError;
use crate::http::input::Body;
use crate::http::session::{agent_of, with_cookie};
use crate::state::AppState;

/// Tells whether first run is still possible.
#[utoipa::path(get, path = "/api/v1/setup", tag = "session", responses((status = 200, body = SetupStatus)))]
pub async fn setup_status(State(state): State<AppState>) -> Result<Json<SetupStatus>, AppError> {
    let open = app::setup::is_open(&state).await?;
    Ok(Json(SetupStatus { open }))
}

/// Makes the first admin and project, and signs the admin in.
#[utoipa::path(post, path = "/api/v1/setup", tag = "session", request_body = Setup,
               responses((status = 201, body = SessionDetail)))]
pub async fn set_up(
    State(state): State<AppState>,
    headers: HeaderMap,
    Body(body): Body<Setup>,
) -> Result<Response, AppError> {
    check_same_site(&Method::POST, &headers, &state.config.server.public_url)?;
    let started = app::setup::run(&state, body, &agent_of(&headers)).await?;
    let body = (StatusCode::CREATED, Json(started.detail)).into_response();
    with_cookie(&state, body, &started.token)
}
