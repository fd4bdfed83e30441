//! Edges that count, with their last heartbeat.

use serde_json::Value;
use shared::model::id::ProcessId;
use shared::wire::edge::Heartbeat;
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::{StoreError, signed, write_document};

/// The channel that tells all backends of an edge that counts no more; its payload is the process.
pub const CHANNEL: &str = "fluxgate_edges";
/// The most edges that are kept; more than that are not listed.
pub const LIST_MAX: i64 = 1_000;

/// An edge as stored.
#[derive(Clone, Debug)]
pub struct StoredEdge {
    /// What it last said.
    pub heartbeat: Heartbeat,
    /// When it was last heard.
    pub last_heard_at: OffsetDateTime,
    /// The most evaluations a second between two of its heartbeats.
    pub counted_per_second_max: f64,
}

/// How an edge left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// It said goodbye, and perhaps how many evaluations it counted in all.
    Goodbye {
        /// Evaluations; absent from an older version.
        counted: Option<u64>,
    },
    /// Another process took over its folder.
    Replaced,
}

/// Edges that count.
pub async fn list(db: &mut PgConnection) -> Result<Vec<StoredEdge>, StoreError> {
    let rows = sqlx::query!(
        "select heartbeat, last_heard_at, counted_per_second_max
         from edges
         where gone_at is null
         order by last_heard_at desc
         limit $1",
        LIST_MAX,
    )
    .fetch_all(db)
    .await?;
    // A heartbeat of another version is replaced within seconds by one that can be read, or stays unknown.
    let edges = rows.into_iter().filter_map(|row| {
        let heartbeat = serde_json::from_value(row.heartbeat).ok()?;
        let (last_heard_at, counted_per_second_max) = (row.last_heard_at, row.counted_per_second_max);
        Some(StoredEdge { heartbeat, last_heard_at, counted_per_second_max })
    });
    Ok(edges.collect())
}

/// Writes what edges last said; one that was dismissed but is heard again counts again.
pub async fn save(db: &mut PgConnection, edges: &[StoredEdge]) -> Result<(), StoreError> {
    let processes: Vec<Uuid> = edges.iter().map(|edge| edge.heartbeat.process.uuid()).collect();
    let names: Vec<String> = edges.iter().map(|edge| edge.heartbeat.name.clone()).collect();
    let heartbeats = edges.iter().map(|edge| write_document(&edge.heartbeat)).collect::<Result<Vec<Value>, _>>()?;
    let heard: Vec<OffsetDateTime> = edges.iter().map(|edge| edge.last_heard_at).collect();
    let rates: Vec<f64> = edges.iter().map(|edge| edge.counted_per_second_max).collect();
    sqlx::query!(
        "insert into edges (process, name, heartbeat, last_heard_at, counted_per_second_max)
         select * from unnest($1::uuid[], $2::text[], $3::jsonb[], $4::timestamptz[], $5::float8[])
         on conflict (process) do update
         set name = excluded.name, heartbeat = excluded.heartbeat, last_heard_at = excluded.last_heard_at,
             counted_per_second_max = greatest(edges.counted_per_second_max, excluded.counted_per_second_max),
             gone_at = case when edges.gone_at < excluded.last_heard_at then null else edges.gone_at end,
             departure = case when edges.gone_at < excluded.last_heard_at then null else edges.departure end
         where edges.last_heard_at <= excluded.last_heard_at",
        &processes,
        &names,
        &heartbeats,
        &heard,
        &rates,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Marks an edge that left by itself, with what it last said. What its goodbye said stays, whatever comes later.
pub async fn depart(
    db: &mut PgConnection,
    edge: &StoredEdge,
    how: Departure,
    at: OffsetDateTime,
) -> Result<(), StoreError> {
    // One that is known by receipts alone said nothing yet that could be kept.
    if !edge.heartbeat.version.is_empty() {
        save(&mut *db, std::slice::from_ref(edge)).await?;
    }
    let (departure, counted) = match how {
        Departure::Goodbye { counted } => ("goodbye", counted.map(signed)),
        Departure::Replaced => ("replaced", None),
    };
    sqlx::query!(
        "update edges
         set gone_at = $2,
             departure = case when departure = 'goodbye' then departure else $3 end,
             goodbye_counted = coalesce($4, goodbye_counted)
         where process = $1",
        edge.heartbeat.process.uuid(),
        at,
        departure,
        counted,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Marks an edge as one that counts no more, and tells all backends. False when it is not known.
pub async fn dismiss(db: &mut PgConnection, process: ProcessId, at: OffsetDateTime) -> Result<bool, StoreError> {
    let done = sqlx::query!(
        "update edges set gone_at = $2, departure = 'dismissed' where process = $1 and gone_at is null",
        process.uuid(),
        at,
    )
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
