//! SDK keys: stored as hashes, shown once.

use shared::model::id::{EnvironmentId, ProjectId, SdkKeyId, UserId};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::StoreError;

/// The most keys of a project.
pub const LIST_MAX: i64 = 1_000;

/// A key as stored.
#[derive(Clone, Debug)]
pub struct SdkKey {
    /// Its id.
    pub id: SdkKeyId,
    /// Where it is valid.
    pub environment_id: EnvironmentId,
    /// The environment's key.
    pub environment: String,
    /// For people.
    pub name: String,
    /// `server` or `client`.
    pub kind: String,
    /// Web origins it may be used from; empty means any.
    pub origins: Vec<String>,
    /// SHA-256 of the key.
    pub hash: Vec<u8>,
    /// Beginning and end of the key.
    pub hint: String,
    /// Refused from then on.
    pub expires_at: Option<OffsetDateTime>,
    /// Refused since.
    pub revoked_at: Option<OffsetDateTime>,
    /// When it was made.
    pub created_at: OffsetDateTime,
    /// Who made it.
    pub created_by: String,
    /// The last minute in which a request with it was counted.
    pub last_used_at: Option<OffsetDateTime>,
    /// The key that it takes over from.
    pub replaces: Option<Uuid>,
    /// The newest key that takes over from it.
    pub replaced_by: Option<Uuid>,
}

/// How often a key was used.
#[derive(Clone, Debug)]
pub struct Requests {
    /// The key.
    pub key_id: SdkKeyId,
    /// Requests.
    pub count: i64,
}

/// The keys of a project, newest first; with `id`, that one alone.
pub async fn list(db: &mut PgConnection, project: ProjectId, id: Option<SdkKeyId>) -> Result<Vec<SdkKey>, StoreError> {
    let keys = sqlx::query_as!(
        SdkKey,
        r#"select sdk_keys.id, sdk_keys.environment_id, environments.key as environment, sdk_keys.name, sdk_keys.kind,
                  sdk_keys.origins, sdk_keys.hash, sdk_keys.hint, sdk_keys.expires_at, sdk_keys.revoked_at, sdk_keys.created_at,
                  users.name as created_by,
                  (select max(last_at) from request_series where request_series.key_id = sdk_keys.id) as last_used_at,
                  sdk_keys.replaces,
                  (select newer.id from sdk_keys as newer where newer.replaces = sdk_keys.id
                   order by newer.created_at desc, newer.id desc limit 1) as replaced_by
           from sdk_keys
           join environments on environments.id = sdk_keys.environment_id
           join users on users.id = sdk_keys.created_by
           where environments.project_id = $1 and ($2::uuid is null or sdk_keys.id = $2)
           order by sdk_keys.created_at desc, sdk_keys.id desc
           limit $3"#,
        project.uuid(),
        id.map(SdkKeyId::uuid),
        LIST_MAX,
    )
    .fetch_all(db)
    .await?;
    Ok(keys)
}

/// Requests with the keys of a project that were counted since a moment.
pub async fn list_requests(
    db: &mut PgConnection,
    project: ProjectId,
    since: OffsetDateTime,
) -> Result<Vec<Requests>, StoreError> {
    let requests = sqlx::query_as!(
        Requests,
        r#"select request_series.key_id, sum(minute_counts.count)::bigint as "count!"
           from request_series
           join environments on environments.id = request_series.environment_id
           join minute_counts on minute_counts.series = request_series.id
           where environments.project_id = $1 and request_series.last_at >= $2 and minute_counts.minute >= $2
           group by request_series.key_id"#,
        project.uuid(),
        since,
    )
    .fetch_all(db)
    .await?;
    Ok(requests)
}

/// How many keys a project has.
pub async fn count(db: &mut PgConnection, project: ProjectId) -> Result<i64, StoreError> {
    let count = sqlx::query_scalar!(
        r#"select count(*) as "count!"
           from sdk_keys
           join environments on environments.id = sdk_keys.environment_id
           where environments.project_id = $1"#,
        project.uuid(),
    )
    .fetch_one(db)
    .await?;
    Ok(count)
}

/// Adds a key.
pub async fn insert(db: &mut PgConnection, key: &SdkKey, author: UserId) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into sdk_keys (id, environment_id, name, kind, origins, hash, hint, expires_at, created_at, created_by,
                               replaces)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        key.id.uuid(),
        key.environment_id.uuid(),
        key.name,
        key.kind,
        &key.origins,
        key.hash,
        key.hint,
        key.expires_at,
        key.created_at,
        author.uuid(),
        key.replaces,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Writes what a key is called, where it may be used from, and when it ends.
pub async fn update(
    db: &mut PgConnection,
    id: SdkKeyId,
    name: &str,
    origins: &[String],
    expires_at: Option<OffsetDateTime>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "update sdk_keys set name = $2, origins = $3, expires_at = $4 where id = $1",
        id.uuid(),
        name,
        origins,
        expires_at,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// The same for a key of whatever project; answers its name and hint.
pub async fn revoke_named(
    db: &mut PgConnection,
    id: SdkKeyId,
    at: OffsetDateTime,
) -> Result<(String, String), StoreError> {
    let key = sqlx::query!(
        "update sdk_keys set revoked_at = coalesce(revoked_at, $2) where id = $1 returning name, hint",
        id.uuid(),
        at,
    )
    .fetch_optional(db)
    .await?;
    Ok(key.map(|key| (key.name, key.hint)).unwrap_or_default())
}

/// Revokes a key for good; one revoked before keeps its time.
pub async fn revoke(db: &mut PgConnection, id: SdkKeyId, at: OffsetDateTime) -> Result<(), StoreError> {
    sqlx::query!("update sdk_keys set revoked_at = coalesce(revoked_at, $2) where id = $1", id.uuid(), at)
        .execute(db)
        .await?;
    Ok(())
}
