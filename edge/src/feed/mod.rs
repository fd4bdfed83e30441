//! Follows the state bucket: reads it from the beginning, stages what arrives, and swaps an environment at once.
//!
//! It never resumes by stream sequence: a bucket that was made anew begins at 1 again, and a reader that waits for more
//! would stay deaf without an error. On every connection, and when a small read shows the bucket made anew or ahead of
//! what was delivered, everything is read again.

mod behind;
mod image;
mod offline;
mod stage;
mod staged;
mod watch;
mod writer;

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use shared::wire::edge::EnvironmentRevision;
use shared::wire::state::{Entity, Envelope, StateKey};
use time::OffsetDateTime;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::app::App;
use crate::bus::Bus;
use crate::clock::{self, Backoff};
use crate::disk::{Folder, Record, StateFile};
use crate::snapshot::Change;
use behind::{Behind, Progress};
pub use offline::answer_from;
use stage::Stage;
use watch::{Delivery, Look, Watch, WatchError};
use writer::Writer;

/// How often the bucket's extent is looked at.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);
/// Many edges that lost the same server do not read the bucket in the same instant.
const READ_JITTER: Duration = Duration::from_millis(250);
const RETRY_FIRST: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(2);

/// The task that keeps the snapshot current.
pub struct Feed {
    app: Arc<App>,
    bus: Bus,
    receipts: mpsc::Sender<EnvironmentRevision>,
    stage: Stage,
    stop: CancellationToken,
    is_live: bool,
    /// The watch that goes on, or the last one, has read the bucket to its end.
    was_read: bool,
    writer: Writer,
}

/// Why the feed stops waiting.
enum Wake {
    Stop,
    Timeout,
}

impl Feed {
    /// Answers from the last good state and the bundle at once, marked stale. `receipts` hears of every swap.
    pub fn start(
        app: Arc<App>,
        bus: Bus,
        folder: Folder,
        bundle: &[Record],
        receipts: mpsc::Sender<EnvironmentRevision>,
        stop: CancellationToken,
    ) -> Self {
        let mut stage = Stage::new(Arc::clone(&app.counters));
        stage.load(&[bundle, &StateFile::read(&folder)]);
        let mut writer = Writer::new(Arc::clone(&app), folder);
        if !bundle.is_empty() {
            // The next start may come without the bundle.
            writer.note_change();
        }
        let mut feed = Self { app, bus, receipts, stage, stop, is_live: false, was_read: false, writer };
        feed.publish();
        feed
    }

    /// Runs until it is told to stop; then writes the state to disk.
    pub async fn run(mut self) {
        let mut connection = self.bus.connection();
        let mut backoff = Backoff::new(RETRY_FIRST, RETRY_MAX);
        let mut jitter = Duration::ZERO;
        loop {
            let up = async {
                // Fails only when the connection's owner is gone, which is at the end of the process.
                if connection.wait_for(|connection| connection.is_up).await.is_err() {
                    pending::<()>().await;
                }
            };
            tokio::select! {
                () = self.stop.cancelled() => break,
                () = self.writer.due() => {
                    self.writer.write(self.stage.records());
                    continue;
                }
                () = up => {}
            }
            if matches!(self.pause(clock::jitter(jitter)).await, Wake::Stop) {
                break;
            }
            let result = self.watch().await;
            self.set_live(false);
            match result {
                Ok(()) => break,
                Err(WatchError::NoBucket) => debug!("the bucket does not exist yet; waiting for it"),
                Err(error) => {
                    let cause = std::error::Error::source(&error).map(ToString::to_string);
                    info!(reason = %error, cause, "the bucket is read anew");
                }
            }
            if self.was_read {
                backoff.reset();
            }
            jitter = READ_JITTER;
            if matches!(self.pause(backoff.wait()).await, Wake::Stop) {
                break;
            }
        }
        self.writer.finish(|| self.stage.records()).await;
    }

