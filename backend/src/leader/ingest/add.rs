//! Batches into the database, each exactly once: the identity of a batch, its counts, the marks of what is to be rolled
//! up and the total of its process are written in one transaction.
//!
//! Locks are taken in one order: ingest itself, the horizons, processes, series, counts, marks. Two leaders at once wait
//! for each other at the first.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::pin::pin;

use shared::model::id::EnvironmentId;
use shared::wire::count::CountBatch;
use time::OffsetDateTime;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Transaction};
use uuid::Uuid;

use super::read::entries;
use super::series::{Resolved, SeriesCache, resolve};
use super::sums::Sums;
use super::{CHANNEL, minute_at};
use crate::leader::lease::connect;

/// Any number, the same on every backend of a database.
const LOCK: i64 = 0x666c_7578_636f_756e;
/// The most bytes of a notification; PostgreSQL takes 7,999.
const NOTIFICATION_BYTES_MAX: usize = 7_500;

/// Every wait has an end; the longest statement adds 10,000 entries.
const SETUP: &str = "
set lock_timeout = '10s';
set statement_timeout = '30s';
set idle_in_transaction_session_timeout = '30s';
create temporary table staged_counts (series bigint, minute timestamptz, count bigint) on commit delete rows;
create temporary table staged_exposures (series bigint, unit bigint, minute timestamptz) on commit delete rows;
create temporary table staged_events
    (series bigint, unit bigint, minute timestamptz, count bigint, sum double precision)
    on commit delete rows";
const KNOW_PROCESSES: &str = "
insert into count_processes (process, received, is_complete, first_at, last_at)
select sent.process, 0, not exists (select from count_batches where count_batches.process = sent.process), $2, $2
from unnest($1::uuid[]) as sent (process)
order by sent.process
on conflict (process) do nothing";
const LOCK_PROCESSES: &str = "
select process from count_processes where process = any($1::uuid[]) order by process for update";
const IDENTIFY: &str = "
insert into count_batches (process, sequence, received_at)
select process, sequence, $3
from unnest($1::uuid[], $2::bigint[]) as sent (process, sequence)
join count_processes using (process)
where sequence > forgotten_through
order by process, sequence
on conflict (process, sequence) do nothing
returning process, sequence";
const RECEIVE: &str = "
update count_processes
set received = received + sent.added, last_at = $3
from unnest($1::uuid[], $2::bigint[]) as sent (process, added)
where count_processes.process = sent.process";
const ADD_MINUTES: &str = "
insert into minute_counts (series, minute, count)
select series, minute, count
from staged_counts
order by series, minute
on conflict (series, minute) do update set count = minute_counts.count + excluded.count";
const ADD_HOURS: &str = "
insert into hour_counts (series, hour, count)
select * from unnest($1::bigint[], $2::timestamptz[], $3::bigint[])
on conflict (series, hour) do update set count = hour_counts.count + excluded.count";
const ADD_DAYS: &str = "
insert into day_counts (series, day, count)
select * from unnest($1::bigint[], $2::timestamptz[], $3::bigint[])
on conflict (series, day) do update set count = day_counts.count + excluded.count";
/// A mark that is there is locked by this until the commit: a roll-up takes it away first, and so waits.
const MARK: &str = "
insert into due_rollups (grain, period)
select * from unnest($1::text[], $2::timestamptz[])
on conflict (grain, period) do update set period = excluded.period";
const ADD_EXPOSURES: &str = "
insert into exposures (series, unit, minute)
select series, unit, minute
from staged_exposures
order by series, unit
on conflict (series, unit) do update set minute = excluded.minute where excluded.minute < exposures.minute";
const ADD_EVENTS: &str = "
insert into unit_events (series, unit, minute, count, sum)
select series, unit, minute, count, sum
from staged_events
order by series, unit, minute
on conflict (series, unit, minute) do update
set count = unit_events.count + excluded.count, sum = unit_events.sum + excluded.sum";

/// A connection that adds batches.
#[derive(Debug)]
pub struct Ingester {
    client: Client,
    series: SeriesCache,
}

/// Batches that are written and not yet committed; dropped, they are rolled back.
pub struct Written<'a> {
    tx: Transaction<'a>,
    series: &'a mut SeriesCache,
    resolved: Resolved,
    added: Added,
}

/// What adding did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// Batches that were new.
    pub batches: u64,
    /// Batches that had been added before.
    pub repeated: u64,
    /// Entries of the new ones.
    pub entries: u64,
    /// Evaluations whose minute could not be right.
    pub clock_wrong: u64,
    /// Entries of events that were let go of.
    pub events_refused: u64,
}

impl Ingester {
    /// A connection of its own.
    pub async fn connect(url: &str) -> Result<Self, tokio_postgres::Error> {
        let client = connect(url, None).await?;
        client.batch_execute(SETUP).await?;
        Ok(Self { client, series: SeriesCache::default() })
    }

