//! What `/metrics` shows: a fixed set of atomics, written as Prometheus text.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use shared::evaluation::Reason;

use crate::clock;
use crate::snapshot::Snapshot;

/// Upper bounds of the histograms' buckets, in seconds.
const BOUNDS: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

/// All reasons, in the order of their counters.
const REASONS: [Reason; 6] =
    [Reason::Static, Reason::Default, Reason::TargetingMatch, Reason::Split, Reason::Disabled, Reason::Error];

/// What was asked for, as far as metrics tell it apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// `POST /evaluate`.
    Evaluate,
    /// `POST /ofrep/v1/evaluate/flags/{key}`.
    OfrepSingle,
    /// `POST /ofrep/v1/evaluate/flags`.
    OfrepBulk,
    /// `GET /ofrep/v1/stream`.
    Stream,
    /// Health and metrics.
    Health,
    /// Everything else.
    Other,
}

const ROUTES: [(Route, &str); 6] = [
    (Route::Evaluate, "/evaluate"),
    (Route::OfrepSingle, "/ofrep/v1/evaluate/flags/{key}"),
    (Route::OfrepBulk, "/ofrep/v1/evaluate/flags"),
    (Route::Stream, "/ofrep/v1/stream"),
    (Route::Health, "health"),
    (Route::Other, "other"),
];

/// Statuses told apart; any other is counted in the last place.
const STATUSES: [u16; 14] = [200, 204, 304, 400, 401, 403, 404, 405, 408, 413, 429, 500, 503, 0];

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthFailure {
    /// No key was sent.
    Missing,
    /// Nobody knows the key.
    Unknown,
    /// The key is not known, but may become known: the feed is not live.
    UnknownNotLive,
    /// The key was revoked.
    Revoked,
    /// The key's time is over.
    Expired,
    /// A client key from a web origin that it is not for.
    Origin,
    /// The token of an event stream is wrong or too old.
    Token,
}

const AUTH_FAILURES: [(AuthFailure, &str); 7] = [
    (AuthFailure::Missing, "missing"),
    (AuthFailure::Unknown, "unknown"),
    (AuthFailure::UnknownNotLive, "unknown_not_live"),
    (AuthFailure::Revoked, "revoked"),
    (AuthFailure::Expired, "expired"),
    (AuthFailure::Origin, "origin"),
    (AuthFailure::Token, "token"),
];

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

/// A histogram of durations.
#[derive(Debug, Default)]
pub struct Histogram {
    buckets: [AtomicU64; BOUNDS.len()],
    count: AtomicU64,
    sum_us: AtomicU64,
}

