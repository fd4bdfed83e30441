//! Writes the last good state to disk beside the feed: never two writes at once, never more often than the interval.

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use tracing::error;

use crate::app::App;
use crate::disk::{Folder, Record, StateFile};

/// The state is written at most this often.
const INTERVAL: Duration = Duration::from_secs(5);

pub(super) struct Writer {
    app: Arc<App>,
    folder: Folder,
    is_unwritten: bool,
    next_at: Instant,
    writing: Option<JoinHandle<io::Result<()>>>,
}

impl Writer {
    pub(super) fn new(app: Arc<App>, folder: Folder) -> Self {
        Self { app, folder, is_unwritten: false, next_at: Instant::now(), writing: None }
    }

    /// Something changed that is not on disk.
    pub(super) fn note_change(&mut self) {
        self.is_unwritten = true;
    }

    /// Returns when [`Self::write`] should be called. May be dropped while waiting.
    pub(super) async fn due(&mut self) {
        loop {
            if let Some(writing) = &mut self.writing {
                let written = writing.await;
                self.writing = None;
                self.judge(written.unwrap_or_else(|panicked| Err(io::Error::other(panicked))));
            } else if self.is_unwritten {
                sleep_until(self.next_at).await;
                return;
            } else {
                pending().await
            }
        }
    }

    pub(super) fn write(&mut self, records: Vec<Record>) {
        self.is_unwritten = false;
        self.next_at = Instant::now() + INTERVAL;
        let folder = self.folder.clone();
        self.writing = Some(tokio::task::spawn_blocking(move || StateFile::write(&folder, &records)));
    }

    /// At the end of the process: waits for a running write, and writes what is not on disk yet.
    pub(super) async fn finish(mut self, records: impl FnOnce() -> Vec<Record>) {
        if let Some(writing) = self.writing.take() {
            let written = writing.await;
            self.judge(written.unwrap_or_else(|panicked| Err(io::Error::other(panicked))));
        }
        if self.is_unwritten {
            let written = StateFile::write(&self.folder, &records());
            self.judge(written);
        }
    }

    fn judge(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.is_unwritten = true;
            self.app.metrics.disk_failures.fetch_add(1, Ordering::Relaxed);
            error!(%error, "the last good state could not be written; trying again later");
        }
    }
}
