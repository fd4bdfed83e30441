//! Counts from the stream into the database.
//!
//! `read` takes a batch out of its bytes, `identity` finds out which are new, `sums` adds batches up, `series` finds the ids
//! of what is counted in each `table`, `add` writes all of it in one transaction (`rows`), `set_aside` keeps what cannot be
//! added. Only then the edge is told that it may let go of its batch: the stream's own acknowledgement says nothing once
//! its store is lost.

mod add;
mod identity;
mod read;
mod rows;
mod series;
mod set_aside;
mod stream;
mod sums;
mod table;

use std::time::Duration;

use async_nats::Client as Bus;
use async_nats::jetstream::{AckKind, Message};
use futures::{FutureExt, StreamExt};
use shared::wire::count::{CONFIRM_HEADER, Confirmation, CountBatch, ENTRIES_MAX};
use thiserror::Error;
use time::OffsetDateTime;
use tokio::time::{Instant, timeout};
use tokio_postgres::error::SqlState;

pub use add::{Added, Ingester, Written};

use crate::error::chain;
use crate::leader::ingest::read::{entries, read};
use crate::leader::ingest::stream::PENDING_MAX;
use crate::state::AppState;

/// The channel that tells all backends of new counts; its payload says how many evaluations came, by environment.
pub const CHANNEL: &str = "fluxgate_counts";
/// The stream is looked at this often: a small read that tells whether it is still the same.
const LOOK: Duration = Duration::from_secs(2);
/// Wait after a failure.
const RETRY: Duration = Duration::from_secs(1);
/// A transaction that takes longer is given up, and its connection with it.
const ADD_MAX: Duration = Duration::from_secs(60);
/// Tries of a transaction that met another one.
const TRIES_MAX: u32 = 5;
/// NATS takes a confirmation within this, or the edge sends its batch again.
const CONFIRM_MAX: Duration = Duration::from_secs(5);
/// Where edges may ask to be told: their own inboxes, and nothing else that a backend may write to.
const CONFIRM_PREFIX: &str = "_INBOX";
const CONFIRM_BYTES_MAX: usize = 200;

