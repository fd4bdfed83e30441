//! Batches into the database, each exactly once: the identity of a batch (`identity`), its counts, the marks of what is to
//! be rolled up and the total of its process are written in one transaction.
//!
//! Locks are taken in one order: ingest itself, the horizons, processes, series, counts, marks. Two leaders at once wait
//! for each other at the first.

use std::collections::BTreeMap;

use shared::model::id::EnvironmentId;
use shared::wire::count::CountBatch;
use time::OffsetDateTime;
use tokio_postgres::{Client, Transaction};

use super::CHANNEL;
use super::identity::{Identified, identify};
use super::read::entries;
use super::rows::{add_counts, add_events, add_exposures};
use super::series::{Resolved, SeriesCache, resolve};
use super::sums::Sums;
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
    refused: Vec<&'a CountBatch>,
    added: Added,
}

/// What adding did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// Batches that were new.
    pub batches: u64,
    /// Batches that had been added before.
    pub repeated: u64,
    /// Batches whose counts were added in another range.
    pub refused: u64,
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
    pub async fn write<'a>(
        &'a mut self,
        batches: &'a [CountBatch],
        now: OffsetDateTime,
        resolution_minutes: u32,
    ) -> Result<Written<'a>, tokio_postgres::Error> {
        let (client, series) = (&mut self.client, &mut self.series);
        let tx = client.transaction().await?;
        tx.execute("select pg_advisory_xact_lock($1)", &[&LOCK]).await?;
        let horizons = tx
            .query_one("select minutes_from, hours_from, series_generation from count_horizons for share", &[])
            .await?;
        series.follow(horizons.get(2));
        let Identified { new, repeated, refused } = identify(&tx, batches, now).await?;
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
            repeated,
            refused: refused.len() as u64,
            entries: new.iter().map(|batch| entries(batch) as u64).sum(),
            clock_wrong: sums.clock_wrong,
            events_refused: sums.events_refused,
        };
        Ok(Written { tx, series, resolved, refused, added })
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
        for batch in self.refused {
            let (process, first, last, part) = (batch.process, batch.first(), batch.sequence, batch.part);
            tracing::warn!(
                process.id = %process, first, last, part,
                "counts are refused: a copy of this edge's folder sent these counts under its name"
            );
        }
        Ok(self.added)
    }
}

/// How many evaluations were added, by environment, for whoever shows them as they come; nothing when that is too long.
fn notification(evaluations: &BTreeMap<EnvironmentId, u64>) -> String {
    let text = serde_json::to_string(evaluations).unwrap_or_default();
    if text.len() > NOTIFICATION_BYTES_MAX || text.is_empty() { "{}".into() } else { text }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

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