    async fn pause(&mut self, wait: Duration) -> Wake {
        let until = Instant::now() + wait;
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return Wake::Stop,
                () = sleep_until(until) => return Wake::Timeout,
                () = self.writer.due() => self.writer.write(self.stage.records()),
            }
        }
    }

    /// Reads the bucket and follows it. `Ok` when told to stop.
    async fn watch(&mut self) -> Result<(), WatchError> {
        self.was_read = false;
        let mut connection = self.bus.connection();
        let begun = *connection.borrow_and_update();
        let begin = Watch::begin(&self.bus);
        let mut watch = tokio::select! {
            () = self.stop.cancelled() => return Ok(()),
            begun = begin => begun?,
        };
        self.app.metrics.reads.fetch_add(1, Ordering::Relaxed);
        self.stage.begin_read();
        if watch.is_empty {
            self.settle(None);
        }
        let mut looking: Option<BoxFuture<'static, Result<Look, WatchError>>> = None;
        let mut look_at = Instant::now() + LOOK_INTERVAL;
        let mut behind = Behind::default();
        loop {
            let is_looking = looking.is_some();
            let look = async {
                match looking.as_mut() {
                    Some(look) => look.await,
                    None => pending().await,
                }
            };
            let force_at = self.stage.force_at();
            let look_due = timer(Some(look_at).filter(|_| !is_looking));
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return Ok(()),
                _ = connection.changed() => {
                    if *connection.borrow_and_update() != begun {
                        return Err(WatchError::Disconnected);
                    }
                }
                () = timer(force_at) => self.force(),
                seen = look => {
                    looking = None;
                    look_at = Instant::now() + LOOK_INTERVAL;
                    let progress = behind.judge(seen, &watch)?;
                    let is_whole = match progress {
                        Progress::Complete => true,
                        // What came last may have been taken out of the bucket before it was delivered.
                        Progress::Stuck { is_all_sent } => is_all_sent,
                        Progress::Moving => false,
                    };
                    if is_whole && !self.stage.is_read() {
                        watch.note_complete();
                        self.settle(None);
                    } else if matches!(progress, Progress::Stuck { .. }) {
                        return Err(WatchError::Behind);
                    }
                }
                () = look_due => {
                    let (place, begun) = watch.place();
                    let is_read = self.stage.is_read();
                    looking = Some(async move { place.look(begun, !is_read).await }.boxed());
                }
                () = self.writer.due() => self.writer.write(self.stage.records()),
                delivery = watch.next() => {
                    self.receive(delivery?);
                    if self.stage.is_read() {
                        watch.note_complete();
                    }
                }
            }
        }
    }

    fn receive(&mut self, delivery: Delivery) {
        let now = Instant::now();
        match delivery.key.parse::<StateKey>() {
            Ok(key) => {
                let change = match &delivery.value {
                    None => Some(Change::Gone),
                    Some(value) => match serde_json::from_slice::<Envelope>(value) {
                        Ok(envelope) => Some(Change::Put(envelope)),
                        Err(error) => {
                            warn!(%error, key = delivery.key, "a value of the bucket is no envelope and is left out");
                            None
                        }
                    },
                };
                let published = Some(delivery.published).filter(|_| key.entity == Entity::Environment);
                if self.stage.receive(key, change, now) && self.stage.is_read() {
                    // From now on an unknown SDK key may belong to the environment that is just arriving.
                    self.publish();
                }
                if delivery.pending == 0 {
                    self.settle(published);
                }
            }
            Err(error) => {
                debug!(%error, "a key of the bucket is not for this version");
                if delivery.pending == 0 {
                    self.settle(None);
                }
            }
        }
    }

    /// Nothing is pending: what can switch, switches.
    fn settle(&mut self, published: Option<OffsetDateTime>) {
        let began = Instant::now();
        let was_read = self.stage.is_read();
        let swapped = self.stage.settle(began);
        if swapped.is_empty() && was_read {
            return;
        }
        self.is_live = true;
        self.was_read = true;
        self.swapped(&swapped, began);
        if let (Some(published), false) = (published, swapped.is_empty()) {
            let now = i128::from(clock::now_ms()) * 1_000_000;
            let took = u64::try_from(now - published.unix_timestamp_nanos()).unwrap_or(0);
            if was_read {
                self.app.metrics.propagation.add(Duration::from_nanos(took));
            }
        }
        if !was_read {
            info!(environments = swapped.len(), "the bucket is read; following it");
        }
    }

    fn force(&mut self) {
        let began = Instant::now();
        let swapped = self.stage.force(began);
        if !swapped.is_empty() {
            warn!(
                environments = swapped.len(),
                "an environment's value did not come within a second; swapping without"
            );
            self.app.metrics.forced_swaps.fetch_add(swapped.len() as u64, Ordering::Relaxed);
            self.swapped(&swapped, began);
        }
    }

    fn swapped(&mut self, swapped: &[EnvironmentRevision], began: Instant) {
        self.publish();
        if swapped.is_empty() {
            return;
        }
        self.app.metrics.apply.add(began.elapsed());
        self.writer.note_change();
        for entry in swapped {
            debug!(environment.id = %entry.environment, revision = entry.revision, "swapped");
            // A full queue is no loss: the next heartbeat says the same.
            let _ = self.receipts.try_send(*entry);
        }
    }

    fn set_live(&mut self, is_live: bool) {
        if self.is_live != is_live {
            self.is_live = is_live;
            self.publish();
        }
    }

    fn publish(&mut self) {
        let snapshot = self.stage.snapshot(self.is_live);
        self.app.swap(snapshot);
    }
}

async fn timer(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}
