//! What `/metrics` shows: a fixed set of atomics, written as Prometheus text.
//!
//! `label.rs` holds what figures are told apart by, all of it known beforehand, so that nobody outside can make their
//! number grow; `render.rs` writes the text. Every name and its meaning stands in the README.

mod histogram;
mod label;
mod render;
mod text;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use shared::evaluation::Reason;
use shared::wire::count::Mode;

use crate::clock;
use crate::count::Exposure;

pub use histogram::Histogram;
pub use label::{AuthFailure, CountsLost, Route, SpansLost};

use histogram::{FAST, SLOW};
use label::{AUTH_FAILURES, COUNTS_LOST, MODES, REASONS, ROUTES, SPANS_LOST, STATUSES};

/// Evaluations of one environment by reason.
#[derive(Debug, Default)]
pub struct EnvironmentStats([AtomicU64; REASONS.len()]);

impl EnvironmentStats {
    /// Counts one evaluation.
    #[inline]
    pub fn add(&self, reason: Reason) {
        self.0[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts many at once.
    pub fn add_all(&self, tally: &Tally) {
        for (counter, count) in self.0.iter().zip(tally.0).filter(|(_, count)| *count > 0) {
            counter.fetch_add(count, Ordering::Relaxed);
        }
    }

    fn count(&self, reason: Reason) -> u64 {
        self.0[reason as usize].load(Ordering::Relaxed)
    }
}

/// Evaluations by reason, gathered before they are counted together.
#[derive(Debug, Default)]
pub struct Tally([u64; REASONS.len()]);

impl Tally {
    /// Adds one evaluation.
    #[inline]
    pub fn add(&mut self, reason: Reason) {
        self.0[reason as usize] += 1;
    }
}

/// All figures that do not belong to one environment.
#[derive(Debug)]
pub struct Metrics {
    http: [[AtomicU64; STATUSES.len()]; ROUTES.len()],
    auth: [AtomicU64; AUTH_FAILURES.len()],
    counts_lost: [AtomicU64; COUNTS_LOST.len()],
    spans_lost: [AtomicU64; SPANS_LOST.len()],
    evaluations: [Histogram<{ FAST.len() }>; MODES.len()],
    /// When the process began, in milliseconds since 1970.
    started_at_ms: i64,
    /// From the begin of a swap to the moment everyone answers by it.
    pub apply: Histogram<{ SLOW.len() }>,
    /// From the moment the bucket took an environment's value to the swap, by the clocks of both.
    pub propagation: Histogram<{ SLOW.len() }>,
    /// Swaps made although something was still pending.
    pub forced_swaps: AtomicU64,
    /// Times the bucket was read from the beginning.
    pub reads: AtomicU64,
    /// Connections that are open now.
    pub connections: AtomicU64,
    /// Event streams that are open now: raised when one begins, lowered when it ends, however it ends.
    pub streams: AtomicU64,
    /// Events written to streams, one per stream and event; heartbeats are none.
    pub stream_events: AtomicU64,
    /// Batches of counts that are closed and not yet confirmed.
    pub batches_unacked: AtomicU64,
    /// Evaluations gathered and not yet confirmed.
    pub counts_unsent: AtomicU64,
    /// Bytes that these take in the spool.
    pub counts_bytes: AtomicU64,
    /// Exposures that the assignment cache knew as told.
    pub assignment_hits: AtomicU64,
    /// Exposures that it did not know.
    pub assignment_misses: AtomicU64,
    /// Exposures that found no room, and are told when they happen again.
    pub exposures_postponed: AtomicU64,
    /// Exposures that were gathered and then lost.
    pub exposures_lost: AtomicU64,
    /// Entries of events that were gathered and then lost.
    pub events_lost: AtomicU64,
    /// Events refused since too many waited.
    pub events_refused: AtomicU64,
    /// Events of environments without experiments' key, or of an edge that is offline.
    pub events_ignored: AtomicU64,
    /// Files that could not be written.
    pub disk_failures: AtomicU64,
    /// Spans that the collector took.
    pub spans_exported: AtomicU64,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            http: Default::default(),
            auth: Default::default(),
            counts_lost: Default::default(),
            spans_lost: Default::default(),
            evaluations: [(); MODES.len()].map(|()| Histogram::new(&FAST)),
            started_at_ms: clock::now_ms(),
            apply: Histogram::new(&SLOW),
            propagation: Histogram::new(&SLOW),
            forced_swaps: AtomicU64::default(),
            reads: AtomicU64::default(),
            connections: AtomicU64::default(),
            streams: AtomicU64::default(),
            stream_events: AtomicU64::default(),
            batches_unacked: AtomicU64::default(),
            counts_unsent: AtomicU64::default(),
            counts_bytes: AtomicU64::default(),
            assignment_hits: AtomicU64::default(),
            assignment_misses: AtomicU64::default(),
            exposures_postponed: AtomicU64::default(),
            exposures_lost: AtomicU64::default(),
            events_lost: AtomicU64::default(),
            events_refused: AtomicU64::default(),
            events_ignored: AtomicU64::default(),
            disk_failures: AtomicU64::default(),
            spans_exported: AtomicU64::default(),
        }
    }
}

impl Metrics {
    /// Counts one answered request.
    #[inline]
    pub fn request(&self, route: Route, status: u16) {
        let at = STATUSES.iter().position(|known| *known == status).unwrap_or(STATUSES.len() - 1);
        self.http[route as usize][at].fetch_add(1, Ordering::Relaxed);
    }

    /// Adds how long an answer took to make, from the last byte of the request to the first of the answer.
    #[inline]
    pub fn evaluated(&self, mode: Mode, duration: Duration) {
        self.evaluations[mode as usize].add(duration);
    }

    /// Counts one refused request.
    pub fn auth_failure(&self, why: AuthFailure) {
        self.auth[why as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts evaluations that were counted and then lost.
    pub fn counts_lost(&self, why: CountsLost, evaluations: u64) {
        self.counts_lost[why as usize].fetch_add(evaluations, Ordering::Relaxed);
    }

    /// Counts what became of an exposure.
    #[inline]
    pub fn exposed(&self, exposure: Exposure) {
        let figure = match exposure {
            Exposure::Known => &self.assignment_hits,
            Exposure::Told => &self.assignment_misses,
            Exposure::Postponed => {
                self.exposures_postponed.fetch_add(1, Ordering::Relaxed);
                &self.assignment_misses
            }
        };
        figure.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts spans that no collector got.
    pub fn spans_lost(&self, why: SpansLost, spans: u64) {
        self.spans_lost[why as usize].fetch_add(spans, Ordering::Relaxed);
    }
}
