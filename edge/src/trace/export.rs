//! The task that brings spans home, in batches, each sent once.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use prost::Message;
use tokio::sync::{Notify, mpsc};
use tokio::time::{MissedTickBehavior, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::app::App;
use crate::metrics::SpansLost;
use crate::trace::Span;
use crate::trace::collector::Collector;
use crate::trace::otlp::{Request, Resource, SpanMessage};

/// How often spans are sent, and sooner when the queue is half full and the collector well.
const INTERVAL: Duration = Duration::from_secs(1);
/// The most spans of one batch.
const BATCH_MAX: usize = 512;
/// How long the end of the process may wait for the collector.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Gathers spans and sends them.
pub struct Exporter {
    app: Arc<App>,
    collector: Collector,
    resource: Resource,
    queue: mpsc::Receiver<Box<Span>>,
    is_filling: Arc<Notify>,
    /// The last batch was not taken; said once, not per batch.
    is_failing: bool,
}

impl Exporter {
    pub(super) fn new(
        app: Arc<App>,
        collector: Collector,
        resource: Resource,
        queue: mpsc::Receiver<Box<Span>>,
        is_filling: Arc<Notify>,
    ) -> Self {
        Self { app, collector, resource, queue, is_filling, is_failing: false }
    }

    /// Runs until `stop`, then sends what is left, within bounds.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut interval = tokio::time::interval(INTERVAL);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                _ = interval.tick() => {}
                () = self.is_filling.notified(), if !self.is_failing => {}
            }
            let too_late = async {
                stop.cancelled().await;
                sleep(FLUSH_TIMEOUT).await;
            };
            tokio::select! {
                () = self.send_all() => {}
                () = too_late => break,
            }
        }
        self.queue.close();
        if timeout(FLUSH_TIMEOUT, self.send_all()).await.is_err() {
            warn!("the collector of traces was too slow for the last spans");
        }
    }

    /// Sends what waits; stops at the first batch that is not taken, so that a dead collector is asked once per interval.
    async fn send_all(&mut self) {
        loop {
            let batch: Vec<SpanMessage> = std::iter::from_fn(|| self.queue.try_recv().ok())
                .take(BATCH_MAX)
                .map(|span| span.into_message())
                .collect();
            if batch.is_empty() || !self.send(batch).await {
                return;
            }
        }
    }

    /// Sends one batch; what is not taken is counted and let go.
    async fn send(&mut self, batch: Vec<SpanMessage>) -> bool {
        let spans = batch.len() as u64;
        let payload = Request::of(&self.resource, batch).encode_to_vec();
        let metrics = &self.app.metrics;
        match self.collector.send(payload.into()).await {
            Ok(refused) => {
                let refused = refused.min(spans);
                metrics.spans_exported.fetch_add(spans - refused, Ordering::Relaxed);
                metrics.spans_lost(SpansLost::Collector, refused);
                if std::mem::take(&mut self.is_failing) {
                    info!("the collector takes traces again");
                }
                true
            }
            Err(error) => {
                metrics.spans_lost(SpansLost::Collector, spans);
                if !std::mem::replace(&mut self.is_failing, true) {
                    let cause = std::error::Error::source(&error).map(ToString::to_string);
                    warn!(%error, cause, spans, "traces are not taken; they are counted as dropped until they are");
                }
                false
            }
        }
    }
}
