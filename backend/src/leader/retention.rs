//! What is old goes: minutes into hours, hours into days, then days. A horizon moves only when everything before it is
//! rolled up, in one transaction that holds the horizons alone; rows go afterwards, a bounded number at a time.

use time::{Duration, OffsetDateTime};
use tokio_postgres::Client;

use crate::config::Counts;
use crate::leader::rollup::{self, Grain};

/// Rows that one statement removes.
const CHUNK: i64 = 10_000;
/// Statements for one table in one pass; the next pass goes on.
const CHUNKS_MAX: usize = 200;
/// Series that one transaction removes with all their counts, while ingest waits.
const SERIES_CHUNK: i64 = 200;
/// Passes of the roll-up before a horizon moves.
const PASSES_MAX: usize = 100;
/// Samples of edges are kept this long.
const SAMPLES: Duration = Duration::days(30);
/// Losses, batches set aside and what is known of edges that left are kept this long.
const LEDGER: Duration = Duration::days(400);
/// Flags that nobody knows are forgotten when nobody asked for this long.
const UNKNOWN: Duration = Duration::days(30);
/// Batches are remembered one by one this long: longer than a minute is believed, and than NATS and spools keep them.
const BATCHES: Duration = Duration::days(40);

/// One pass over everything.
pub async fn pass(client: &mut Client, counts: &Counts, now: OffsetDateTime) -> Result<(), tokio_postgres::Error> {
    let day = now.replace_time(time::Time::MIDNIGHT);
    let before = |days: u32| day - Duration::days(days.into());
    move_minutes(client, before(counts.minutes_days)).await?;
    move_hours(client, before(counts.hours_days)).await?;
    client
        .execute(
            "update count_horizons set days_from = greatest(days_from, $1) where days_from < $1",
            &[&before(counts.days_days)],
        )
        .await?;
    let horizons = client.query_one("select minutes_from, hours_from, days_from from count_horizons", &[]).await?;
    let (minutes_from, hours_from, days_from): (OffsetDateTime, OffsetDateTime, OffsetDateTime) =
        (horizons.get(0), horizons.get(1), horizons.get(2));
    for (table, column, until) in [
        ("minute_counts_default", "minute", minutes_from),
        ("hour_counts", "hour", hours_from),
        ("day_counts", "day", days_from),
        ("exposures", "minute", before(counts.units_days)),
        ("unit_events", "minute", before(counts.units_days)),
        ("edge_samples", "minute", now - SAMPLES),
        ("count_losses", "to_at", now - LEDGER),
        ("set_aside_batches", "at", now - LEDGER),
    ] {
        remove(client, table, column, until).await?;
    }
    remove_series(client, days_from, now).await?;
    forget_batches(client, now - BATCHES).await?;
    forget_edges(client, now - LEDGER).await
}

/// Lets go of minutes before a day.
async fn move_minutes(client: &mut Client, from: OffsetDateTime) -> Result<(), tokio_postgres::Error> {
    move_horizon(client, "minutes_from", Grain::Hour, from).await
}

/// Lets go of hours before a day.
async fn move_hours(client: &mut Client, from: OffsetDateTime) -> Result<(), tokio_postgres::Error> {
    move_horizon(client, "hours_from", Grain::Day, from).await
}

async fn move_horizon(
    client: &mut Client,
    column: &str,
    grain: Grain,
    from: OffsetDateTime,
) -> Result<(), tokio_postgres::Error> {
    let current = format!("select {column} from count_horizons");
    if client.query_one(&current, &[]).await?.get::<_, OffsetDateTime>(0) >= from {
        return Ok(());
    }
    // Most of it beforehand, while others add.
    for _ in 0..PASSES_MAX {
        if rollup::pass(client, from).await? == 0 {
            break;
        }
    }
    let tx = client.transaction().await?;
    let held: OffsetDateTime = tx.query_one(&format!("{current} for update"), &[]).await?.get(0);
    let grain_name = if grain == Grain::Hour { "hour" } else { "day" };
    let due = "select period from due_rollups where grain = $1 and period < $2 order by period";
    // Days need their hours first, and these stand still now.
    for row in tx.query(due, &[&"hour", &from]).await?.iter().filter(|_| grain == Grain::Day) {
        let minutes_from = tx.query_one("select minutes_from from count_horizons", &[]).await?.get(0);
        rollup::roll_up_in(&tx, Grain::Hour, row.get(0), minutes_from).await?;
    }
    for row in tx.query(due, &[&grain_name, &from]).await? {
        rollup::roll_up_in(&tx, grain, row.get(0), held).await?;
    }
    tx.execute(&format!("update count_horizons set {column} = greatest({column}, $1)"), &[&from]).await?;
    tx.commit().await?;
    tracing::info!(horizon = column, %from, "counts before this are kept in a coarser grain alone");
    Ok(())
}

