//! Saved views of the list of flags.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use shared::model::id::ViewId;
use shared::wire::api::view::{CreateView, UpdateView, ViewDetail, ViewList};

use crate::app;
use crate::app::flag::FlagQuery;
use crate::app::view::QUERY_CHARS_MAX;
use crate::auth::permission::CanView;
use crate::error::AppError;
use crate::http::input::{Body, Path};
use crate::state::AppState;

/// Lists one's own views of a project and those that others share.
#[utoipa::path(get, path = "/api/v1/projects/{project}/views", tag = "views", params(("project" = String, Path)),
               responses((status = 200, body = ViewList)))]
pub async fn list_views(State(state): State<AppState>, CanView(who): CanView) -> Result<Json<ViewList>, AppError> {
    app::view::list(&state, &who).await.map(Json)
}

/// Saves the parameters of a list of flags under a name.
#[utoipa::path(post, path = "/api/v1/projects/{project}/views", tag = "views", params(("project" = String, Path)),
               request_body = CreateView, responses((status = 201, body = ViewDetail)))]
pub async fn create_view(
    State(state): State<AppState>,
    CanView(who): CanView,
    Body(body): Body<CreateView>,
) -> Result<(StatusCode, Json<ViewDetail>), AppError> {
    let query = parse(&body.query)?;
    let view = app::view::create(&state, &who, body, &query).await?;
    Ok((StatusCode::CREATED, Json(view)))
}

/// Changes a view of one's own, or lets one's list begin with any view that one can see.
#[utoipa::path(patch, path = "/api/v1/projects/{project}/views/{view}", tag = "views",
               params(("project" = String, Path), ("view" = String, Path)), request_body = UpdateView,
               responses((status = 200, body = ViewDetail)))]
pub async fn update_view(
    State(state): State<AppState>,
    CanView(who): CanView,
    Path((_, view)): Path<(String, ViewId)>,
    Body(body): Body<UpdateView>,
) -> Result<Json<ViewDetail>, AppError> {
    let query = body.query.as_deref().map(parse).transpose()?;
    app::view::update(&state, &who, view, body, query.as_ref()).await.map(Json)
}

/// Removes a view of one's own; a shared one can also be removed by whoever manages members.
#[utoipa::path(delete, path = "/api/v1/projects/{project}/views/{view}", tag = "views",
               params(("project" = String, Path), ("view" = String, Path)), responses((status = 204)))]
pub async fn delete_view(
    State(state): State<AppState>,
    CanView(who): CanView,
    Path((_, view)): Path<(String, ViewId)>,
) -> Result<StatusCode, AppError> {
    app::view::delete(&state, &who, view).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The query of a view, as the list itself would read it.
fn parse(text: &str) -> Result<FlagQuery, AppError> {
    let length = text.chars().count();
    if length > QUERY_CHARS_MAX {
        let message = format!("{length} characters; a query has at most {QUERY_CHARS_MAX}");
        return Err(AppError::field("query", message));
    }
    let wrong = |message: String| AppError::field("query", message);
    let uri: Uri = format!("/?{text}").parse().map_err(|_| wrong("it is no query of an address; encode it".into()))?;
    let query = axum::extract::Query::<FlagQuery>::try_from_uri(&uri).map_err(|error| wrong(error.body_text()))?;
    Ok(query.0)
}
