//! People of the installation.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use shared::model::id::UserId;
use shared::wire::api::account::OneTimeLink;
use shared::wire::api::user::{UpdateUser, UserDetail, UserPage};
use utoipa::IntoParams;

use crate::app;
use crate::auth::permission::CanManageInstallation;
use crate::error::AppError;
use crate::http::input::{Body, Path, Query};
use crate::state::AppState;

/// Which people to list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct UserQuery {
    /// Part of the name or e-mail, in any case.
    search: Option<String>,
    /// `next` of the page before.
    after: Option<String>,
}

/// Lists people by e-mail, disabled ones included, 100 at a time.
#[utoipa::path(get, path = "/api/v1/users", tag = "users", params(UserQuery),
               responses((status = 200, body = UserPage)))]
pub async fn list_users(
    State(state): State<AppState>,
    _: CanManageInstallation,
    Query(query): Query<UserQuery>,
) -> Result<Json<UserPage>, AppError> {
    app::user::list(&state, query.search.as_deref(), query.after.as_deref()).await.map(Json)
}

/// Lets somebody out at once or in again, and makes or unmakes them an admin of the installation.
#[utoipa::path(patch, path = "/api/v1/users/{user}", tag = "users", params(("user" = UserId, Path)),
               request_body = UpdateUser, responses((status = 200, body = UserDetail)))]
pub async fn update_user(
    State(state): State<AppState>,
    CanManageInstallation(actor): CanManageInstallation,
    Path(user): Path<UserId>,
    Body(body): Body<UpdateUser>,
) -> Result<Json<UserDetail>, AppError> {
    app::user::update(&state, &actor, user, body).await.map(Json)
}

/// Makes a link by which somebody sets a new password, once and within 24 hours.
#[utoipa::path(post, path = "/api/v1/users/{user}/reset-link", tag = "users", params(("user" = UserId, Path)),
               responses((status = 201, body = OneTimeLink)))]
pub async fn create_reset_link(
    State(state): State<AppState>,
    CanManageInstallation(actor): CanManageInstallation,
    Path(user): Path<UserId>,
) -> Result<(StatusCode, Json<OneTimeLink>), AppError> {
    let link = app::reset::create(&state, &actor, user).await?;
    Ok((StatusCode::CREATED, Json(link)))
}
