//! Counts into the database, each batch exactly once: the batch's identity and its counts are written in one
//! transaction, so a batch that arrives again changes nothing.

use std::time::Duration;

use async_nats::Client as Bus;
use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::{self, AckKind, stream};
use futures::{StreamExt, pin_mut};
use shared::wire::count::{
    BATCH_BYTES_MAX, CountBatch, ENTRIES_MAX, FUTURE_MINUTES_MAX, Mode, PAST_MINUTES_MAX, STREAM, SUBJECT,
};
use thiserror::Error;
use time::OffsetDateTime;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Transaction};

use crate::error::chain;
use crate::leader::lease::connect;
use crate::state::AppState;

/// The channel that tells all backends of new counts.
pub const CHANNEL: &str = "fluxgate_counts";
/// The stream's bound; edges keep counting and wait when it is full.
const STREAM_BYTES_MAX: i64 = 1024 * 1024 * 1024;
const CONSUMER: &str = "ingest";
/// Batches under way at once.
const PENDING_MAX: i64 = 64;
/// A batch that was not acknowledged comes again after this.
const ACK_WAIT: Duration = Duration::from_secs(30);
/// The stream is looked at this often: a small read that tells whether it is still the same.
const LOOK: Duration = Duration::from_secs(2);
/// Wait after a failure.
const RETRY: Duration = Duration::from_secs(1);
/// The largest count that is believed; sums of many stay within 64 bits.
const COUNT_MAX: u64 = 1 << 50;
/// The longest `place` or variant that is believed, in bytes.
const TEXT_BYTES_MAX: usize = 200;

const STAGING: &str = "
create temporary table if not exists staging_evaluations
    (environment_id uuid, flag_id uuid, minute timestamptz, place text, variant text, mode text, count bigint)
    on commit delete rows;
create temporary table if not exists staging_keys
    (environment_id uuid, key_id uuid, minute timestamptz, count bigint)
    on commit delete rows";
const ADD_EVALUATIONS: &str = "
insert into evaluation_counts (environment_id, flag_id, minute, place, variant, mode, count)
select environment_id, flag_id, minute, place, variant, mode, sum(count)
from staging_evaluations
group by environment_id, flag_id, minute, place, variant, mode
order by environment_id, flag_id, minute, place, variant, mode
on conflict (environment_id, flag_id, minute, place, variant, mode) do update
set count = evaluation_counts.count + excluded.count";
const ADD_KEYS: &str = "
insert into sdk_key_counts (environment_id, key_id, minute, count)
select min(environment_id::text)::uuid, key_id, minute, sum(count)
from staging_keys
group by key_id, minute
order by key_id, minute
on conflict (key_id, minute) do update
set count = sdk_key_counts.count + excluded.count";