    /// Adds batches, but for those that were added before.
    pub async fn add(
        &mut self,
        batches: &[CountBatch],
        now: OffsetDateTime,
        resolution_minutes: u32,
    ) -> Result<Added, tokio_postgres::Error> {
        self.write(batches, now, resolution_minutes).await?.commit().await
    }

    /// The same without the commit.
    pub async fn write(
        &mut self,
        batches: &[CountBatch],
        now: OffsetDateTime,
        resolution_minutes: u32,
    ) -> Result<Written<'_>, tokio_postgres::Error> {
        let (client, series) = (&mut self.client, &mut self.series);
        let tx = client.transaction().await?;
        tx.execute("select pg_advisory_xact_lock($1)", &[&LOCK]).await?;
        let horizons = tx
            .query_one("select minutes_from, hours_from, series_generation from count_horizons for share", &[])
            .await?;
        series.follow(horizons.get(2));
        let new = identify(&tx, batches, now).await?;
        let mut sums = Sums::new(now.unix_timestamp().div_euclid(60), resolution_minutes);
        new.iter().for_each(|batch| sums.add(batch));
        let resolved = resolve(&tx, series, &mut sums).await?;
        add_counts(&tx, &sums, &resolved, horizons.get(0), horizons.get(1)).await?;
        add_exposures(&tx, &sums, &resolved).await?;
        add_events(&tx, &sums, &resolved).await?;
        if !new.is_empty() {
            tx.execute("select pg_notify($1, $2)", &[&CHANNEL, &notification(&sums.evaluations)]).await?;
        }
        let added = Added {
            batches: new.len() as u64,
            repeated: (batches.len() - new.len()) as u64,
            entries: new.iter().map(|batch| entries(batch) as u64).sum(),
            clock_wrong: sums.clock_wrong,
            events_refused: sums.events_refused,
        };
        Ok(Written { tx, series, resolved, added })
    }

    /// The connection, for what else is to be written of batches.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }
}

impl Written<'_> {
    /// Makes it last.
    pub async fn commit(self) -> Result<Added, tokio_postgres::Error> {
        self.tx.commit().await?;
        self.series.remember(self.resolved);
        Ok(self.added)
    }
}

/// Writes down which batches these are, and answers those that are new.
async fn identify<'a>(
    tx: &Transaction<'_>,
    batches: &'a [CountBatch],
    now: OffsetDateTime,
) -> Result<Vec<&'a CountBatch>, tokio_postgres::Error> {
    let identity = |batch: &CountBatch| (batch.process.uuid(), i64::try_from(batch.sequence).unwrap_or(i64::MAX));
    let processes: BTreeSet<Uuid> = batches.iter().map(|batch| batch.process.uuid()).collect();
    let processes: Vec<Uuid> = processes.into_iter().collect();
    tx.execute(KNOW_PROCESSES, &[&processes, &now]).await?;
    tx.query(LOCK_PROCESSES, &[&processes]).await?;
    let (senders, sequences): (Vec<Uuid>, Vec<i64>) = batches.iter().map(identity).unzip();
    let rows = tx.query(IDENTIFY, &[&senders, &sequences, &now]).await?;
    let mut fresh: HashSet<(Uuid, i64)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    // Of a batch that stands twice among these, the first counts.
    let new: Vec<&CountBatch> = batches.iter().filter(|batch| fresh.remove(&identity(batch))).collect();
    let mut received: BTreeMap<Uuid, i64> = BTreeMap::new();
    for batch in &new {
        let evaluations = batch.evaluations.iter().map(|counted| counted.count);
        let total: u64 = evaluations.chain(batch.unknown.iter().map(|counted| counted.count)).sum();
        let sum = received.entry(batch.process.uuid()).or_default();
        *sum = sum.saturating_add_unsigned(total);
    }
    let (processes, totals): (Vec<Uuid>, Vec<i64>) = received.into_iter().unzip();
    tx.execute(RECEIVE, &[&processes, &totals, &now]).await?;
    Ok(new)
}