impl Histogram {
    /// Adds one duration.
    pub fn add(&self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        if let Some(at) = BOUNDS.iter().position(|bound| seconds <= *bound) {
            self.buckets[at].fetch_add(1, Ordering::Relaxed);
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        self.sum_us.fetch_add(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn write(&self, out: &mut String, name: &str, help: &str) {
        head(out, name, "histogram", help);
        let mut below = 0;
        for (bound, bucket) in BOUNDS.iter().zip(&self.buckets) {
            below += bucket.load(Ordering::Relaxed);
            let _ = writeln!(out, "{name}_bucket{{le=\"{bound}\"}} {below}");
        }
        let count = self.count.load(Ordering::Relaxed);
        let sum = self.sum_us.load(Ordering::Relaxed) as f64 / 1e6;
        let _ = writeln!(out, "{name}_bucket{{le=\"+Inf\"}} {count}\n{name}_sum {sum}\n{name}_count {count}");
    }
}

/// All figures that do not belong to one environment.
#[derive(Debug, Default)]
pub struct Metrics {
    http: [[AtomicU64; STATUSES.len()]; ROUTES.len()],
    auth: [AtomicU64; AUTH_FAILURES.len()],
    /// From the begin of a swap to the moment everyone answers by it.
    pub apply: Histogram,
    /// From the moment the bucket took an environment's value to the swap, by the clocks of both.
    pub propagation: Histogram,
    /// Swaps made although something was still pending.
    pub forced_swaps: AtomicU64,
    /// Times the bucket was read from the beginning.
    pub reads: AtomicU64,
    /// Batches of counts in flight.
    pub batches_unacked: AtomicU64,
    /// Evaluations gathered and not yet acknowledged.
    pub counts_unsent: AtomicU64,
    /// Evaluations that were counted and then lost.
    pub counts_lost: AtomicU64,
    /// Files that could not be written.
    pub disk_failures: AtomicU64,
    /// Event streams that are open.
    pub streams: AtomicU64,
    /// Events sent to them.
    pub stream_events: AtomicU64,
}

impl Metrics {
    /// Counts one answered request.
    #[inline]
    pub fn request(&self, route: Route, status: u16) {
        let at = STATUSES.iter().position(|known| *known == status).unwrap_or(STATUSES.len() - 1);
        self.http[route as usize][at].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one refused request.
    pub fn auth_failure(&self, why: AuthFailure) {
        self.auth[why as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// The figures as Prometheus reads them.
    pub fn render(&self, snapshot: &Snapshot, is_connected: bool) -> String {
        let mut out = String::with_capacity(8 * 1024);
        render_environments(&mut out, snapshot);
        self.apply.write(
            &mut out,
            "fluxgate_edge_snapshot_apply_duration_seconds",
            "Time to compile and swap changes.",
        );
        let help = "Time from the bucket taking an environment's value to the swap, by two clocks.";
        self.propagation.write(&mut out, "fluxgate_edge_propagation_seconds", help);
        let name = "fluxgate_edge_http_requests_total";
        head(&mut out, name, "counter", "Requests answered.");
        for (at, (_, route)) in ROUTES.iter().enumerate() {
            for (status, count) in STATUSES.iter().zip(&self.http[at]) {
                let count = count.load(Ordering::Relaxed);
                let status = if *status == 0 { "other".into() } else { status.to_string() };
                if count > 0 {
                    let _ = writeln!(out, "{name}{{route=\"{route}\",status=\"{status}\"}} {count}");
                }
            }
        }
        let name = "fluxgate_edge_auth_failures_total";
        head(&mut out, name, "counter", "Requests refused for their SDK key.");
        for (at, (_, why)) in AUTH_FAILURES.iter().enumerate() {
            let _ = writeln!(out, "{name}{{why=\"{why}\"}} {}", self.auth[at].load(Ordering::Relaxed));
        }
        self.render_single(&mut out, snapshot, is_connected);
        out
    }

    fn render_single(&self, out: &mut String, snapshot: &Snapshot, is_connected: bool) {
        let load = |figure: &AtomicU64| figure.load(Ordering::Relaxed);
        let figures = [
            ("nats_connected", "gauge", "1 while the connection to NATS stands.", u64::from(is_connected)),
            ("feed_live", "gauge", "1 while every change arrives as it is made.", u64::from(snapshot.is_live)),
            ("forced_swaps_total", "counter", "Swaps made although something was pending.", load(&self.forced_swaps)),
            ("bucket_reads_total", "counter", "Times the bucket was read from the beginning.", load(&self.reads)),
            ("analytics_batches_unacked", "gauge", "Batches of counts in flight.", load(&self.batches_unacked)),
            ("analytics_unsent", "gauge", "Evaluations gathered, not acknowledged.", load(&self.counts_unsent)),
            ("analytics_dropped_total", "counter", "Evaluations counted and then lost.", load(&self.counts_lost)),
            ("disk_failures_total", "counter", "Files that could not be written.", load(&self.disk_failures)),
            ("sse_clients", "gauge", "Event streams that are open.", load(&self.streams)),
            ("sse_events_total", "counter", "Events sent to event streams.", load(&self.stream_events)),
            ("resident_memory_bytes", "gauge", "Resident memory.", crate::report::resident_bytes()),
        ];
        for (name, kind, help, value) in figures {
            let name = format!("fluxgate_edge_{name}");
            head(out, &name, kind, help);
            let _ = writeln!(out, "{name} {value}");
        }
    }
}

fn render_environments(out: &mut String, snapshot: &Snapshot) {
    let mut environments: Vec<_> = snapshot.environments.values().collect();
    environments.sort_by(|a, b| a.name.cmp(&b.name));
    let name = "fluxgate_edge_snapshot_revision";
    head(out, name, "gauge", "Revision answered by.");
    for environment in &environments {
        let _ = writeln!(out, "{name}{{environment=\"{}\"}} {}", environment.name, environment.revision);
    }
    let name = "fluxgate_edge_snapshot_age_seconds";
    head(out, name, "gauge", "Time since the last swap.");
    for environment in &environments {
        let age = (clock::now_ms() - environment.swapped_at_ms).max(0) as f64 / 1e3;
        let _ = writeln!(out, "{name}{{environment=\"{}\"}} {age}", environment.name);
    }
    let name = "fluxgate_edge_snapshot_stale";
    head(out, name, "gauge", "1 while answers may be out of date.");
    for environment in &environments {
        let _ = writeln!(out, "{name}{{environment=\"{}\"}} {}", environment.name, u8::from(environment.is_stale));
    }
    let name = "fluxgate_edge_evaluations_total";
    head(out, name, "counter", "Evaluations by reason.");
    for environment in &environments {
        for reason in REASONS {
            let count = environment.stats.0[reason as usize].load(Ordering::Relaxed);
            let label = reason.as_str();
            let _ = writeln!(out, "{name}{{environment=\"{}\",reason=\"{label}\"}} {count}", environment.name);
        }
    }
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}
