//! Webhooks: where to send what. [`note`] is how anything that is no changeset is told; `delivery` is what is on its way,
//! `attempt` how it is sent, `outbox` what has happened since, and `spell` which edges were said to be late or silent.

pub mod attempt;
pub mod delivery;
pub mod outbox;
pub mod spell;

pub use outbox::{NewNote, note};
use shared::model::id::{EnvironmentId, ProjectId, UserId, WebhookId};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::StoreError;

/// A webhook as stored.
#[derive(Clone, Debug)]
pub struct Webhook {
    /// Its id.
    pub id: WebhookId,
    /// Whose.
    pub project_id: ProjectId,
    /// Where it sends.
    pub url: String,
    /// What it sends; empty means everything.
    pub event_types: Vec<String>,
    /// Where it has to happen; empty means everywhere.
    pub environment_ids: Vec<Uuid>,
    /// Whether anything is sent.
    pub is_enabled: bool,
    /// Why the product itself switched it off.
    pub disabled_reason: Option<String>,
    /// Until when the secret before the last rotation also signs.
    pub previous_until: Option<OffsetDateTime>,
    /// The receiver asked not to be called before.
    pub paused_until: Option<OffsetDateTime>,
    /// Deliveries that wait.
    pub pending: i64,
    /// When it was made.
    pub created_at: OffsetDateTime,
    /// Who made it.
    pub created_by: String,
}

/// A webhook to be written.
#[derive(Debug)]
pub struct NewWebhook<'a> {
    /// Its id.
    pub id: WebhookId,
    /// Where it sends.
    pub url: &'a str,
    /// What it sends.
    pub event_types: &'a [String],
    /// Where it has to happen.
    pub environments: &'a [EnvironmentId],
    /// Its secret, encrypted.
    pub secret: &'a [u8],
    /// When.
    pub at: OffsetDateTime,
    /// Who.
    pub author: UserId,
}

/// What changes of a webhook; absent fields stay.
#[derive(Debug, Default)]
pub struct WebhookChange<'a> {
    /// Where it sends.
    pub url: Option<&'a str>,
    /// What it sends.
    pub event_types: Option<&'a [String]>,
    /// Where it has to happen.
    pub environments: Option<&'a [EnvironmentId]>,
    /// Whether anything is sent; what is known of failures is forgotten then.
    pub is_enabled: Option<bool>,
}

/// The webhooks of a project, oldest first; with `id`, that one alone.
pub async fn list(
    db: &mut PgConnection,
    project: ProjectId,
    id: Option<WebhookId>,
) -> Result<Vec<Webhook>, StoreError> {
    let webhooks = sqlx::query_as!(
        Webhook,
        r#"select webhooks.id, webhooks.project_id, webhooks.url, webhooks.event_types, webhooks.environment_ids,
                  webhooks.is_enabled, webhooks.disabled_reason, webhooks.previous_until, webhooks.paused_until,
                  (select count(*) from webhook_deliveries
                   where webhook_deliveries.webhook_id = webhooks.id and webhook_deliveries.state = 'pending')
                      as "pending!",
                  webhooks.created_at, users.name as created_by
           from webhooks
           join users on users.id = webhooks.created_by
           where webhooks.project_id = $1 and ($2::uuid is null or webhooks.id = $2)
           order by webhooks.created_at, webhooks.id"#,
        project.uuid(),
        id.map(WebhookId::uuid),
    )
    .fetch_all(db)
    .await?;
    Ok(webhooks)
}

