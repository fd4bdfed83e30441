//! Edges that count, with their last heartbeat.

use serde_json::Value;
use shared::model::id::ProcessId;
use shared::wire::edge::Heartbeat;
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::{StoreError, write_document};

/// The channel that tells all backends of an edge that counts no more; its payload is the process.
pub const CHANNEL: &str = "fluxgate_edges";
/// The most edges that are kept; more than that are not listed.
pub const LIST_MAX: i64 = 1_000;

/// An edge as stored.
#[derive(Clone, Debug)]
pub struct StoredEdge {
    /// What it last said.
    pub heartbeat: Heartbeat,
    /// When it said so.
    pub last_heard_at: OffsetDateTime,
}

/// Edges that count.
pub async fn list(db: &mut PgConnection) -> Result<Vec<StoredEdge>, StoreError> {
    let rows = sqlx::query!(
        "select heartbeat, last_heard_at from edges where gone_at is null order by last_heard_at desc limit $1",
        LIST_MAX,
    )
    .fetch_all(db)
    .await?;
    // A heartbeat of another version is replaced within seconds by one that can be read, or stays unknown.
    let edges = rows.into_iter().filter_map(|row| {
        let heartbeat = serde_json::from_value(row.heartbeat).ok()?;
        Some(StoredEdge { heartbeat, last_heard_at: row.last_heard_at })
    });
    Ok(edges.collect())
}

/// Writes what edges last said; one that was dismissed but is heard again counts again.
pub async fn save(db: &mut PgConnection, edges: &[StoredEdge]) -> Result<(), StoreError> {
    let processes: Vec<Uuid> = edges.iter().map(|edge| edge.heartbeat.process.uuid()).collect();
    let names: Vec<String> = edges.iter().map(|edge| edge.heartbeat.name.clone()).collect();
    let heartbeats = edges.iter().map(|edge| write_document(&edge.heartbeat)).collect::<Result<Vec<Value>, _>>()?;
    let heard: Vec<OffsetDateTime> = edges.iter().map(|edge| edge.last_heard_at).collect();
    sqlx::query!(
        "insert into edges (process, name, heartbeat, last_heard_at)
         select * from unnest($1::uuid[], $2::text[], $3::jsonb[], $4::timestamptz[])
         on conflict (process) do update
         set name = excluded.name, heartbeat = excluded.heartbeat, last_heard_at = excluded.last_heard_at,
             gone_at = case when edges.gone_at < excluded.last_heard_at then null else edges.gone_at end",
        &processes,
        &names,
        &heartbeats,
        &heard,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Marks an edge that left by itself.
pub async fn depart(db: &mut PgConnection, process: ProcessId, at: OffsetDateTime) -> Result<(), StoreError> {
    sqlx::query!("update edges set gone_at = $2 where process = $1", process.uuid(), at).execute(db).await?;
    Ok(())
}

/// Marks an edge as one that counts no more, and tells all backends. False when it is not known.
pub async fn dismiss(db: &mut PgConnection, process: ProcessId, at: OffsetDateTime) -> Result<bool, StoreError> {
    let done =
        sqlx::query!("update edges set gone_at = $2 where process = $1 and gone_at is null", process.uuid(), at,)
            .execute(&mut *db)
            .await?;
    sqlx::query!("select pg_notify($1, $2)", CHANNEL, process.to_string()).execute(db).await?;
    Ok(done.rows_affected() > 0)
}
