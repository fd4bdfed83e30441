//! Context attributes that people registered, and those that rules name without.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use shared::model::attribute::Attribute;
use shared::wire::api::attribute::{AttributeDetail, AttributeList, AttributeUses, UpdateAttribute};

use crate::app;
use crate::auth::permission::{CanEditFlags, CanView};
use crate::error::AppError;
use crate::http::input::{Body, IfMatch, Path};
use crate::state::AppState;

/// Lists the attributes of a project: registered ones, and names that rules look at without.
#[utoipa::path(get, path = "/api/v1/projects/{project}/attributes", tag = "attributes",
               params(("project" = String, Path)), responses((status = 200, body = AttributeList)))]
pub async fn list_attributes(
    State(state): State<AppState>,
    CanView(who): CanView,
) -> Result<Json<AttributeList>, AppError> {
    app::attribute::list(&state, who.id()).await.map(Json)
}

/// Registers an attribute.
#[utoipa::path(post, path = "/api/v1/projects/{project}/attributes", tag = "attributes",
               params(("project" = String, Path)), request_body = Attribute,
               responses((status = 201, body = AttributeDetail)))]
pub async fn create_attribute(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Body(body): Body<Attribute>,
) -> Result<(StatusCode, Json<AttributeDetail>), AppError> {
    let made = app::attribute::create(&state, &who, body).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

/// Reads who looks at an attribute, registered or not.
#[utoipa::path(get, path = "/api/v1/projects/{project}/attributes/{attribute}", tag = "attributes",
               params(("project" = String, Path), ("attribute" = String, Path)),
               responses((status = 200, body = AttributeUses)))]
pub async fn get_attribute(
    State(state): State<AppState>,
    CanView(who): CanView,
    Path((_, attribute)): Path<(String, String)>,
) -> Result<Json<AttributeUses>, AppError> {
    app::attribute::uses(&state, who.id(), &attribute).await.map(Json)
}

/// Changes a registered attribute. `If-Match` carries its version.
#[utoipa::path(put, path = "/api/v1/projects/{project}/attributes/{attribute}", tag = "attributes",
               params(("project" = String, Path), ("attribute" = String, Path), ("If-Match" = String, Header)),
               request_body = UpdateAttribute, responses((status = 200, body = AttributeDetail)))]
pub async fn update_attribute(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Path((_, attribute)): Path<(String, String)>,
    IfMatch(version): IfMatch,
    Body(body): Body<UpdateAttribute>,
) -> Result<Json<AttributeDetail>, AppError> {
    app::attribute::update(&state, &who, attribute, version, body).await.map(Json)
}

/// Takes an attribute out of the register; rules that look at it stay as they are.
#[utoipa::path(delete, path = "/api/v1/projects/{project}/attributes/{attribute}", tag = "attributes",
               params(("project" = String, Path), ("attribute" = String, Path)), responses((status = 204)))]
pub async fn delete_attribute(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Path((_, attribute)): Path<(String, String)>,
) -> Result<StatusCode, AppError> {
    app::attribute::delete(&state, &who, &attribute).await?;
    Ok(StatusCode::NO_CONTENT)
}
