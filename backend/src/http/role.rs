//! Roles.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use shared::model::key::RoleKey;
use shared::wire::api::role::{CreateRole, RoleDetail, RoleList, UpdateRole};

use crate::app;
use crate::auth::permission::{CanManageInstallation, SignedIn};
use crate::error::AppError;
use crate::http::input::{Body, IfMatch, Path};
use crate::state::AppState;

/// Lists all roles, built-in ones included, with what each permission means.
#[utoipa::path(get, path = "/api/v1/roles", tag = "roles", responses((status = 200, body = RoleList)))]
pub async fn list_roles(State(state): State<AppState>, _: SignedIn) -> Result<Json<RoleList>, AppError> {
    app::role::list(&state).await.map(Json)
}

/// Makes a role.
#[utoipa::path(post, path = "/api/v1/roles", tag = "roles", request_body = CreateRole,
               responses((status = 201, body = RoleDetail)))]
pub async fn create_role(
    State(state): State<AppState>,
    CanManageInstallation(actor): CanManageInstallation,
    Body(body): Body<CreateRole>,
) -> Result<(StatusCode, Json<RoleDetail>), AppError> {
    let made = app::role::create(&state, &actor, body).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

/// Reads a role with who has it.
#[utoipa::path(get, path = "/api/v1/roles/{role}", tag = "roles", params(("role" = String, Path)),
               responses((status = 200, body = RoleDetail)))]
pub async fn get_role(
    State(state): State<AppState>,
    _: CanManageInstallation,
    Path(role): Path<RoleKey>,
) -> Result<Json<RoleDetail>, AppError> {
    app::role::detail(&state, &role).await.map(Json)
}

/// Changes a role wherever somebody has it.
#[utoipa::path(patch, path = "/api/v1/roles/{role}", tag = "roles",
               params(("role" = String, Path), ("if-match" = String, Header)), request_body = UpdateRole,
               responses((status = 200, body = RoleDetail)))]
pub async fn update_role(
    State(state): State<AppState>,
    CanManageInstallation(actor): CanManageInstallation,
    Path(role): Path<RoleKey>,
    IfMatch(version): IfMatch,
    Body(body): Body<UpdateRole>,
) -> Result<Json<RoleDetail>, AppError> {
    app::role::update(&state, &actor, &role, version, body).await.map(Json)
}

/// Deletes a role that nobody has.
#[utoipa::path(delete, path = "/api/v1/roles/{role}", tag = "roles", params(("role" = String, Path)),
               responses((status = 204)))]
pub async fn delete_role(
    State(state): State<AppState>,
    CanManageInstallation(actor): CanManageInstallation,
    Path(role): Path<RoleKey>,
) -> Result<StatusCode, AppError> {
    app::role::delete(&state, &actor, &role).await?;
    Ok(StatusCode::NO_CONTENT)
}
