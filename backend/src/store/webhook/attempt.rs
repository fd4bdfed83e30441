//! Sending: what is due, and what came of it.

use shared::model::id::{DeliveryId, ProjectId, WebhookId};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::StoreError;

/// Attempts kept of one delivery.
const ATTEMPTS_MAX: i32 = 30;

/// A delivery that is to be sent now.
#[derive(Clone, Debug)]
pub struct Due {
    /// Its id.
    pub id: DeliveryId,
    /// To whom.
    pub webhook_id: WebhookId,
    /// Whose.
    pub project_id: ProjectId,
    /// Where to.
    pub url: String,
    /// What signs it, encrypted.
    pub secret: Vec<u8>,
    /// What also signs it, encrypted.
    pub previous_secret: Option<Vec<u8>>,
    /// Until when.
    pub previous_until: Option<OffsetDateTime>,
    /// What happened.
    pub kind: String,
    /// The very text that is signed.
    pub body: String,
    /// How often it was sent before.
    pub attempts: i32,
    /// How often that failed since it was last begun.
    pub failures: i32,
    /// The receiver's last answer was a failure.
    pub is_troubled: bool,
}

/// The oldest delivery that is due of each webhook, but of none that one is under way to. At most `limit`, and at most
/// `troubled` of webhooks whose last attempt failed, so that receivers which hang hold up nobody else. A test is sent to
/// webhooks that are off or paused, too.
pub async fn list_due(
    db: &mut PgConnection,
    under_way: &[WebhookId],
    limit: i64,
    troubled: i64,
    now: OffsetDateTime,
) -> Result<Vec<Due>, StoreError> {
    let under_way: Vec<Uuid> = under_way.iter().map(|id| id.uuid()).collect();
    let due = sqlx::query_as!(
        Due,
        r#"select ready.id as "id!", ready.webhook_id as "webhook_id!", webhooks.project_id, webhooks.url,
                  webhooks.secret, webhooks.previous_secret, webhooks.previous_until, ready.type as "kind!",
                  ready.body as "body!", ready.attempts as "attempts!", ready.failures as "failures!",
                  ready.is_troubled as "is_troubled!"
           from (select first.*, webhooks.is_troubled,
                        row_number() over (partition by webhooks.is_troubled order by first.due_at, first.number) as at
                 from webhooks
                 cross join lateral (
                     select * from webhook_deliveries
                     where webhook_deliveries.webhook_id = webhooks.id and webhook_deliveries.state = 'pending'
                         and webhook_deliveries.due_at <= $4
                         and (webhook_deliveries.type = 'webhook.test'
                              or webhooks.is_enabled and coalesce(webhooks.paused_until <= $4, true))
                     order by webhook_deliveries.number
                     limit 1) first
                 where webhooks.id <> all($1)) ready
           join webhooks on webhooks.id = ready.webhook_id
           where not ready.is_troubled or ready.at <= $3
           order by ready.due_at, ready.number
           limit $2"#,
        &under_way,
        limit,
        troubled,
        now,
    )
    .fetch_all(db)
    .await?;
    Ok(due)
}

/// What came of an attempt.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// When it began.
    pub at: OffsetDateTime,
    /// How long it took, in milliseconds.
    pub duration_ms: i64,
    /// What was answered.
    pub status: Option<i32>,
    /// Why it failed.
    pub problem: Option<String>,
    /// The beginning of the answer's body.
    pub response: Option<String>,
}

/// How a delivery goes on after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It was accepted.
    Delivered,
    /// It is sent again at this time.
    Retry(OffsetDateTime),
    /// It is sent no more.
    GiveUp,
}

/// Writes an attempt down; false when somebody else wrote it or the delivery went on otherwise.
pub async fn record(
    db: &mut PgConnection,
    due: &Due,
    attempt: &Attempt,
    next: Next,
    ended_at: OffsetDateTime,
) -> Result<bool, StoreError> {
    let (state, due_at, ended_at) = match next {
        Next::Delivered => ("delivered", None, Some(ended_at)),
        Next::Retry(at) => ("pending", Some(at), None),
        Next::GiveUp => ("failed", None, Some(ended_at)),
    };
    let number = due.attempts + 1;
    let done = sqlx::query!(
        "update webhook_deliveries
         set state = $3, due_at = $4, ended_at = $5, attempts = $2, failures = failures + $6, status = $7,
             problem = $8
         where id = $1 and state = 'pending' and attempts = $2 - 1",
        due.id.uuid(),
        number,
        state,
        due_at,
        ended_at,
        i32::from(next != Next::Delivered),
        attempt.status,
        attempt.problem,
    )
    .execute(&mut *db)
    .await?;
    if done.rows_affected() == 0 {
        return Ok(false);
    }
    sqlx::query!(
        "insert into webhook_attempts (delivery_id, number, at, duration_ms, status, problem, response)
         values ($1, $2, $3, $4, $5, $6, $7)",
        due.id.uuid(),
        number,
        attempt.at,
        attempt.duration_ms,
        attempt.status,
        attempt.problem,
        attempt.response,
    )
    .execute(&mut *db)
    .await?;
    sqlx::query!(
        "delete from webhook_attempts where delivery_id = $1 and number <= $2",
        due.id.uuid(),
        number - ATTEMPTS_MAX,
    )
    .execute(db)
    .await?;
    Ok(true)
}

/// The attempts of a delivery that are kept, oldest first.
pub async fn list(db: &mut PgConnection, id: DeliveryId) -> Result<Vec<(i32, Attempt)>, StoreError> {
    let rows = sqlx::query!(
        "select number, at, duration_ms, status, problem, response
         from webhook_attempts
         where delivery_id = $1
         order by number
         limit $2",
        id.uuid(),
        i64::from(ATTEMPTS_MAX),
    )
    .fetch_all(db)
    .await?;
    let attempts = rows.into_iter().map(|row| {
        let attempt = Attempt {
            at: row.at,
            duration_ms: row.duration_ms,
            status: row.status,
            problem: row.problem,
            response: row.response,
        };
        (row.number, attempt)
    });
    Ok(attempts.collect())
}
