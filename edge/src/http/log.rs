//! Lines about requests: failures always, within bounds, and everything at the level `debug`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use hyper::Method;
use tracing::{Level, debug, enabled, warn};

use crate::clock;
use crate::metrics::Route;
use crate::trace::TraceId;

/// The most lines about failures in one second; an edge without state fails every request.
const FAILURES_PER_SECOND: u64 = 10;
/// Bits that count within a second.
const COUNT_BITS: u32 = 24;

/// A request that was answered.
pub(super) struct Answered {
    pub(super) method: Method,
    pub(super) route: Route,
    pub(super) status: u16,
    /// The trace it is part of, where that is known.
    pub(super) trace: Option<TraceId>,
    /// When it began; see [`RequestLog::begin`].
    pub(super) began: Option<Instant>,
}

/// Writes the lines.
#[derive(Debug, Default)]
pub(super) struct RequestLog {
    /// The second, and in the lower bits how many failures it had.
    failures: AtomicU64,
}

impl RequestLog {
    /// The time, where a line will tell how long the request took.
    #[inline]
    pub(super) fn begin(&self) -> Option<Instant> {
        enabled!(Level::DEBUG).then(Instant::now)
    }

    /// Says what was answered, where that is worth a line.
    #[inline]
    pub(super) fn answered(&self, answered: Answered) {
        // Readiness fails to tell something, and is asked for ever.
        let failed = answered.status >= 500 && answered.route != Route::Health;
        if failed || answered.began.is_some() {
            self.write(&answered, failed);
        }
    }

    #[cold]
    fn write(&self, answered: &Answered, failed: bool) {
        let Answered { method, route, status, trace, began } = answered;
        let (route, trace) = (route.as_str(), trace.map(|trace| trace.to_string()));
        if let Some(began) = began {
            let duration_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
            debug!(%method, route, status, duration_us, trace.id = trace, "answered");
        }
        if failed && self.may_write(clock::now_ms().unsigned_abs() / 1_000) {
            warn!(%method, route, status, trace.id = trace, "a request failed");
        }
    }

    /// Counts a failure of a second; whether it is among the first.
    fn may_write(&self, second: u64) -> bool {
        let counted = self.failures.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| {
            let is_same = held >> COUNT_BITS == second;
            Some(if is_same { held.saturating_add(1) } else { (second << COUNT_BITS) + 1 })
        });
        let held = counted.unwrap_or_default();
        held >> COUNT_BITS != second || held & ((1 << COUNT_BITS) - 1) < FAILURES_PER_SECOND
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_ten_lines_about_failures_and_the_next_ten_more() {
        let log = RequestLog::default();
        let lines = |second| (0..1_000).filter(|_| log.may_write(second)).count();
        assert_eq!([lines(1_800_000_000), lines(1_800_000_001), lines(1_800_000_007)], [10, 10, 10]);
    }
}