#[derive(Debug, Error)]
enum IngestError {
    #[error("NATS")]
    Nats(#[source] async_nats::Error),
    #[error("the database")]
    Database(#[from] tokio_postgres::Error),
}

/// Adds batches for as long as this backend leads.
pub(super) async fn run(state: AppState, bus: Bus) {
    loop {
        if let Err(error) = follow(&state, &bus).await {
            tracing::warn!(error = %chain(&error), "counts wait in the stream");
        }
        tokio::time::sleep(RETRY).await;
    }
}

async fn follow(state: &AppState, bus: &Bus) -> Result<(), IngestError> {
    let mut database = connect(&state.config.database.url, None).await?;
    database.batch_execute(STAGING).await?;
    let context = jetstream::new(bus.clone());
    let stream = context.get_or_create_stream(stream_config()).await.map_err(nats)?;
    let consumer = stream
        .get_or_create_consumer(
            CONSUMER,
            pull::Config {
                durable_name: Some(CONSUMER.into()),
                ack_policy: AckPolicy::Explicit,
                ack_wait: ACK_WAIT,
                max_ack_pending: PENDING_MAX,
                ..Default::default()
            },
        )
        .await
        .map_err(nats)?;
    // A consumer that was deleted with its stream is noticed by missing heartbeats.
    let messages = consumer.stream().heartbeat(Duration::from_secs(5)).expires(Duration::from_secs(15));
    let mut messages = messages.messages().await.map_err(nats)?;
    let created = stream.cached_info().created;
    let mut look = tokio::time::interval(LOOK);
    loop {
        let message = tokio::select! {
            message = messages.next() => message,
            _ = look.tick() => match stream.get_info().await {
                Ok(info) if info.created == created => continue,
                // Deleted with its store, or made anew: edges wait for one that is followed.
                _ => return Ok(()),
            },
        };
        let Some(message) = message else { return Ok(()) };
        let message = message.map_err(nats)?;
        match read(&message.payload) {
            Ok(batch) => {
                add(&mut database, &batch, state.clock.now()).await?;
                message.ack().await.map_err(IngestError::Nats)?;
            }
            Err(reason) => {
                let (subject, bytes) = (&message.subject, message.payload.len());
                tracing::error!(%subject, bytes, reason, "a batch of counts cannot be read");
                message.ack_with(AckKind::Term).await.map_err(IngestError::Nats)?;
            }
        }
    }
}

fn stream_config() -> stream::Config {
    stream::Config {
        name: STREAM.into(),
        description: Some("Counts on their way from edges to PostgreSQL".into()),
        subjects: vec![format!("{SUBJECT}.>")],
        retention: stream::RetentionPolicy::WorkQueue,
        discard: stream::DiscardPolicy::New,
        max_bytes: STREAM_BYTES_MAX,
        storage: stream::StorageType::File,
        ..Default::default()
    }
}

fn read(payload: &[u8]) -> Result<CountBatch, String> {
    if payload.len() > BATCH_BYTES_MAX {
        return Err(format!("{} bytes; at most {BATCH_BYTES_MAX} are allowed", payload.len()));
    }
    let batch: CountBatch = serde_json::from_slice(payload).map_err(|error| error.to_string())?;
    let entries = batch.evaluations.len() + batch.keys.len();
    if entries > ENTRIES_MAX {
        return Err(format!("{entries} entries; at most {ENTRIES_MAX} are allowed"));
    }
    let counts = batch.evaluations.iter().map(|e| e.count).chain(batch.keys.iter().map(|k| k.count));
    if counts.into_iter().any(|count| count > COUNT_MAX) {
        return Err(format!("a count beyond {COUNT_MAX}, which nobody can have counted"));
    }
    let is_long = |text: &str| text.len() > TEXT_BYTES_MAX || text.contains('\0');
    if batch.evaluations.iter().any(|e| is_long(&e.place) || e.variant.as_deref().is_some_and(is_long)) {
        return Err(format!("a place or variant longer than {TEXT_BYTES_MAX} bytes"));
    }
    Ok(batch)
}

/// Adds a batch unless it was added before.
async fn add(database: &mut Client, batch: &CountBatch, now: OffsetDateTime) -> Result<(), tokio_postgres::Error> {
    let tx = database.transaction().await?;
    let sequence = i64::try_from(batch.sequence).unwrap_or(i64::MAX);
    let is_new = tx
        .execute(
            "insert into count_batches (process, sequence, received_at) values ($1, $2, $3) on conflict do nothing",
            &[&batch.process.uuid(), &sequence, &now],
        )
        .await?;
    if is_new == 1 {
        let current = now.unix_timestamp().div_euclid(60);
        let wrong = batch.evaluations.iter().filter(|counted| !is_believed(counted.minute, current)).count();
        if wrong > 0 {
            tracing::warn!(process.id = %batch.process, entries = wrong, "an edge's clock is wrong; its counts go to the minute of receipt");
        }
        copy_evaluations(&tx, batch, now).await?;
        copy_keys(&tx, batch, now).await?;
        tx.execute(ADD_EVALUATIONS, &[]).await?;
        tx.execute(ADD_KEYS, &[]).await?;
        tx.execute("select pg_notify($1, '')", &[&CHANNEL]).await?;
    }
    tx.commit().await
}

async fn copy_evaluations(
    tx: &Transaction<'_>,
    batch: &CountBatch,
    now: OffsetDateTime,
) -> Result<(), tokio_postgres::Error> {
    let sink = tx.copy_in("copy staging_evaluations from stdin binary").await?;
    let types = [Type::UUID, Type::UUID, Type::TIMESTAMPTZ, Type::TEXT, Type::TEXT, Type::TEXT, Type::INT8];
    let writer = BinaryCopyInWriter::new(sink, &types);
    pin_mut!(writer);
    for counted in &batch.evaluations {
        let mode = match counted.mode {
            Mode::Single => "single",
            Mode::Bulk => "bulk",
        };
        let variant = counted.variant.as_deref().unwrap_or_default();
        let (environment, flag) = (counted.environment.uuid(), counted.flag.uuid());
        let (minute, count) = (minute(counted.minute, now), count(counted.count));
        let row: [&(dyn ToSql + Sync); 7] = [&environment, &flag, &minute, &counted.place, &variant, &mode, &count];
        writer.as_mut().write(&row).await?;
    }
    writer.finish().await?;
    Ok(())
}

async fn copy_keys(tx: &Transaction<'_>, batch: &CountBatch, now: OffsetDateTime) -> Result<(), tokio_postgres::Error> {
    let sink = tx.copy_in("copy staging_keys from stdin binary").await?;
    let writer = BinaryCopyInWriter::new(sink, &[Type::UUID, Type::UUID, Type::TIMESTAMPTZ, Type::INT8]);
    pin_mut!(writer);
    for counted in &batch.keys {
        let (environment, key) = (counted.environment.uuid(), counted.key.uuid());
        let (minute, count) = (minute(counted.minute, now), count(counted.count));
        let row: [&(dyn ToSql + Sync); 4] = [&environment, &key, &minute, &count];
        writer.as_mut().write(&row).await?;
    }
    writer.finish().await?;
    Ok(())
}

/// The minute as a moment; one that no right clock can have sent becomes the minute of receipt.
fn minute(minute: i64, now: OffsetDateTime) -> OffsetDateTime {
    let current = now.unix_timestamp().div_euclid(60);
    let believed = if is_believed(minute, current) { minute } else { current };
    OffsetDateTime::from_unix_timestamp(believed * 60).unwrap_or(now)
}

fn is_believed(minute: i64, current: i64) -> bool {
    (current - PAST_MINUTES_MAX..=current + FUTURE_MINUTES_MAX).contains(&minute)
}

fn count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn nats(error: impl Into<async_nats::Error>) -> IngestError {
    IngestError::Nats(error.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_that_no_right_clock_can_have_sent_becomes_the_minute_of_receipt() {
        let now = OffsetDateTime::UNIX_EPOCH + time::Duration::days(20_000);
        let current = 20_000 * 24 * 60;
        for (sent, kept) in [(current, current), (current + 5, current + 5), (current + 6, current), (0, current)] {
            assert_eq!(minute(sent, now).unix_timestamp(), kept * 60, "{sent}");
        }
    }
}