/// Removes rows before a time, some at a time.
async fn remove(
    client: &Client,
    table: &str,
    column: &str,
    until: OffsetDateTime,
) -> Result<(), tokio_postgres::Error> {
    let statement = format!(
        "delete from {table} where ctid = any (array(select ctid from {table} where {column} < $1 limit {CHUNK}))"
    );
    let mut removed = 0;
    for _ in 0..CHUNKS_MAX {
        let gone = client.execute(&statement, &[&until]).await?;
        removed += gone;
        if gone < CHUNK.unsigned_abs() {
            break;
        }
    }
    if removed > 0 {
        tracing::debug!(table, rows = removed, "what is over its time is gone");
    }
    Ok(())
}

/// Removes series that have no counts any more, and unknown flags that nobody asked for lately with theirs. Those who add
/// wait, and look the ids of series up anew.
async fn remove_series(
    client: &mut Client,
    days_from: OffsetDateTime,
    now: OffsetDateTime,
) -> Result<(), tokio_postgres::Error> {
    let unknown_from = (now - UNKNOWN).max(days_from);
    for (table, until, condition) in [
        ("evaluation_series", days_from, "and not exists (select from exposures where series = evaluation_series.id)"),
        ("request_series", days_from, ""),
        ("edge_series", days_from, ""),
        ("event_series", days_from, "and not exists (select from unit_events where series = event_series.id)"),
        ("unknown_series", unknown_from, ""),
    ] {
        let select = format!("select id from {table} where last_at < $1 {condition} order by id limit {SERIES_CHUNK}");
        for _ in 0..CHUNKS_MAX {
            if client.query(&select, &[&until]).await?.is_empty() {
                break;
            }
            let tx = client.transaction().await?;
            tx.query("select from count_horizons for update", &[]).await?;
            // Once more, since one may have been counted meanwhile.
            let ids: Vec<i64> = tx.query(&select, &[&until]).await?.iter().map(|row| row.get(0)).collect();
            for counts in ["minute_counts", "hour_counts", "day_counts"] {
                tx.execute(&format!("delete from {counts} where series = any($1)"), &[&ids]).await?;
            }
            tx.execute(&format!("delete from {table} where id = any($1)"), &[&ids]).await?;
            tx.execute("update count_horizons set series_generation = series_generation + 1", &[]).await?;
            tx.commit().await?;
        }
    }
    Ok(())
}

/// Forgets old batches one by one; that they were added is still known, by the highest of them.
async fn forget_batches(client: &mut Client, until: OffsetDateTime) -> Result<(), tokio_postgres::Error> {
    let old = "
select process, max(sequence)
from count_batches
where received_at < $1
group by process
order by process
limit 1000";
    for row in client.query(old, &[&until]).await? {
        let (process, through): (uuid::Uuid, i64) = (row.get(0), row.get(1));
        let tx = client.transaction().await?;
        tx.execute(
            "update count_processes set forgotten_through = greatest(forgotten_through, $2) where process = $1",
            &[&process, &through],
        )
        .await?;
        tx.execute("delete from count_batches where process = $1 and sequence <= $2", &[&process, &through]).await?;
        tx.commit().await?;
    }
    Ok(())
}

/// Forgets edges that left long ago, and what was added of them.
async fn forget_edges(client: &Client, until: OffsetDateTime) -> Result<(), tokio_postgres::Error> {
    client.execute("delete from edges where gone_at < $1", &[&until]).await?;
    client
        .execute(
            "delete from count_processes
             where last_at < $1
                 and not exists (select from edges where edges.process = count_processes.process)
                 and not exists (select from count_batches where count_batches.process = count_processes.process)",
            &[&until],
        )
        .await?;
    Ok(())
}
