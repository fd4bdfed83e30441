//! What was sent, and having it sent again.

use serde_json::{Map, Value};
use shared::model::id::{DeliveryId, ProjectId, WebhookId};
use shared::model::webhook::{DeliveryState, EventType};
use shared::wire::api::webhook::{AttemptDetail, DeliveryDetail, DeliveryPage, DeliverySummary};
use sqlx::PgConnection;

use crate::app::webhook::event;
use crate::auth::permission::InProject;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::webhook::attempt::Attempt;
use crate::store::webhook::delivery::{Delivery, NewDelivery};

/// What the receiver sees as `webhook-id`: the delivery's own id, so the same in every attempt, and without a dot.
pub fn message_id(id: DeliveryId) -> String {
    format!("msg_{}", id.uuid().simple())
}

/// A page of a webhook's deliveries, newest first.
pub async fn list_deliveries(
    state: &AppState,
    who: &InProject,
    webhook: WebhookId,
    after: Option<&str>,
    limit: usize,
) -> Result<DeliveryPage, AppError> {
    let wrong = |text| AppError::field("after", format!("'{text}' is not a page; use `next` of the page before"));
    let below = after.map(|text| text.parse::<i64>().map_err(|_| wrong(text))).transpose()?;
    let mut db = state.pool.acquire().await?;
    check(&mut db, who.id(), webhook).await?;
    let one_more = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let mut deliveries = store::webhook::delivery::list(&mut db, webhook, below, one_more).await?;
    let is_more = deliveries.len() > limit;
    deliveries.truncate(limit);
    let next = deliveries.last().filter(|_| is_more).map(|last| last.number.to_string());
    Ok(DeliveryPage { items: deliveries.into_iter().map(summary).collect::<Result<_, _>>()?, next })
}

/// A delivery with its body and what was answered.
pub async fn find_delivery(
    state: &AppState,
    who: &InProject,
    webhook: WebhookId,
    id: DeliveryId,
) -> Result<DeliveryDetail, AppError> {
    let mut db = state.pool.acquire().await?;
    detail(&mut db, who.id(), webhook, id).await
}

/// Sends a delivery again from the beginning, under its old id, whether it was accepted or not.
pub async fn send_again(
    state: &AppState,
    who: &InProject,
    webhook: WebhookId,
    id: DeliveryId,
) -> Result<DeliveryDetail, AppError> {
    let mut tx = state.pool.begin().await?;
    let is_enabled = check(&mut tx, who.id(), webhook).await?;
    let (found, _) = store::webhook::delivery::find(&mut tx, webhook, id)
        .await?
        .ok_or_else(|| AppError::not_found("delivery", id))?;
    if !is_enabled && found.kind != EventType::WebhookTest.as_str() {
        return Err(AppError::field("enabled", "the webhook is switched off; switch it on, or send a test"));
    }
    store::webhook::delivery::send_again(&mut tx, webhook, id, state.clock.now()).await?;
    let done = detail(&mut tx, who.id(), webhook, id).await?;
    tx.commit().await?;
    Ok(done)
}

/// Has an event sent that says nothing, once, also to a webhook that is off: to see whether it arrives.
pub async fn send_test(state: &AppState, who: &InProject, webhook: WebhookId) -> Result<DeliveryDetail, AppError> {
    let mut tx = state.pool.begin().await?;
    check(&mut tx, who.id(), webhook).await?;
    let (id, at): (DeliveryId, _) = (state.clock.id(), state.clock.now());
    let data = Map::from_iter([
        ("project".to_owned(), Value::from(who.project.key.as_str())),
        ("by".to_owned(), Value::from(who.actor.name.as_str())),
    ]);
    let kind = EventType::WebhookTest;
    let new = NewDelivery {
        id,
        webhook,
        event_key: format!("test.{id}"),
        kind: kind.as_str(),
        body: event::body(kind, at, data)?,
    };
    store::webhook::delivery::insert(&mut tx, &[new], at).await?;
    let made = detail(&mut tx, who.id(), webhook, id).await?;
    tx.commit().await?;
    Ok(made)
}

/// Whether the webhook is switched on; that it is not the project's is told as if it did not exist.
async fn check(db: &mut PgConnection, project: ProjectId, id: WebhookId) -> Result<bool, AppError> {
    let found = store::webhook::list(db, project, Some(id)).await?.pop();
    Ok(found.ok_or_else(|| AppError::not_found("webhook", id))?.is_enabled)
}

async fn detail(
    db: &mut PgConnection,
    project: ProjectId,
    webhook: WebhookId,
    id: DeliveryId,
) -> Result<DeliveryDetail, AppError> {
    check(db, project, webhook).await?;
    let found = store::webhook::delivery::find(db, webhook, id).await?;
    let (delivery, body) = found.ok_or_else(|| AppError::not_found("delivery", id))?;
    let attempts = store::webhook::attempt::list(db, id).await?;
    Ok(DeliveryDetail {
        delivery: summary(delivery)?,
        body,
        attempts: attempts.into_iter().map(|(number, attempt)| shown(number, attempt)).collect(),
    })
}

pub(super) fn summary(delivery: Delivery) -> Result<DeliverySummary, AppError> {
    let state = DeliveryState::parse(&delivery.state);
    Ok(DeliverySummary {
        id: delivery.id,
        message_id: message_id(delivery.id),
        event_type: delivery.kind.parse().map_err(AppError::internal)?,
        state: state.ok_or_else(|| AppError::internal(format!("'{}' is no state of a delivery", delivery.state)))?,
        created_at: delivery.created_at.into(),
        attempts: u32::try_from(delivery.attempts).unwrap_or(0),
        status: delivery.status.and_then(|status| u16::try_from(status).ok()),
        problem: delivery.problem,
        due_at: delivery.due_at.map(Into::into),
        ended_at: delivery.ended_at.map(Into::into),
    })
}

fn shown(number: i32, attempt: Attempt) -> AttemptDetail {
    AttemptDetail {
        number: u32::try_from(number).unwrap_or(0),
        at: attempt.at.into(),
        duration_ms: u64::try_from(attempt.duration_ms).unwrap_or(0),
        status: attempt.status.and_then(|status| u16::try_from(status).ok()),
        problem: attempt.problem,
        response: attempt.response,
    }
}
