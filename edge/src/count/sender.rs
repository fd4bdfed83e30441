//! Gathers, spools and sends: stop and wait, one closed batch in flight and never changed.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use shared::wire::count::{CountBatch, SUBJECT};
use thiserror::Error;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, info, warn};

use crate::app::App;
use crate::bus::Bus;
use crate::clock::{self, Backoff};
use crate::count::Spool;
use crate::disk::Folder;
use crate::metrics::CountsLost;

/// How long the end of the process may wait for acknowledgements; what is left lies in the spool.
pub const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);
/// How long one acknowledgement may take.
const ACK_TIMEOUT: Duration = Duration::from_secs(5);
const RETRY_FIRST: Duration = Duration::from_millis(200);
const RETRY_MAX: Duration = Duration::from_secs(10);

#[derive(Debug, Error)]
enum SendError {
    #[error("the connection to NATS is down")]
    Down,
    #[error("the batch cannot be written as JSON")]
    Json(#[from] serde_json::Error),
    #[error("the stream did not take the batch")]
    Refused(#[from] async_nats::jetstream::context::PublishError),
    #[error("the stream did not acknowledge the batch in time")]
    Late,
}

/// The task that brings counts home.
pub struct Sender {
    app: Arc<App>,
    bus: Bus,
    folder: Folder,
    interval: Duration,
    spool: Spool,
    backoff: Backoff,
    /// Set while waiting for an acknowledgement.
    in_flight: Option<BoxFuture<'static, Result<(), SendError>>>,
    retry_at: Option<Instant>,
    /// The spool on disk is older than the one in memory; then nothing is sent, lest a successor reuse a sequence.
    is_unwritten: bool,
    own_unsent: Arc<AtomicU64>,
}

impl Sender {
    /// Takes over the spool in the folder; gathers every `interval`. `own_unsent` is kept at this process's evaluations
    /// gathered and not yet acknowledged.
    pub fn new(
        app: Arc<App>,
        bus: Bus,
        folder: Folder,
        interval: Duration,
        spool: Spool,
        own_unsent: Arc<AtomicU64>,
    ) -> Self {
        let backoff = Backoff::new(RETRY_FIRST, RETRY_MAX);
        app.metrics.counts_lost(CountsLost::Restarts, spool.lost_to_restarts);
        Self {
            app,
            bus,
            folder,
            interval,
            spool,
            backoff,
            in_flight: None,
            retry_at: None,
            is_unwritten: false,
            own_unsent,
        }
    }

    /// Runs until `stop`, then gathers once more and sends what it can. Call it after the last request was answered.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut connection = self.bus.connection();
        connection.mark_unchanged();
        self.send_next().await;
        let (mut gather_at, mut planned_ms) = self.next_gathering();
        loop {
            let sent = async {
                match self.in_flight.as_mut() {
                    Some(publishing) => publishing.await,
                    None => pending().await,
                }
            };
            let retry = async {
                match self.retry_at {
                    Some(at) => sleep_until(at).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                () = stop.cancelled() => break,
                result = sent => self.settle(result).await,
                () = retry => {
                    self.retry_at = None;
                    self.send_next().await;
                }
                Ok(()) = connection.changed() => {
                    // A new connection is worth a try at once; that also ends the wait for one that was lost.
                    if connection.borrow_and_update().is_up && self.in_flight.is_none() {
                        self.backoff.reset();
                        self.retry_at = None;
                        self.send_next().await;
                    }
                }
                () = sleep_until(gather_at) => {
                    self.gather(planned_ms).await;
                    (gather_at, planned_ms) = self.next_gathering();
                }
            }
        }
        self.finish().await;
    }

    /// At the interval, and at the begin of a minute, so that counts carry the minute they were made in; also as the
    /// time of day.
    fn next_gathering(&self) -> (Instant, i64) {
        let wait = self.interval.min(clock::until_next_minute());
        let wait_ms = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        (Instant::now() + wait, clock::now_ms().saturating_add(wait_ms))
    }

    /// What is gathered was counted before the time it was planned for, however late a slow disk let it happen; so at
    /// the begin of a minute it belongs to the one before.
    async fn gather(&mut self, planned_ms: i64) {
        let minute = (planned_ms - 1).div_euclid(60_000);
        let gathered = self.harvest(minute);
        let has_new = gathered > 0 || self.is_unwritten;
        if has_new && (self.in_flight.is_some() || self.retry_at.is_some()) {
            // Only what is open changed: the closed batch stays as it was sent.
            self.write().await;
        } else if has_new {
            self.send_next().await;
        }
        self.show();
    }

    /// Moves what was counted into the open accumulator and keeps that within its bound. Returns how much it was.
    fn harvest(&mut self, minute: i64) -> u64 {
        let gathered = self.app.counters.harvest(minute, &mut self.spool.own.open);
        let lost = self.spool.own.open.shrink();
        if lost > 0 {
            error!(lost, "too many different counts wait to be sent: the oldest are lost");
            self.app.metrics.counts_lost(CountsLost::Full, lost);
        }
        gathered
    }

    /// Closes the next batch, writes the spool, and only then publishes.
    async fn send_next(&mut self) {
        if self.in_flight.is_some() || self.retry_at.is_some() {
            return;
        }
        let Some(first) = self.spool.first() else {
            if self.is_unwritten {
                self.write().await;
            }
            return self.show();
        };
        first.close();
        let batch = first.closed.clone();
        if !self.write().await {
            self.retry_at = Some(Instant::now() + self.backoff.wait());
            return self.show();
        }
        if let Some(batch) = batch {
            debug!(process.id = %batch.process, sequence = batch.sequence, entries = batch.evaluations.len(), "sending counts");
            self.in_flight = Some(publish(self.bus.clone(), batch).boxed());
        }
        self.show();
    }

    async fn settle(&mut self, result: Result<(), SendError>) {
        self.in_flight = None;
        match result {
            Ok(()) => {
                self.backoff.reset();
                if let Some(first) = self.spool.first() {
                    first.closed = None;
                }
                self.is_unwritten = true;
                self.send_next().await;
            }
            Err(error) => {
                let wait = self.backoff.wait();
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                warn!(%error, cause, retry_ms = wait.as_millis() as u64, "counts are not sent yet");
                self.retry_at = Some(Instant::now() + wait);
            }
        }
    }

    async fn write(&mut self) -> bool {
        let payload = match self.spool.payload() {
            Ok(payload) => payload,
            Err(error) => {
                error!(%error, "the spool of counts cannot be written as JSON");
                return false;
            }
        };
        let bytes = if self.spool.is_empty() { 0 } else { payload.len() as u64 };
        self.app.metrics.counts_bytes.store(bytes, Ordering::Relaxed);
        let folder = self.folder.clone();
        let written = tokio::task::spawn_blocking(move || Spool::write(&folder, &payload)).await;
        self.is_unwritten = !matches!(written, Ok(Ok(())));
        if let Ok(Err(error)) = written {
            self.app.metrics.disk_failures.fetch_add(1, Ordering::Relaxed);
            error!(%error, "the spool of counts cannot be written; counts wait in memory");
        }
        !self.is_unwritten
    }

    fn show(&self) {
        self.own_unsent.store(self.spool.own.unsent(), Ordering::Relaxed);
        self.app.metrics.batches_unacked.store(self.spool.unacked(), Ordering::Relaxed);
        self.app.metrics.counts_unsent.store(self.spool.unsent(), Ordering::Relaxed);
    }

    /// The last gathering, and as many batches as are acknowledged in time.
    async fn finish(mut self) {
        let deadline = Instant::now() + FLUSH_TIMEOUT;
        self.harvest(clock::minute());
        self.write().await;
        self.backoff = Backoff::new(RETRY_FIRST, RETRY_FIRST);
        loop {
            self.retry_at = None;
            self.send_next().await;
            let result = match self.in_flight.as_mut() {
                Some(publishing) => timeout_at(deadline, publishing).await,
                None if self.is_unwritten => Ok(Err(SendError::Late)),
                None => break,
            };
            match result {
                Ok(result) => {
                    let failed = result.is_err();
                    self.settle(result).await;
                    let wait = self.retry_at.filter(|_| failed);
                    if let Some(at) = wait {
                        sleep_until(at.min(deadline)).await;
                    }
                }
                Err(_) => self.in_flight = None,
            }
            if Instant::now() >= deadline {
                break;
            }
        }
        match self.spool.unsent() {
            0 => info!("all counts are acknowledged"),
            unsent => warn!(unsent, "counts stay in the spool for the next process on this folder"),
        }
    }
}

async fn publish(bus: Bus, batch: CountBatch) -> Result<(), SendError> {
    // The client would queue the message and send it on reconnection, once per retry.
    if !bus.is_up() {
        return Err(SendError::Down);
    }
    let payload = serde_json::to_vec(&batch)?;
    let subject = format!("{SUBJECT}.{}", batch.process);
    let sent = async { bus.jetstream().publish(subject, payload.into()).await?.await };
    match timeout(ACK_TIMEOUT, sent).await {
        Ok(acknowledged) => Ok(acknowledged.map(|_| ())?),
        Err(_) => Err(SendError::Late),
    }
}
