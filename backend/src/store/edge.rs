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

/// How an edge was within one interval.
#[derive(Clone, Copy, Debug)]
pub struct Sampled {
    /// Which interval, from 0.
    pub slot: i32,
    /// The most resident memory, in bytes.
    pub memory_bytes: i64,
    /// The most evaluations that waited.
    pub unsent: i64,
    /// The most revisions it lacked.
    pub revisions_behind: i64,
    /// The longest from commit to receipt.
    pub lag_ms: Option<i64>,
    /// Its last minute.
    pub last_minute: OffsetDateTime,
    /// Evaluations by then, since its process began.
    pub counted: i64,
}

/// What was sampled of an edge within `[from, to)`, by intervals of so many minutes.
pub async fn list_samples(
    db: &mut PgConnection,
    process: ProcessId,
    from: OffsetDateTime,
    to: OffsetDateTime,
    interval_minutes: i32,
) -> Result<Vec<Sampled>, StoreError> {
    let samples = sqlx::query_as!(
        Sampled,
        r#"select floor(extract(epoch from minute - $2) / (60 * $4::integer))::integer as "slot!",
                  max(memory_bytes) as "memory_bytes!", max(unsent) as "unsent!",
                  max(revisions_behind) as "revisions_behind!", max(lag_ms) as lag_ms, max(minute) as "last_minute!",
                  max(counted) as "counted!"
           from edge_samples
           where process = $1 and minute >= $2 and minute < $3
           group by 1
           order by 1"#,
        process.uuid(),
        from,
        to,
        interval_minutes,
    )
    .fetch_all(db)
    .await?;
    Ok(samples)
}

/// The name that an edge has or had; absent when nothing is known of it.
pub async fn name(db: &mut PgConnection, process: ProcessId) -> Result<Option<String>, StoreError> {
    let name = sqlx::query_scalar!(
        r#"select name as "name!" from edges where process = $1
           union all
           (select edge_name from edge_samples where process = $1 order by minute desc limit 1)
           limit 1"#,
        process.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(name)
}
