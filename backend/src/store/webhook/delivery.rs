//! Events on their way to webhooks: each once per webhook and event, with every attempt.

use shared::model::id::{DeliveryId, ProjectId, WebhookId};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::StoreError;

/// Deliveries kept of one webhook, besides those that wait.
const KEPT_MAX: i64 = 1_000;
/// Rows that one statement removes.
const CHUNK: i64 = 10_000;

/// A delivery as stored.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// Its id.
    pub id: DeliveryId,
    /// The order in which events are sent.
    pub number: i64,
    /// To whom.
    pub webhook_id: WebhookId,
    /// What happened.
    pub kind: String,
    /// How far it has come.
    pub state: String,
    /// When it was made.
    pub created_at: OffsetDateTime,
    /// When it is sent next.
    pub due_at: Option<OffsetDateTime>,
    /// When it was accepted or given up.
    pub ended_at: Option<OffsetDateTime>,
    /// How often it was sent.
    pub attempts: i32,
    /// What the last attempt answered.
    pub status: Option<i32>,
    /// Why the last attempt failed.
    pub problem: Option<String>,
}

/// A delivery to be written.
#[derive(Debug)]
pub struct NewDelivery {
    /// Its id.
    pub id: DeliveryId,
    /// To whom.
    pub webhook: WebhookId,
    /// Names the event; a webhook hears of each once.
    pub event_key: String,
    /// What happened.
    pub kind: &'static str,
    /// The very text that is signed.
    pub body: String,
}

/// Adds deliveries, in their order; those of events that a webhook heard of already are left out.
pub async fn insert(db: &mut PgConnection, new: &[NewDelivery], at: OffsetDateTime) -> Result<(), StoreError> {
    let ids: Vec<Uuid> = new.iter().map(|delivery| delivery.id.uuid()).collect();
    let webhooks: Vec<Uuid> = new.iter().map(|delivery| delivery.webhook.uuid()).collect();
    let keys: Vec<String> = new.iter().map(|delivery| delivery.event_key.clone()).collect();
    let kinds: Vec<String> = new.iter().map(|delivery| delivery.kind.to_owned()).collect();
    let bodies: Vec<String> = new.iter().map(|delivery| delivery.body.clone()).collect();
    sqlx::query!(
        "insert into webhook_deliveries (id, webhook_id, event_key, type, body, created_at, due_at)
         select id, webhook_id, event_key, type, body, $6, $6
         from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[]) with ordinality
             as new (id, webhook_id, event_key, type, body, at)
         order by at
         on conflict on constraint webhook_deliveries_event_unique do nothing",
        &ids,
        &webhooks,
        &keys,
        &kinds,
        &bodies,
        at,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// The deliveries of a webhook, newest first, below a number where one is given.
pub async fn list(
    db: &mut PgConnection,
    webhook: WebhookId,
    below: Option<i64>,
    limit: i64,
) -> Result<Vec<Delivery>, StoreError> {
    let deliveries = sqlx::query_as!(
        Delivery,
        "select id, number, webhook_id, type as kind, state, created_at, due_at, ended_at, attempts, status, problem
         from webhook_deliveries
         where webhook_id = $1 and ($2::bigint is null or number < $2)
         order by number desc
         limit $3",
        webhook.uuid(),
        below,
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(deliveries)
}

/// The newest delivery of each webhook of a project.
pub async fn list_newest(db: &mut PgConnection, project: ProjectId) -> Result<Vec<Delivery>, StoreError> {
    let deliveries = sqlx::query_as!(
        Delivery,
        "select newest.id, newest.number, newest.webhook_id, newest.type as kind, newest.state, newest.created_at,
                newest.due_at, newest.ended_at, newest.attempts, newest.status, newest.problem
         from webhooks
         cross join lateral (select * from webhook_deliveries
                             where webhook_deliveries.webhook_id = webhooks.id
                             order by number desc
                             limit 1) newest
         where webhooks.project_id = $1",
        project.uuid(),
    )
    .fetch_all(db)
    .await?;
    Ok(deliveries)
}

/// A delivery of a webhook with its body.
pub async fn find(
    db: &mut PgConnection,
    webhook: WebhookId,
    id: DeliveryId,
) -> Result<Option<(Delivery, String)>, StoreError> {
    let row = sqlx::query!(
        "select id, number, webhook_id, type as kind, state, created_at, due_at, ended_at, attempts, status, problem,
                body
         from webhook_deliveries
         where webhook_id = $1 and id = $2",
        webhook.uuid(),
        id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| {
        let delivery = Delivery {
            id: row.id.into(),
            number: row.number,
            webhook_id: row.webhook_id.into(),
            kind: row.kind,
            state: row.state,
            created_at: row.created_at,
            due_at: row.due_at,
            ended_at: row.ended_at,
            attempts: row.attempts,
            status: row.status,
            problem: row.problem,
        };
        (delivery, row.body)
    }))
}

/// Has a delivery sent again from the beginning, under its old id; false when it does not exist.
pub async fn send_again(
    db: &mut PgConnection,
    webhook: WebhookId,
    id: DeliveryId,
    at: OffsetDateTime,
) -> Result<bool, StoreError> {
    let done = sqlx::query!(
        "update webhook_deliveries
         set state = 'pending', due_at = $3, ended_at = null, failures = 0
         where webhook_id = $1 and id = $2",
        webhook.uuid(),
        id.uuid(),
        at,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// What waits for a webhook is sent no more.
pub async fn give_up(
    db: &mut PgConnection,
    webhook: WebhookId,
    problem: &str,
    at: OffsetDateTime,
) -> Result<(), StoreError> {
    sqlx::query!(
        "update webhook_deliveries
         set state = 'failed', due_at = null, ended_at = $3, problem = $2
         where webhook_id = $1 and state = 'pending'",
        webhook.uuid(),
        problem,
        at,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Lets go of what is older than a time or beyond what is kept of a webhook, but of nothing that waits; at most 10,000.
/// Returns how many went.
pub async fn forget(db: &mut PgConnection, before: OffsetDateTime) -> Result<u64, StoreError> {
    let done = sqlx::query!(
        "delete from webhook_deliveries
         where id in (select id
                      from (select id, state, created_at,
                                   row_number() over (partition by webhook_id order by number desc) as at
                            from webhook_deliveries) ranked
                      where state <> 'pending' and (at > $2 or created_at < $1)
                      limit $3)",
        before,
        KEPT_MAX,
        CHUNK,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}
