//! Webhooks and what became of what they sent.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use shared::model::id::{DeliveryId, WebhookId};
use shared::wire::api::webhook::{
    CreateWebhook, CreatedWebhook, DELIVERIES_MAX, DeliveryDetail, DeliveryPage, UpdateWebhook, WebhookDetail,
    WebhookList,
};
use utoipa::IntoParams;

use crate::app;
use crate::auth::permission::CanManageWebhooks;
use crate::error::AppError;
use crate::http::input::{Body, Path, Query};
use crate::state::AppState;

/// Which deliveries to list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct DeliveryQuery {
    /// `next` of the page before.
    after: Option<String>,
    /// 1 to 100; 100 when absent.
    limit: Option<usize>,
}

/// Lists the webhooks of a project.
#[utoipa::path(get, path = "/api/v1/projects/{project}/webhooks", tag = "webhooks",
               params(("project" = String, Path)), responses((status = 200, body = WebhookList)))]
pub async fn list_webhooks(
    State(state): State<AppState>,
    CanManageWebhooks(who): CanManageWebhooks,
) -> Result<Json<WebhookList>, AppError> {
    app::webhook::list(&state, &who).await.map(Json)
}

/// Makes a webhook. Its secret is in this answer and nowhere else. It hears of what happens from now on.
#[utoipa::path(post, path = "/api/v1/projects/{project}/webhooks", tag = "webhooks",
               params(("project" = String, Path)), request_body = CreateWebhook,
               responses((status = 201, body = CreatedWebhook)))]
pub async fn create_webhook(
    State(state): State<AppState>,
    CanManageWebhooks(who): CanManageWebhooks,
    Body(body): Body<CreateWebhook>,
) -> Result<(StatusCode, Json<CreatedWebhook>), AppError> {
    let made = app::webhook::create(&state, &who, body).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

/// One webhook.
#[utoipa::path(get, path = "/api/v1/projects/{project}/webhooks/{webhook}", tag = "webhooks",
               params(("project" = String, Path), ("webhook" = String, Path)),
               responses((status = 200, body = WebhookDetail)))]
pub async fn get_webhook(
    State(state): State<AppState>,
    CanManageWebhooks(who): CanManageWebhooks,
    Path((_, webhook)): Path<(String, WebhookId)>,
) -> Result<Json<WebhookDetail>, AppError> {
    app::webhook::find(&state, &who, webhook).await.map(Json)
}

/// Changes a webhook, or switches it on or off.
#[utoipa::path(patch, path = "/api/v1/projects/{project}/webhooks/{webhook}", tag = "webhooks",
               params(("project" = String, Path), ("webhook" = String, Path)), request_body = UpdateWebhook,
               responses((status = 200, body = WebhookDetail)))]
pub async fn update_webhook(
    State(state): State<AppState>,
    CanManageWebhooks(who): CanManageWebhooks,
    Path((_, webhook)): Path<(String, WebhookId)>,
    Body(body): Body<UpdateWebhook>,
) -> Result<Json<WebhookDetail>, AppError> {
    app::webhook::update(&state, &who, webhook, body).await.map(Json)
}

/// Deletes a webhook with its deliveries.
#[utoipa::path(delete, path = "/api/v1/projects/{project}/webhooks/{webhook}", tag = "webhooks",
               params(("project" = String, Path), ("webhook" = String, Path)), responses((status = 204)))]
pub async fn delete_webhook(
    State(state): State<AppState>,
    CanManageWebhooks(who): CanManageWebhooks,
    Path((_, webhook)): Path<(String, WebhookId)>,
) -> Result<StatusCode, AppError> {
    app::webhook::delete(&state, &who, webhook).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Gives a webhook another secret, which is in this answer and nowhere else. For 24 h the one before signs, too: the
/// header then carries two signatures.
#[utoipa::path(post, path = "/api/v1/projects/{project}/webhooks/{webhook}/rotate", tag = "webhooks",
               params(("project" = String, Path), ("webhook" = String, Path)),
               responses((status = 200, body = CreatedWebhook)))]
