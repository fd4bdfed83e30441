//! What this edge tells the backend of itself: receipts, heartbeats and, at the end, a goodbye.

use std::sync::Arc;
use std::time::Duration;

use shared::model::id::ProcessId;
use shared::wire::edge::{
    EnvironmentRevision, GOODBYE_SUBJECT, Goodbye, HEARTBEAT_SECONDS, HEARTBEAT_SUBJECT, Heartbeat, RECEIPT_SUBJECT,
    Receipt,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::app::App;
use crate::bus::Bus;
use crate::count::Balance;
use crate::disk::Folder;

/// Receipts waiting to be sent; a heartbeat says the same two seconds later, so one too many may be dropped.
pub const RECEIPTS_MAX: usize = 1_024;

/// The task that reports.
pub struct Reporter {
    /// What it reports about.
    pub app: Arc<App>,
    /// How.
    pub bus: Bus,
    /// Keeps the last process that reported.
    pub folder: Folder,
    /// This process.
    pub process: ProcessId,
    /// Its display name.
    pub name: String,
    /// The processes that used the folder before, newest first.
    pub predecessors: Vec<ProcessId>,
    /// Environments just swapped.
    pub receipts: mpsc::Receiver<EnvironmentRevision>,
}

impl Reporter {
    /// Runs until `stop`, then says goodbye.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut connection = self.bus.connection();
        connection.mark_changed();
        let mut beat = tokio::time::interval(Duration::from_secs(HEARTBEAT_SECONDS));
        beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut is_noted = false;
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                _ = beat.tick() => self.beat(&mut is_noted).await,
                Ok(()) = connection.changed() => self.beat(&mut is_noted).await,
                Some(swapped) = self.receipts.recv() => self.send_receipt(swapped).await,
            }
        }
        self.bus
            .say(GOODBYE_SUBJECT, &Goodbye { process: self.process, counted: Some(self.app.counters.total()) })
            .await;
        self.bus.flush().await;
    }

    async fn send_receipt(&self, EnvironmentRevision { environment, revision }: EnvironmentRevision) {
        let receipt = Receipt { process: self.process, name: self.name.clone(), environment, revision };
        self.bus.say(RECEIPT_SUBJECT, &receipt).await;
    }

    async fn beat(&self, is_noted: &mut bool) {
        if !self.bus.is_up() {
            return;
        }
        // Before anybody can have heard of it; a process that never reached NATS needs no successor to name it.
        if !*is_noted {
            match self.folder.note_process(self.process) {
                Ok(()) => *is_noted = true,
                Err(error) => warn!(%error, "the process's id cannot be written to the folder"),
            }
        }
        self.bus.say(HEARTBEAT_SUBJECT, &self.heartbeat()).await;
    }

    fn heartbeat(&self) -> Heartbeat {
        let snapshot = self.app.snapshot.load();
        let environments = snapshot.environments.values();
        let mut environments: Vec<EnvironmentRevision> = environments
            .map(|environment| EnvironmentRevision { environment: environment.id, revision: environment.revision })
            .collect();
        environments.sort_by_key(|entry| entry.environment);
        let (counted, Balance { unsent, lost, inherited }) = self.app.counters.balance();
        Heartbeat {
            process: self.process,
            name: self.name.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            predecessors: self.predecessors.clone(),
            environments,
            unreadable: snapshot.unreadable.clone(),
            memory_bytes: resident_bytes(),
            counted,
            unsent,
            lost,
            inherited,
        }
    }
}

/// Resident memory of this process; 0 where it cannot be told.
pub fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * rustix::param::page_size() as u64
}
