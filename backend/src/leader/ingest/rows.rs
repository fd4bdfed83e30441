//! The rows of counts, exposures and events: copied into a table of this connection's own, then added in sorted order.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;

use time::OffsetDateTime;
use tokio_postgres::Transaction;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};

use super::minute_at;
use super::series::Resolved;
use super::sums::Sums;

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

/// Adds to the finest grain that is still kept of each minute, and marks what is to be rolled up because of it.
pub(super) async fn add_counts(
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

/// When units were first given a variant.
pub(super) async fn add_exposures(
    tx: &Transaction<'_>,
    sums: &Sums,
    resolved: &Resolved,
) -> Result<(), tokio_postgres::Error> {
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

/// What units did.
pub(super) async fn add_events(
    tx: &Transaction<'_>,
    sums: &Sums,
    resolved: &Resolved,
) -> Result<(), tokio_postgres::Error> {
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