#[derive(Debug, Error)]
enum IngestError {
    #[error("NATS")]
    Nats(#[source] async_nats::Error),
    #[error("the database")]
    Database(#[from] tokio_postgres::Error),
    #[error("the database takes longer than {ADD_MAX:?}")]
    Slow,
}

/// Batches that wait, each with the message that brought it.
#[derive(Default)]
struct Waiting {
    messages: Vec<Message>,
    batches: Vec<CountBatch>,
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
    let mut ingester = Ingester::connect(&state.config.database.url).await?;
    let (stream, consumer) = stream::open(bus).await.map_err(IngestError::Nats)?;
    // A consumer that was deleted with its stream is noticed by missing heartbeats.
    let messages = consumer.stream().heartbeat(Duration::from_secs(5)).expires(Duration::from_secs(15));
    let mut messages = messages.messages().await.map_err(nats)?;
    let created = stream.cached_info().created;
    let mut look = tokio::time::interval(LOOK);
    let mut next = None;
    loop {
        let first = match next.take() {
            Some(held) => held,
            None => tokio::select! {
                message = messages.next() => match message {
                    Some(message) => message.map_err(nats)?,
                    None => return Ok(()),
                },
                _ = look.tick() => match stream.get_info().await {
                    Ok(info) if info.created == created => continue,
                    // Deleted with its store, or made anew: edges wait for one that is followed.
                    _ => return Ok(()),
                },
            },
        };
        let mut round = vec![first];
        let mut size = 0;
        let mut waiting = Waiting::default();
        while let Some(message) = round.pop() {
            match read(&message.payload) {
                // With this one it would be too much at once.
                Ok(batch) if size > 0 && size + entries(&batch) > ENTRIES_MAX => {
                    next = Some(message);
                    break;
                }
                Ok(batch) => {
                    size += entries(&batch).max(1);
                    waiting.messages.push(message);
                    waiting.batches.push(batch);
                }
                Err(refused) => {
                    set_aside(state, bus, &ingester, &message, refused.identity, &refused.reason).await?;
                }
            }
            if waiting.batches.len() < PENDING_MAX
                && let Some(Some(message)) = messages.next().now_or_never()
            {
                round.push(message.map_err(nats)?);
            }
        }
        if let Err(error) = take_in(state, bus, &mut ingester, waiting).await {
            // What this connection has fetched besides comes again soon, too.
            let mut fetched: Vec<Message> = next.into_iter().collect();
            while let Some(Some(Ok(message))) = messages.next().now_or_never() {
                fetched.push(message);
            }
            return Err(send_back(&fetched, error).await);
        }
    }
}

/// Adds what waits in one transaction; when something among it cannot be added, one by one.
async fn take_in(state: &AppState, bus: &Bus, ingester: &mut Ingester, waiting: Waiting) -> Result<(), IngestError> {
    let Waiting { messages, batches } = waiting;
    match add(state, ingester, &batches).await {
        Ok(()) => return settle(state, bus, &messages, &batches).await,
        Err(IngestError::Database(error)) if is_of_data(&error) => {
            tracing::warn!(error = %chain(&error), batches = batches.len(), "batches are added one by one");
        }
        Err(error) => return Err(send_back(&messages, error).await),
    }
    for (message, batch) in messages.iter().zip(&batches) {
        let (one, its_batch) = (std::slice::from_ref(message), std::slice::from_ref(batch));
        match add(state, ingester, its_batch).await {
            Ok(()) => settle(state, bus, one, its_batch).await?,
            Err(IngestError::Database(error)) if is_of_data(&error) => {
                set_aside(state, bus, ingester, message, Some(batch.confirmation()), &chain(&error)).await?;
            }
            // Those that are settled already do not come again.
            Err(error) => return Err(send_back(&messages, error).await),
        }
    }
    Ok(())
}

/// Adds batches within a bounded time; one that met another transaction is tried again.
async fn add(state: &AppState, ingester: &mut Ingester, batches: &[CountBatch]) -> Result<(), IngestError> {
    if batches.is_empty() {
        return Ok(());
    }
    let resolution = state.config.counts.resolution_minutes;
    let began = Instant::now();
    let mut tries = 1;
    let added = loop {
        match timeout(ADD_MAX, ingester.add(batches, state.clock.now(), resolution)).await {
            Ok(Ok(added)) => break added,
            Ok(Err(error)) if tries < TRIES_MAX && met_another(&error) => {
                tracing::debug!(error = %chain(&error), tries, "adding counts is tried again");
                tries += 1;
            }
            Ok(Err(error)) => return Err(error.into()),
            Err(_) => return Err(IngestError::Slow),
        }
    };
    let metrics = &state.metrics;
    metrics.ingest_duration_seconds.observe(began.elapsed().as_secs_f64());
    metrics.batches_added.inc_by(added.batches);
    metrics.batches_repeated.inc_by(added.repeated);
    metrics.batches_refused.inc_by(added.refused);
    metrics.entries_added.inc_by(added.entries);
    metrics.clock_wrong.inc_by(added.clock_wrong);
    metrics.events_refused.inc_by(added.events_refused);
    Ok(())
}

/// Tells edges and the stream that batches are in the database.
async fn settle(state: &AppState, bus: &Bus, messages: &[Message], batches: &[CountBatch]) -> Result<(), IngestError> {
    let newest = messages.iter().filter_map(|message| message.info().ok().map(|info| info.published)).max();
    if let Some(published) = newest {
        let lag = state.clock.now() - published;
        state.metrics.ingest_lag_seconds.set(lag.as_seconds_f64().max(0.0));
    }
    for (message, batch) in messages.iter().zip(batches) {
        confirm(bus, message, batch.confirmation()).await?;
        message.ack().await.map_err(IngestError::Nats)?;
    }
    Ok(())
}

/// Keeps a batch that will never do, and takes it out of everybody's way.
async fn set_aside(
    state: &AppState,
    bus: &Bus,
    ingester: &Ingester,
    message: &Message,
    identity: Option<Confirmation>,
    reason: &str,
) -> Result<(), IngestError> {
    let (subject, bytes) = (message.subject.as_str(), message.payload.len());
    tracing::error!(subject, bytes, reason, "a batch of counts cannot be added; it is set aside");
    let now: OffsetDateTime = state.clock.now();
    let kept = set_aside::keep(ingester.client(), subject, identity, reason, &message.payload, now);
    timeout(ADD_MAX, kept).await.map_err(|_| IngestError::Slow)??;
    state.metrics.batches_set_aside.inc();
    if let Some(identity) = identity {
        confirm(bus, message, identity).await?;
    }
    message.ack_with(AckKind::Term).await.map_err(IngestError::Nats)
}

/// Tells the edge, where it asked to be told.
async fn confirm(bus: &Bus, message: &Message, identity: Confirmation) -> Result<(), IngestError> {
    let Some(subject) = message.headers.as_ref().and_then(|headers| headers.get(CONFIRM_HEADER)) else {
        return Ok(());
    };
    let subject = subject.as_str();
    if !may_confirm_at(subject) {
        tracing::warn!(process.id = %identity.process, "a batch asks to be confirmed where no edge listens");
        return Ok(());
    }
    let text = serde_json::to_vec(&identity).map_err(nats)?;
    match timeout(CONFIRM_MAX, bus.publish(subject.to_owned(), text.into())).await {
        Ok(published) => published.map_err(nats),
        Err(elapsed) => Err(nats(elapsed)),
    }
}

/// An edge names the subject; the backend may publish anywhere, so it does not follow just any name.
fn may_confirm_at(subject: &str) -> bool {
    let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '*' | '>'));
    subject.len() <= CONFIRM_BYTES_MAX
        && subject.starts_with(CONFIRM_PREFIX)
        && is_plain(subject)
        && subject.split('.').all(|token| !token.is_empty())
}

/// Lets the stream bring messages again soon, since they could not be added now; answers the reason.
async fn send_back(messages: &[Message], reason: IngestError) -> IngestError {
    for message in messages {
        if let Err(error) = message.ack_with(AckKind::Nak(Some(RETRY))).await {
            tracing::debug!(error = %error, "a batch comes again when its time to be acknowledged is over");
        }
    }
    reason
}

/// True when the batch itself is at fault: the database refuses what stands in it (data exceptions, constraints).
fn is_of_data(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|state| state.code().starts_with("22") || state.code().starts_with("23"))
}

/// True when the same transaction may do a moment later.
fn met_another(error: &tokio_postgres::Error) -> bool {
    error
        .code()
        .is_some_and(|state| [SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE].contains(state))
}

/// A minute since 1970 as a moment.
fn minute_at(minute: i64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(minute.saturating_mul(60)).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

fn nats(error: impl Into<async_nats::Error>) -> IngestError {
    IngestError::Nats(error.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confirmation_goes_to_inboxes_alone() {
        for subject in ["_INBOX_edge.k3x9", "_INBOX.a.b"] {
            assert!(may_confirm_at(subject), "{subject}");
        }
        for subject in ["", "$KV.fluxgate_state.x", "fluxgate.count.x", "_INBOX.*", "_INBOX.>", "_INBOX..a", "_INBOX a"]
        {
            assert!(!may_confirm_at(subject), "{subject}");
        }
    }
}
