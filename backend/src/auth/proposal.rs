//! Extractors for the life of a changeset. In which environments somebody may do what is looked at where it is done, since
//! what a changeset touches is computed.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use shared::model::permission::Permission;

use crate::auth::permission::{CanView, InProject};
use crate::error::AppError;
use crate::state::AppState;

/// They may ask for changes of some kind: of flags, environments or members.
#[derive(Clone, Debug)]
pub struct CanPropose(pub InProject);

/// They may agree to changes in some environment of the project.
#[derive(Clone, Debug)]
pub struct CanApprove(pub InProject);

/// They may pass over policies in some environment of the project.
#[derive(Clone, Debug)]
pub struct CanBreakGlass(pub InProject);

impl FromRequestParts<AppState> for CanPropose {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, AppError> {
        let any = [Permission::Edit, Permission::ManageEnvironments, Permission::ManageMembers];
        allowed(parts, state, &any).await.map(Self)
    }
}

impl FromRequestParts<AppState> for CanApprove {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, AppError> {
        allowed(parts, state, &[Permission::Approve]).await.map(Self)
    }
}

impl FromRequestParts<AppState> for CanBreakGlass {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, AppError> {
        allowed(parts, state, &[Permission::BreakGlass]).await.map(Self)
    }
}

/// Somebody who has one of these permissions somewhere in the project.
async fn allowed(parts: &mut Parts, state: &AppState, any: &[Permission]) -> Result<InProject, AppError> {
    let CanView(who) = CanView::from_request_parts(parts, state).await?;
    if any.iter().any(|permission| who.permissions.anywhere(*permission)) {
        return Ok(who);
    }
    let named: Vec<&str> = any.iter().map(|permission| permission.as_str()).collect();
    Err(AppError::Forbidden(format!("the permission {} in this project", named.join(" or "))))
}
