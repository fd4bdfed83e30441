//! Table `state`: byte for byte what edges must hold.

use shared::model::id::EnvironmentId;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::store::{StoreError, signed, unsigned};

/// One value as it stands, or shall stand, in the bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateRow {
    /// Whose.
    pub environment: EnvironmentId,
    /// The bucket's key.
    pub key: String,
    /// The changeset that wrote it.
    pub revision: u64,
    /// Whether its flag is killed.
    pub killed: bool,
    /// Whether it is a tombstone.
    pub deleted: bool,
    /// Length of the value with a revision of full width.
    pub bytes: i32,
    /// The value.
    pub value: String,
}

struct Row {
    environment_id: Uuid,
    key: String,
    revision: i64,
    killed: bool,
    deleted: bool,
    bytes: i32,
    value: String,
}

impl From<Row> for StateRow {
    fn from(row: Row) -> Self {
        Self {
            environment: row.environment_id.into(),
            key: row.key,
            revision: unsigned(row.revision),
            killed: row.killed,
            deleted: row.deleted,
            bytes: row.bytes,
            value: row.value,
        }
    }
}

/// The rows of these keys that exist.
pub async fn list_by_key(db: &mut PgConnection, keys: &[String]) -> Result<Vec<StateRow>, StoreError> {
    let rows = sqlx::query_as!(
        Row,
        r#"select environment_id, key, revision, killed, deleted, bytes, value
           from state
           where (environment_id, key) in (select split_part(k, '.', 1)::uuid, k from unnest($1::text[]) as k)"#,
        keys,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(StateRow::from).collect())
}

/// Which of these keys have a row that is no tombstone.
pub async fn list_live(db: &mut PgConnection, keys: &[String]) -> Result<Vec<String>, StoreError> {
    let live = sqlx::query_scalar!(
        "select key
         from state
         where (environment_id, key) in (select split_part(k, '.', 1)::uuid, k from unnest($1::text[]) as k)
           and not deleted",
        keys,
    )
    .fetch_all(db)
    .await?;
    Ok(live)
}

/// Writes rows, new or not.
pub async fn save(db: &mut PgConnection, rows: &[StateRow]) -> Result<(), StoreError> {
    let environments: Vec<Uuid> = rows.iter().map(|row| row.environment.uuid()).collect();
    let keys: Vec<String> = rows.iter().map(|row| row.key.clone()).collect();
    let revisions: Vec<i64> = rows.iter().map(|row| signed(row.revision)).collect();
    let killed: Vec<bool> = rows.iter().map(|row| row.killed).collect();
    let deleted: Vec<bool> = rows.iter().map(|row| row.deleted).collect();
    let bytes: Vec<i32> = rows.iter().map(|row| row.bytes).collect();
    let values: Vec<String> = rows.iter().map(|row| row.value.clone()).collect();
    sqlx::query!(
        "insert into state (environment_id, key, revision, killed, deleted, bytes, value)
         select * from unnest($1::uuid[], $2::text[], $3::bigint[], $4::bool[], $5::bool[], $6::int[], $7::text[])
         on conflict (environment_id, key) do update
         set revision = excluded.revision, killed = excluded.killed, deleted = excluded.deleted,
             bytes = excluded.bytes, value = excluded.value",
        &environments,
        &keys,
        &revisions,
        &killed,
        &deleted,
        &bytes,
        &values,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// The revision of every environment that has one.
pub async fn list_revisions(db: &mut PgConnection) -> Result<Vec<(EnvironmentId, u64)>, StoreError> {
    let rows = sqlx::query!(
        "select environments.id as environment_id, state.revision
         from environments
         join state on state.environment_id = environments.id and state.key = environments.id || '.environment'
         order by state.revision",
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|row| (row.environment_id.into(), unsigned(row.revision))).collect())
}

/// The rows of an environment above a revision, its own row last.
pub async fn list_above(
    db: &mut PgConnection,
    environment: EnvironmentId,
    revision: u64,
) -> Result<Vec<StateRow>, StoreError> {
    let rows = sqlx::query_as!(
        Row,
        "select environment_id, key, revision, killed, deleted, bytes, value
         from state
         where environment_id = $1 and revision > $2
         order by key = environment_id || '.environment', revision, key",
        environment.uuid(),
        signed(revision),
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(StateRow::from).collect())
}

/// The revision of these flags' rows, where they have one.
pub async fn list_flag_revisions(db: &mut PgConnection, keys: &[String]) -> Result<Vec<(String, u64)>, StoreError> {
    let rows = sqlx::query!(
        r#"select key, revision
           from state
           where (environment_id, key) in (select split_part(k, '.', 1)::uuid, k from unnest($1::text[]) as k)"#,
        keys,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|row| (row.key, unsigned(row.revision))).collect())
}
