//! Writes that carried an `Idempotency-Key`, and what they answered.

use shared::model::id::UserId;
use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

use crate::store::StoreError;

/// How long a key is remembered.
pub const REMEMBERED: Duration = Duration::hours(24);
/// Rows that one statement removes.
const CHUNK: i64 = 10_000;

/// Which write.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Who.
    pub user: UserId,
    /// SHA-256 of method, path and key.
    pub scope: Vec<u8>,
    /// SHA-256 of the body and of what the write is conditional on.
    pub request: Vec<u8>,
    /// Of this request alone.
    pub owner: Uuid,
}

/// What is known of a write that came before.
#[derive(Debug)]
pub struct Known {
    /// SHA-256 of its body.
    pub request: Vec<u8>,
    /// `running`, `kept` or `done`.
    pub state: String,
    /// When it began.
    pub at: OffsetDateTime,
    /// Its answer's status.
    pub status: Option<i32>,
    /// The type of its body.
    pub content_type: Option<String>,
    /// Its version.
    pub etag: Option<String>,
    /// Its body, when it is kept.
    pub body: Option<Vec<u8>>,
    /// Where to find what was made.
    pub made: Option<String>,
}

/// What is kept of an answer.
#[derive(Debug)]
pub struct Kept<'a> {
    /// Its status.
    pub status: u16,
    /// The type of its body.
    pub content_type: Option<&'a str>,
    /// Its version.
    pub etag: Option<&'a str>,
    /// Its body.
    pub body: &'a [u8],
}

/// Claims a write, unless the key was used since `forgotten_before`; then what is known of that.
pub async fn claim(
    db: &mut PgConnection,
    claim: &Claim,
    now: OffsetDateTime,
    forgotten_before: OffsetDateTime,
) -> Result<Option<Known>, StoreError> {
    let claimed = sqlx::query_scalar!(
        "insert into idempotency_keys (user_id, scope, request, owner, state, at)
         values ($1, $2, $3, $4, 'running', $5)
         on conflict (user_id, scope) do update
         set request = excluded.request, owner = excluded.owner, state = excluded.state, at = excluded.at,
             status = null, content_type = null, etag = null, body = null, made = null
         where idempotency_keys.at < $6
         returning owner",
        claim.user.uuid(),
        claim.scope,
        claim.request,
        claim.owner,
        now,
        forgotten_before,
    )
    .fetch_optional(&mut *db)
    .await?;
    if claimed.is_some() {
        return Ok(None);
    }
    let known = sqlx::query_as!(
        Known,
        "select request, state, at, status, content_type, etag, body, made
         from idempotency_keys
         where user_id = $1 and scope = $2",
        claim.user.uuid(),
        claim.scope,
    )
    .fetch_optional(db)
    .await?;
    // It was given back just now: whoever asks again may have it.
    Ok(Some(known.unwrap_or_else(|| Known {
        request: claim.request.clone(),
        state: "running".into(),
        at: now,
        status: None,
        content_type: None,
        etag: None,
        body: None,
        made: None,
    })))
}

/// Keeps an answer.
pub async fn keep(db: &mut PgConnection, claim: &Claim, kept: &Kept<'_>) -> Result<(), StoreError> {
    sqlx::query!(
        "update idempotency_keys
         set state = 'kept', status = $4, content_type = $5, etag = $6, body = $7
         where user_id = $1 and scope = $2 and owner = $3",
        claim.user.uuid(),
        claim.scope,
        claim.owner,
        i32::from(kept.status),
        kept.content_type,
        kept.etag,
        kept.body,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Notes that it was done, but not what was answered.
pub async fn finish(db: &mut PgConnection, claim: &Claim, made: &str) -> Result<(), StoreError> {
    sqlx::query!(
        "update idempotency_keys set state = 'done', made = $4 where user_id = $1 and scope = $2 and owner = $3",
        claim.user.uuid(),
        claim.scope,
        claim.owner,
        made,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Gives a claim back: nothing was done.
pub async fn give_back(db: &mut PgConnection, claim: &Claim) -> Result<(), StoreError> {
    sqlx::query!(
        "delete from idempotency_keys where user_id = $1 and scope = $2 and owner = $3",
        claim.user.uuid(),
        claim.scope,
        claim.owner,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Forgets what is older; at most 10,000. Returns how many went.
pub async fn forget(db: &mut PgConnection, before: OffsetDateTime) -> Result<u64, StoreError> {
    let done = sqlx::query!(
        "delete from idempotency_keys
         where (user_id, scope) in (select user_id, scope from idempotency_keys where at < $1 limit $2)",
        before,
        CHUNK,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}
