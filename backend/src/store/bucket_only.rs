//! What only the bucket had when a restored database met it.

use serde_json::Value;
use shared::model::id::EnvironmentId;
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::{StoreError, signed, unsigned};

/// The most restored databases that are listed.
const LIST_MAX: i64 = 100;

/// A time at which a restored database met the bucket.
#[derive(Clone, Debug)]
pub struct Restored {
    /// The revision that says so.
    pub revision: i64,
    /// When.
    pub at: OffsetDateTime,
    /// What history keeps of it.
    pub after: Option<Value>,
    /// Keys that nobody confirmed yet.
    pub waiting: i64,
}

/// Notes keys that only the bucket has; those that were noted and confirmed before and came back wait anew.
pub async fn insert(db: &mut PgConnection, restored: u64, keys: &[(EnvironmentId, String)]) -> Result<(), StoreError> {
    let environments: Vec<Uuid> = keys.iter().map(|(environment, _)| environment.uuid()).collect();
    let names: Vec<String> = keys.iter().map(|(_, key)| key.clone()).collect();
    sqlx::query!(
        "insert into bucket_only (key, environment_id, restored)
         select key, environment_id, $3 from unnest($1::text[], $2::uuid[]) new (key, environment_id)
         on conflict (key) do update set restored = excluded.restored, confirmed = null",
        &names,
        &environments,
        signed(restored),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Restored databases, newest first.
pub async fn list(db: &mut PgConnection) -> Result<Vec<Restored>, StoreError> {
    let found = sqlx::query_as!(
        Restored,
        r#"select entries.revision, changesets.applied_at as "at!", entries.after,
                  (select count(*) from bucket_only
                   where bucket_only.restored = entries.revision and confirmed is null) as "waiting!"
           from revision_entries entries
           join changesets on changesets.revision = entries.revision
           where entries.entity = 'restored' and changesets.project_id is null
           order by entries.revision desc
           limit $1"#,
        LIST_MAX,
    )
    .fetch_all(db)
    .await?;
    Ok(found)
}

/// Keys of a restored database that nobody confirmed yet, with their environments; held until the transaction ends.
pub async fn list_waiting(db: &mut PgConnection, restored: u64) -> Result<Vec<(EnvironmentId, String)>, StoreError> {
    let rows = sqlx::query!(
        "select environment_id, key from bucket_only where restored = $1 and confirmed is null order by key for update",
        signed(restored),
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|row| (row.environment_id.into(), row.key)).collect())
}

/// Notes that the keys of a restored database are to go.
pub async fn confirm(db: &mut PgConnection, restored: u64, revision: u64) -> Result<(), StoreError> {
    sqlx::query!(
        "update bucket_only set confirmed = $2 where restored = $1 and confirmed is null",
        signed(restored),
        signed(revision),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Keys that are to go and are of environments that the database does not know, with the revision that deletes them. Those of
/// other environments stand in `state`.
pub async fn list_confirmed_strangers(db: &mut PgConnection) -> Result<Vec<(EnvironmentId, String, u64)>, StoreError> {
    let rows = sqlx::query!(
        r#"select environment_id, key, confirmed as "confirmed!" from bucket_only
           where confirmed is not null
             and not exists (select from environments where environments.id = bucket_only.environment_id)
           order by key"#,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|row| (row.environment_id.into(), row.key, unsigned(row.confirmed))).collect())
}