/// Adds a webhook, unless the project has `most` of them already; then false. It hears of nothing that happened before.
pub async fn insert(
    db: &mut PgConnection,
    project: ProjectId,
    new: &NewWebhook<'_>,
    most: i64,
) -> Result<bool, StoreError> {
    // Two who add the last one at the same moment wait for each other, and for no changeset.
    sqlx::query!("select from projects where id = $1 for no key update", project.uuid()).execute(&mut *db).await?;
    let environments: Vec<Uuid> = new.environments.iter().map(|id| id.uuid()).collect();
    let done = sqlx::query!(
        "insert into webhooks
             (id, project_id, url, event_types, environment_ids, secret, from_revision, created_at, created_by)
         select $1, $2, $3, $4, $5, $6, revision, $7, $8
         from counter
         where (select count(*) from webhooks where project_id = $2) < $9",
        new.id.uuid(),
        project.uuid(),
        new.url,
        new.event_types,
        &environments,
        new.secret,
        new.at,
        new.author.uuid(),
        most,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Changes what is given of a webhook; false when it does not exist.
pub async fn update(
    db: &mut PgConnection,
    project: ProjectId,
    id: WebhookId,
    change: &WebhookChange<'_>,
) -> Result<bool, StoreError> {
    let environments: Option<Vec<Uuid>> = change.environments.map(|ids| ids.iter().map(|id| id.uuid()).collect());
    let done = sqlx::query!(
        "update webhooks
         set url = coalesce($3, url), event_types = coalesce($4, event_types),
             environment_ids = coalesce($5, environment_ids), is_enabled = coalesce($6, is_enabled),
             disabled_reason = case when $6::boolean is null then disabled_reason end,
             failed_in_row = case when $6::boolean is null then failed_in_row else 0 end,
             paused_until = case when $6::boolean is null and $3::text is null then paused_until end
         where project_id = $1 and id = $2",
        project.uuid(),
        id.uuid(),
        change.url,
        change.event_types,
        environments.as_deref(),
        change.is_enabled,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Gives a webhook another secret; the one before also signs until then. False when it does not exist.
pub async fn rotate(
    db: &mut PgConnection,
    project: ProjectId,
    id: WebhookId,
    secret: &[u8],
    previous_until: OffsetDateTime,
) -> Result<bool, StoreError> {
    let done = sqlx::query!(
        "update webhooks
         set previous_secret = secret, previous_until = $4, secret = $3
         where project_id = $1 and id = $2",
        project.uuid(),
        id.uuid(),
        secret,
        previous_until,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Deletes a webhook with its deliveries; false when it does not exist.
pub async fn delete(db: &mut PgConnection, project: ProjectId, id: WebhookId) -> Result<bool, StoreError> {
    let done = sqlx::query!("delete from webhooks where project_id = $1 and id = $2", project.uuid(), id.uuid())
        .execute(db)
        .await?;
    Ok(done.rows_affected() > 0)
}

/// Switches a webhook off; false when it is off already, or gone.
pub async fn disable(db: &mut PgConnection, id: WebhookId, reason: &str) -> Result<bool, StoreError> {
    let done = sqlx::query!(
        "update webhooks set is_enabled = false, disabled_reason = $2 where id = $1 and is_enabled",
        id.uuid(),
        reason,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// The receiver accepted something.
pub async fn note_success(db: &mut PgConnection, id: WebhookId) -> Result<(), StoreError> {
    sqlx::query!("update webhooks set failed_in_row = 0, is_troubled = false where id = $1", id.uuid())
        .execute(db)
        .await?;
    Ok(())
}

/// The receiver did not accept something, perhaps asked not to be called for a while, and perhaps for the last time, when
/// `is_final`. Returns how many events in a row were given up.
pub async fn note_failure(
    db: &mut PgConnection,
    id: WebhookId,
    is_final: bool,
    paused_until: Option<OffsetDateTime>,
) -> Result<i32, StoreError> {
    let in_row = sqlx::query_scalar!(
        "update webhooks
         set is_troubled = true, failed_in_row = failed_in_row + $2, paused_until = greatest(paused_until, $3)
         where id = $1
         returning failed_in_row",
        id.uuid(),
        i32::from(is_final),
        paused_until,
    )
    .fetch_optional(db)
    .await?;
    Ok(in_row.unwrap_or(0))
}

/// Webhooks for which more deliveries wait than may: id, project and URL.
pub async fn list_overfull(
    db: &mut PgConnection,
    most: i64,
) -> Result<Vec<(WebhookId, ProjectId, String)>, StoreError> {
    let rows = sqlx::query!(
        "select webhooks.id, webhooks.project_id, webhooks.url
         from webhooks
         where webhooks.is_enabled
             and (select count(*) from webhook_deliveries
                  where webhook_deliveries.webhook_id = webhooks.id and webhook_deliveries.state = 'pending') > $1
         order by webhooks.id
         limit 100",
        most,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id.into(), row.project_id.into(), row.url)).collect())
}