pub async fn rotate_webhook(
    State(state): State<AppState>,
    CanManageWebhooks(who): CanManageWebhooks,
    Path((_, webhook)): Path<(String, WebhookId)>,
) -> Result<Json<CreatedWebhook>, AppError> {
    app::webhook::rotate(&state, &who, webhook).await.map(Json)
}

/// Sends an event `webhook.test`, once, whatever the filter says and even while the webhook is off. The delivery is sent
/// within a second; read it again for what came of it.
#[utoipa::path(post, path = "/api/v1/projects/{project}/webhooks/{webhook}/test", tag = "webhooks",
               params(("project" = String, Path), ("webhook" = String, Path)),
               responses((status = 202, body = DeliveryDetail)))]
pub async fn test_webhook(
    State(state): State<AppState>,
    CanManageWebhooks(who): CanManageWebhooks,
    Path((_, webhook)): Path<(String, WebhookId)>,
) -> Result<(StatusCode, Json<DeliveryDetail>), AppError> {
    let made = app::webhook::send_test(&state, &who, webhook).await?;
    Ok((StatusCode::ACCEPTED, Json(made)))
}

/// Lists what a webhook sent or is to send, newest first. Kept for 30 days, the last 1,000.
#[utoipa::path(get, path = "/api/v1/projects/{project}/webhooks/{webhook}/deliveries", tag = "webhooks",
               params(("project" = String, Path), ("webhook" = String, Path), DeliveryQuery),
               responses((status = 200, body = DeliveryPage)))]
pub async fn list_deliveries(
    State(state): State<AppState>,
    CanManageWebhooks(who): CanManageWebhooks,
    Path((_, webhook)): Path<(String, WebhookId)>,
    Query(query): Query<DeliveryQuery>,
) -> Result<Json<DeliveryPage>, AppError> {
    let limit = query.limit.unwrap_or(DELIVERIES_MAX);
    if !(1..=DELIVERIES_MAX).contains(&limit) {
        return Err(AppError::field("limit", format!("{limit} is not from 1 to {DELIVERIES_MAX}")));
    }
    app::webhook::list_deliveries(&state, &who, webhook, query.after.as_deref(), limit).await.map(Json)
}

/// A delivery with its body and every attempt.
#[utoipa::path(get, path = "/api/v1/projects/{project}/webhooks/{webhook}/deliveries/{delivery}", tag = "webhooks",
               params(("project" = String, Path), ("webhook" = String, Path), ("delivery" = String, Path)),
               responses((status = 200, body = DeliveryDetail)))]
pub async fn get_delivery(
    State(state): State<AppState>,
    CanManageWebhooks(who): CanManageWebhooks,
    Path((_, webhook, delivery)): Path<(String, WebhookId, DeliveryId)>,
) -> Result<Json<DeliveryDetail>, AppError> {
    app::webhook::find_delivery(&state, &who, webhook, delivery).await.map(Json)
}

/// Sends a delivery again, under the same `webhook-id`, with all its retries.
#[utoipa::path(post, path = "/api/v1/projects/{project}/webhooks/{webhook}/deliveries/{delivery}/send-again",
               tag = "webhooks",
               params(("project" = String, Path), ("webhook" = String, Path), ("delivery" = String, Path)),
               responses((status = 202, body = DeliveryDetail)))]
pub async fn send_delivery_again(
    State(state): State<AppState>,
    CanManageWebhooks(who): CanManageWebhooks,
    Path((_, webhook, delivery)): Path<(String, WebhookId, DeliveryId)>,
) -> Result<(StatusCode, Json<DeliveryDetail>), AppError> {
    let done = app::webhook::send_again(&state, &who, webhook, delivery).await?;
    Ok((StatusCode::ACCEPTED, Json(done)))
}
