//! Gathers, spools and sends: stop and wait, one closed batch in flight and never changed. To send, all that is open is
//! sealed and goes out in parts; what is gathered meanwhile is the next range.
//!
//! The backend's confirmation, which it sends once a batch is in the database, is all that lets a batch go. That the
//! stream took it says little: its store may be lost. So a batch is sent again while no confirmation comes.

mod publish;

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_nats::Subscriber;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use shared::wire::count::{Confirmation, ENTRIES_MAX};
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, info, warn};

use crate::app::App;
use crate::bus::{Bus, SubscribeError};
use crate::clock::{self, Backoff};
use crate::count::{Accumulator, Balance, Spool};
use crate::disk::Folder;
use crate::metrics::CountsLost;
use publish::{SendError, publish};

/// How long the end of the process may wait for confirmations; what is left lies in the spool.
pub const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);
/// Waits after the stream did not take a batch, because it is full, absent or out of reach.
const REFUSED_FIRST: Duration = Duration::from_millis(200);
const REFUSED_MAX: Duration = Duration::from_secs(10);
/// Waits for a confirmation before a batch is sent again.
const UNCONFIRMED_FIRST: Duration = Duration::from_secs(5);
const UNCONFIRMED_MAX: Duration = Duration::from_secs(60);

/// What the sender waits for.
enum Event {
    /// The stream took the batch, or did not.
    Published(Result<(), SendError>),
    /// The backend has a batch.
    Confirmed(Confirmation),
    /// It is time to send again.
    Retry,
}

/// The task that brings counts home.
pub struct Sender {
    app: Arc<App>,
    bus: Bus,
    folder: Folder,
    interval: Duration,
    spool: Spool,
    /// Where confirmations come.
    inbox: String,
    confirmations: Subscriber,
    refused: Backoff,
    unconfirmed: Backoff,
    /// Set until the stream took the batch in flight, or did not.
    publishing: Option<BoxFuture<'static, Result<(), SendError>>>,
    /// When the batch in flight is sent again.
    retry_at: Option<Instant>,
    /// The stream took the batch in flight; its confirmation is due.
    is_in_stream: bool,
    /// The spool on disk is older than the one in memory; then nothing is sent, lest a successor send the same counts in
    /// another range.
    is_unwritten: bool,
    /// Own evaluations that were let go of.
    lost: u64,
}

impl Sender {
    /// Takes over the spool in the folder; gathers every `interval`.
    pub async fn new(
        app: Arc<App>,
        bus: Bus,
        folder: Folder,
        interval: Duration,
        spool: Spool,
    ) -> Result<Self, SubscribeError> {
        let (inbox, confirmations) = bus.inbox("confirm", spool.own.process).await?;
        app.metrics.counts_lost(CountsLost::Restarts, spool.lost_to_restarts);
        let sender = Self {
            app,
            bus,
            folder,
            interval,
            spool,
            inbox,
            confirmations,
            refused: Backoff::new(REFUSED_FIRST, REFUSED_MAX),
            unconfirmed: Backoff::new(UNCONFIRMED_FIRST, UNCONFIRMED_MAX),
            publishing: None,
            retry_at: None,
            is_in_stream: false,
            is_unwritten: false,
            lost: 0,
        };
        sender.show();
        Ok(sender)
    }