/// Adds to the finest grain that is still kept of each minute, and marks what is to be rolled up because of it.
async fn add_counts(
    tx: &Transaction<'_>,
    sums: &Sums,
    resolved: &Resolved,
    minutes_from: OffsetDateTime,
    hours_from: OffsetDateTime,
) -> Result<(), tokio_postgres::Error> {
    let mut minutes: Vec<(i64, i64, i64)> = Vec::with_capacity(sums.counts.len());
    let (mut hours, mut days) = (BTreeMap::new(), BTreeMap::new());
    let mut marks: BTreeSet<(&str, i64)> = BTreeSet::new();
    let (minutes_from, hours_from) = (minutes_from.unix_timestamp() / 60, hours_from.unix_timestamp() / 60);
    for ((series, minute), count) in &sums.counts {
        let Some(id) = resolved.ids.get(*series).copied().flatten() else { continue };
        let (hour, day) = (minute - minute.rem_euclid(60), minute - minute.rem_euclid(24 * 60));
        if *minute >= minutes_from {
            minutes.push((id, *minute, *count));
            marks.insert(("hour", hour));
        } else if *minute >= hours_from {
            add_to(&mut hours, (id, hour), *count);
        } else {
            add_to(&mut days, (id, day), *count);
        }
        if *minute >= hours_from {
            marks.insert(("day", day));
        }
    }
    minutes.sort_unstable();
    if !minutes.is_empty() {
        let rows = minutes.iter().map(|(series, minute, count)| (*series, minute_at(*minute), *count));
        let sink = tx.copy_in("copy staged_counts from stdin binary").await?;
        let mut writer = pin!(BinaryCopyInWriter::new(sink, &[Type::INT8, Type::TIMESTAMPTZ, Type::INT8]));
        for (series, minute, count) in rows {
            let row: [&(dyn ToSql + Sync); 3] = [&series, &minute, &count];
            writer.as_mut().write(&row).await?;
        }
        writer.finish().await?;
        tx.execute(ADD_MINUTES, &[]).await?;
    }
    for (statement, rows) in [(ADD_HOURS, hours), (ADD_DAYS, days)] {
        if !rows.is_empty() {
            let series: Vec<i64> = rows.keys().map(|(series, _)| *series).collect();
            let times: Vec<OffsetDateTime> = rows.keys().map(|(_, at)| minute_at(*at)).collect();
            let counts: Vec<i64> = rows.into_values().collect();
            tx.execute(statement, &[&series, &times, &counts]).await?;
        }
    }
    if !marks.is_empty() {
        let grains: Vec<&str> = marks.iter().map(|(grain, _)| *grain).collect();
        let periods: Vec<OffsetDateTime> = marks.iter().map(|(_, at)| minute_at(*at)).collect();
        tx.execute(MARK, &[&grains, &periods]).await?;
    }
    Ok(())
}

async fn add_exposures(tx: &Transaction<'_>, sums: &Sums, resolved: &Resolved) -> Result<(), tokio_postgres::Error> {
    if sums.exposures.is_empty() {
        return Ok(());
    }
    let sink = tx.copy_in("copy staged_exposures from stdin binary").await?;
    let mut writer = pin!(BinaryCopyInWriter::new(sink, &[Type::INT8, Type::INT8, Type::TIMESTAMPTZ]));
    for ((series, unit), minute) in &sums.exposures {
        let Some(id) = resolved.ids.get(*series).copied().flatten() else { continue };
        let (unit, minute) = (unit.cast_signed(), minute_at(*minute));
        let row: [&(dyn ToSql + Sync); 3] = [&id, &unit, &minute];
        writer.as_mut().write(&row).await?;
    }
    writer.finish().await?;
    tx.execute(ADD_EXPOSURES, &[]).await?;
    Ok(())
}

async fn add_events(tx: &Transaction<'_>, sums: &Sums, resolved: &Resolved) -> Result<(), tokio_postgres::Error> {
    if sums.events.is_empty() {
        return Ok(());
    }
    let sink = tx.copy_in("copy staged_events from stdin binary").await?;
    let types = [Type::INT8, Type::INT8, Type::TIMESTAMPTZ, Type::INT8, Type::FLOAT8];
    let mut writer = pin!(BinaryCopyInWriter::new(sink, &types));
    for ((series, unit, minute), (count, sum)) in &sums.events {
        let Some(id) = resolved.ids.get(*series).copied().flatten() else { continue };
        let (unit, minute) = (unit.cast_signed(), minute_at(*minute));
        let row: [&(dyn ToSql + Sync); 5] = [&id, &unit, &minute, count, sum];
        writer.as_mut().write(&row).await?;
    }
    writer.finish().await?;
    tx.execute(ADD_EVENTS, &[]).await?;
    Ok(())
}

fn add_to(rows: &mut BTreeMap<(i64, i64), i64>, at: (i64, i64), count: i64) {
    let sum = rows.entry(at).or_default();
    *sum = sum.saturating_add(count);
}

/// How many evaluations were added, by environment, for whoever shows them as they come; nothing when that is too long.
fn notification(evaluations: &BTreeMap<EnvironmentId, u64>) -> String {
    let text = serde_json::to_string(evaluations).unwrap_or_default();
    if text.len() > NOTIFICATION_BYTES_MAX || text.is_empty() { "{}".into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_names_environments_until_it_is_too_long() {
        let environments = |count: u128| -> BTreeMap<EnvironmentId, u64> {
            (0..count).map(|at| (EnvironmentId::from(Uuid::from_u128(at)), 7)).collect()
        };
        assert_eq!(notification(&environments(1)), r#"{"00000000-0000-0000-0000-000000000000":7}"#);
        assert!(notification(&environments(180)).len() > 7_000);
        assert_eq!(notification(&environments(200)), "{}");
    }
}
