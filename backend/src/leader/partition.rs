//! One partition of `minute_counts` for each day, so that a day goes by dropping a table. Where one is missing, the
//! default takes the rows: nothing waits for a partition.

use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use time::{Date, Duration, OffsetDateTime};
use tokio_postgres::Client;

use crate::error::chain;

/// Partitions are made so many days ahead.
const AHEAD: i64 = 3;
/// Any number, the same on every backend of a database.
const LOCK: i64 = 0x666c_7578_7061_7274;
/// Rows move out of the default, and a day goes, within this, or another time: readers and ingest wait meanwhile.
const LIMITS: &str = "set local lock_timeout = '3s'; set local statement_timeout = '20s'";
const NAME: &[BorrowedFormatItem<'_>] = format_description!("minute_counts_[year][month][day]");
const EXISTING: &str = "
select partition.relname
from pg_inherits
join pg_class as partition on partition.oid = pg_inherits.inhrelid
where pg_inherits.inhparent = 'minute_counts'::regclass";

/// Makes the partitions of the days that are kept and of some ahead; drops those before. What fails is tried again by
/// the next call.
pub async fn keep(client: &mut Client, now: OffsetDateTime) -> Result<(), tokio_postgres::Error> {
    let minutes_from: OffsetDateTime = client.query_one("select minutes_from from count_horizons", &[]).await?.get(0);
    let existing = client.query(EXISTING, &[]).await?;
    let existing: Vec<Date> = existing.iter().filter_map(|row| Date::parse(row.get(0), NAME).ok()).collect();
    let first = minutes_from.date();
    let mut day = now.date().saturating_add(Duration::days(AHEAD));
    // The newest first: ingest is in need of today's.
    while day >= first {
        if !existing.contains(&day)
            && let Err(error) = make(client, day).await
        {
            tracing::warn!(error = %chain(&error), %day, "a day of counts stays in the default partition for now");
        }
        day = day.saturating_sub(Duration::DAY);
    }
    for day in existing.into_iter().filter(|day| *day < first) {
        if let Err(error) = drop_day(client, day).await {
            tracing::warn!(error = %chain(&error), %day, "a day of counts that is over cannot go yet");
        }
    }
    Ok(())
}

/// Makes the partition of a day; the rows of that day in the default move over.
async fn make(client: &mut Client, day: Date) -> Result<(), tokio_postgres::Error> {
    let (name, from, to) = names(day);
    let tx = begin(client).await?;
    let is_there: bool = tx.query_one("select to_regclass($1) is not null", &[&name]).await?.get(0);
    if is_there {
        return tx.commit().await;
    }
    // Room for the versions that adding leaves behind, so that they stay on their page and out of the index.
    tx.batch_execute(&format!(
        "lock table minute_counts_default in access exclusive mode;
         create table {name} (like minute_counts including all) with (fillfactor = 70);
         with moved as (
             delete from minute_counts_default where minute >= '{from}' and minute < '{to}' returning series, minute, count
         )
         insert into {name} (series, minute, count) select series, minute, count from moved order by minute, series;
         alter table minute_counts attach partition {name} for values from ('{from}') to ('{to}')"
    ))
    .await?;
    tx.commit().await
}

async fn drop_day(client: &mut Client, day: Date) -> Result<(), tokio_postgres::Error> {
    let (name, ..) = names(day);
    let tx = begin(client).await?;
    tx.batch_execute(&format!("drop table if exists {name}")).await?;
    tx.commit().await
}

async fn begin(client: &mut Client) -> Result<tokio_postgres::Transaction<'_>, tokio_postgres::Error> {
    let tx = client.transaction().await?;
    tx.batch_execute(LIMITS).await?;
    tx.execute("select pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    Ok(tx)
}

/// The name of a day's partition, and its bounds.
fn names(day: Date) -> (String, String, String) {
    let next = day.saturating_add(Duration::DAY);
    let moment = |day: Date| format!("{day} 00:00:00+00");
    // Formatting a date cannot fail; without a name nothing would be made.
    (day.format(NAME).unwrap_or_default(), moment(day), moment(next))
}