    /// Runs until `stop`, then gathers once more and sends what it can. Call it after the last request was answered.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut connection = self.bus.connection();
        connection.mark_unchanged();
        self.send_next().await;
        let (mut gather_at, mut planned_ms) = self.next_gathering();
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                event = self.next_event() => self.handle(event).await,
                Ok(()) = connection.changed() => {
                    if connection.borrow_and_update().is_up {
                        self.begin_anew().await;
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

    /// Waits for the next event; may be given up at any time.
    async fn next_event(&mut self) -> Event {
        let Self { publishing, confirmations, retry_at, .. } = self;
        let published = async {
            match publishing {
                Some(publishing) => publishing.await,
                None => pending().await,
            }
        };
        let retry = async {
            match retry_at {
                Some(at) => sleep_until(*at).await,
                None => pending().await,
            }
        };
        let confirmed = async {
            loop {
                // Ends only with the connection's client, which lives as long as this.
                let Some(message) = confirmations.next().await else { return pending().await };
                match serde_json::from_slice(&message.payload) {
                    Ok(confirmation) => return confirmation,
                    Err(error) => warn!(%error, "a confirmation of counts cannot be read"),
                }
            }
        };
        tokio::select! {
            result = published => Event::Published(result),
            confirmation = confirmed => Event::Confirmed(confirmation),
            () = retry => Event::Retry,
        }
    }

    async fn handle(&mut self, event: Event) {
        match event {
            Event::Published(result) => self.published(result),
            Event::Retry => {
                self.retry_at = None;
                if self.is_in_stream {
                    warn!("the stream took a batch of counts, but nobody confirms it; it is sent again");
                }
                self.send_next().await;
            }
            Event::Confirmed(confirmation) if self.spool.confirm(confirmation) => {
                let Confirmation { process, sequence, part } = confirmation;
                debug!(process.id = %process, sequence, part, "counts are confirmed");
                self.is_unwritten = true;
                self.begin_anew().await;
            }
            // Said again of a batch that is gone.
            Event::Confirmed(_) => {}
        }
    }

    /// Sends at once, whatever was waited for: a new connection, or a confirmation, is worth a try.
    async fn begin_anew(&mut self) {
        self.refused.reset();
        self.unconfirmed.reset();
        self.publishing = None;
        self.retry_at = None;
        self.is_in_stream = false;
        self.send_next().await;
    }

    fn published(&mut self, result: Result<(), SendError>) {
        self.publishing = None;
        self.is_in_stream = result.is_ok();
        let wait = match result {
            Ok(()) => {
                self.refused.reset();
                self.unconfirmed.wait()
            }
            Err(error) => {
                let wait = self.refused.wait();
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                warn!(%error, cause, retry_ms = wait.as_millis() as u64, "counts are not sent yet");
                wait
            }
        };
        self.retry_at = Some(Instant::now() + wait);
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
        if has_new && self.is_waiting() {
            // Only what is open changed: the closed batch stays as it was sent.
            self.write().await;
        } else if has_new {
            self.send_next().await;
        }
        self.show();
    }

    /// Moves what was counted into the open accumulator and keeps that within its bounds. Returns how much it was.
    fn harvest(&mut self, minute: i64) -> u64 {
        let own = &mut self.spool.own;
        let gathered = self.app.counters.harvest(minute, &mut own.open);
        if gathered == 0 {
            return 0;
        }
        own.number_gathering();
        let lost = own.open.shrink();
        if lost.evaluations > 0 {
            error!(lost = lost.evaluations, "too many different counts wait to be sent: the oldest are lost");
            self.app.metrics.counts_lost(CountsLost::Full, lost.evaluations);
            self.lost += lost.evaluations;
        }
        if lost.exposures > 0 || lost.events > 0 {
            let (exposures, events) = (lost.exposures, lost.events);
            error!(exposures, events, "too much of experiments waits to be sent: the oldest is lost");
            self.app.metrics.exposures_lost.fetch_add(exposures, Ordering::Relaxed);
            self.app.metrics.events_lost.fetch_add(events, Ordering::Relaxed);
        }
        gathered
    }

    /// A batch is in flight, or waits to be.
    fn is_waiting(&self) -> bool {
        self.publishing.is_some() || self.retry_at.is_some()
    }

    /// Closes the next part, writes the spool, and only then publishes.
    async fn send_next(&mut self) {
        if self.is_waiting() {
            return;
        }
        let Some(first) = self.spool.first() else {
            if self.is_unwritten {
                self.write().await;
            }
            return self.show();
        };
        let was_closed = first.closed.is_some();
        first.close(ENTRIES_MAX);
        let batch = first.closed.clone();
        if (!was_closed || self.is_unwritten) && !self.write().await {
            self.retry_at = Some(Instant::now() + self.refused.wait());
            return self.show();
        }
        if let Some(batch) = batch {
            let (first, sequence, part) = (batch.first(), batch.sequence, batch.part);
            debug!(process.id = %batch.process, first, sequence, part, "sending counts");
            self.publishing = Some(publish(self.bus.clone(), batch, self.inbox.clone()).boxed());
        }
        self.show();
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
        let own = &self.spool.own;
        let balance = Balance { unsent: own.unsent(), lost: self.lost, inherited: self.spool.inherited_counts() };
        let sum = |count: fn(&Accumulator) -> usize| own.unclosed().map(count).sum();
        self.app.counters.settle(balance, sum(Accumulator::exposures), sum(Accumulator::events));
        self.app.metrics.batches_unacked.store(self.spool.unacked(), Ordering::Relaxed);
        self.app.metrics.counts_unsent.store(self.spool.unsent(), Ordering::Relaxed);
    }

    /// The last gathering, and as many batches as are confirmed in time.
    async fn finish(mut self) {
        let deadline = Instant::now() + FLUSH_TIMEOUT;
        self.harvest(clock::minute());
        self.write().await;
        self.refused = Backoff::new(REFUSED_FIRST, REFUSED_FIRST);
        if !self.is_in_stream && self.publishing.is_none() {
            self.retry_at = None;
        }
        self.send_next().await;
        while !self.spool.is_empty() {
            match timeout_at(deadline, self.next_event()).await {
                Ok(event) => self.handle(event).await,
                Err(_) => break,
            }
        }
        match (self.spool.waiting(), self.spool.unsent()) {
            (0, _) => info!("all counts are confirmed"),
            (batches, unsent) => {
                warn!(unsent, "{batches} batches wait in the spool for the next process on this folder");
            }
        }
    }
}
