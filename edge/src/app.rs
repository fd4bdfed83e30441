//! What a request, and every task, can reach.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use tokio::sync::watch;

use crate::config;
use crate::count::Counters;
use crate::metrics::Metrics;
use crate::snapshot::Snapshot;

/// Shared by all tasks and worker threads. The default one gathers nothing of experiments.
#[derive(Default)]
pub struct App {
    /// What is answered from; swapped whole by the feed.
    pub snapshot: ArcSwap<Snapshot>,
    /// How often each flag answered what.
    pub counters: Arc<Counters>,
    /// What `/metrics` shows.
    pub metrics: Metrics,
    stopping: AtomicBool,
    swaps: watch::Sender<()>,
}

impl App {
    /// One that gathers exposures and events for somebody who brings them home.
    pub fn new(cache: &config::Cache) -> Self {
        // At most 10,000,000.
        let counters = Counters::with_experiments(cache.assignment_max_capacity as usize);
        Self { counters: Arc::new(counters), ..Self::default() }
    }

    /// Lets everyone answer from a new snapshot, in one instant.
    pub fn swap(&self, snapshot: Snapshot) {
        self.snapshot.store(Arc::new(snapshot));
        self.swaps.send_replace(());
    }

    /// Tells of every swap from now on; several may be told as one.
    pub fn swaps(&self) -> watch::Receiver<()> {
        self.swaps.subscribe()
    }

    /// Makes readiness fail, so that nobody sends more requests here.
    pub fn begin_to_stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Whether the process is on its way out.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}
