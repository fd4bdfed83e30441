//! All figures as Prometheus reads them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock;
use crate::metrics::label::{AUTH_FAILURES, COUNTS_LOST, MODES, REASONS, ROUTES, SPANS_LOST, STATUSES};
use crate::metrics::text::Text;
use crate::metrics::{Histogram, Metrics};
use crate::report::resident_bytes;
use crate::snapshot::{Environment, Snapshot};

impl Metrics {
    /// The figures as Prometheus reads them.
    pub fn render(&self, snapshot: &Snapshot, is_connected: bool) -> String {
        let mut out = Text::default();
        self.write_process(&mut out);
        write_environments(&mut out, snapshot);
        self.write_feed(&mut out, snapshot, is_connected);
        self.write_requests(&mut out);
        self.write_streams(&mut out);
        self.write_counts(&mut out);
        self.write_experiments(&mut out);
        self.write_spans(&mut out);
        out.finish()
    }

    fn write_process(&self, out: &mut Text) {
        let name = "fluxgate_edge_build_info";
        out.head(name, "gauge", "Always 1; the version that runs.");
        out.sample(name, &[("version", env!("CARGO_PKG_VERSION"))], 1);
        let help = "When the process began, in seconds since 1970.";
        single(out, "process_start_time_seconds", "gauge", help, self.started_at_ms as f64 / 1e3);
        single(out, "fluxgate_edge_resident_memory_bytes", "gauge", "Resident memory.", resident_bytes());
        let help = "Files that could not be written.";
        single(out, "fluxgate_edge_disk_failures_total", "counter", help, load(&self.disk_failures));
    }

    fn write_feed(&self, out: &mut Text, snapshot: &Snapshot, is_connected: bool) {
        let help = "1 while the connection to NATS stands.";
        single(out, "fluxgate_edge_nats_connected", "gauge", help, u8::from(is_connected));
        let help = "1 while every change arrives as it is made.";
        single(out, "fluxgate_edge_feed_live", "gauge", help, u8::from(snapshot.is_live));
        let help = "Swaps made although something was pending.";
        single(out, "fluxgate_edge_forced_swaps_total", "counter", help, load(&self.forced_swaps));
        let help = "Times the bucket was read from the beginning.";
        single(out, "fluxgate_edge_bucket_reads_total", "counter", help, load(&self.reads));
        let name = "fluxgate_edge_snapshot_apply_duration_seconds";
        histogram(out, name, "Time to compile and swap changes.", &self.apply);
        let help = "Time from the bucket taking an environment's value to the swap, by two clocks.";
        histogram(out, "fluxgate_edge_propagation_seconds", help, &self.propagation);
    }

    fn write_requests(&self, out: &mut Text) {
        let name = "fluxgate_edge_http_requests_total";
        out.head(name, "counter", "Requests answered.");
        for route in ROUTES {
            for (status, count) in STATUSES.iter().zip(&self.http[route as usize]) {
                let count = load(count);
                let status = if *status == 0 { "other".into() } else { status.to_string() };
                if count > 0 {
                    out.sample(name, &[("route", route.as_str()), ("status", &status)], count);
                }
            }
        }
        let help = "Connections that are open.";
        single(out, "fluxgate_edge_http_connections", "gauge", help, load(&self.connections));
        let name = "fluxgate_edge_evaluation_duration_seconds";
        out.head(name, "histogram", "Time from the last byte of a request to its answer, without sending it.");
        for (mode, label) in MODES {
            self.evaluations[mode as usize].write(out, name, &[("mode", label)]);
        }
        let help = "Requests refused for their SDK key.";
        by_cause(out, "fluxgate_edge_auth_failures_total", help, &AUTH_FAILURES, &self.auth);
    }

    fn write_streams(&self, out: &mut Text) {
        single(out, "fluxgate_edge_sse_clients", "gauge", "Event streams that are open.", load(&self.streams));
        let help = "Events written, one per stream and event.";
        single(out, "fluxgate_edge_sse_events_total", "counter", help, load(&self.stream_events));
    }

    fn write_counts(&self, out: &mut Text) {
        let help = "Batches of counts that are closed and not yet confirmed.";
        single(out, "fluxgate_edge_analytics_batches_unacked", "gauge", help, load(&self.batches_unacked));
        let help = "Evaluations gathered, not yet confirmed.";
        single(out, "fluxgate_edge_analytics_unsent", "gauge", help, load(&self.counts_unsent));
        let help = "Bytes that these take in the spool.";
        single(out, "fluxgate_edge_analytics_buffer_bytes", "gauge", help, load(&self.counts_bytes));
        let help = "Evaluations counted and then lost.";
        by_cause(out, "fluxgate_edge_analytics_dropped_total", help, &COUNTS_LOST, &self.counts_lost);
    }

    fn write_experiments(&self, out: &mut Text) {
        let mut counter = |name: &str, help: &str, figure: &AtomicU64| {
            single(out, &format!("fluxgate_edge_{name}_total"), "counter", help, load(figure));
        };
        let help = "Exposures known as told.";
        counter("assignment_cache_hits", help, &self.assignment_hits);
        let help = "Exposures not known as told.";
        counter("assignment_cache_misses", help, &self.assignment_misses);
        let help = "Exposures that found no room and are told when they happen again.";
        counter("exposures_postponed", help, &self.exposures_postponed);
        counter("exposures_dropped", "Exposures gathered and then lost.", &self.exposures_lost);
        counter("events_dropped", "Entries of events gathered and then lost.", &self.events_lost);
        counter("events_refused", "Events refused since too many waited.", &self.events_refused);
        let help = "Events where nothing of experiments is gathered.";
        counter("events_ignored", help, &self.events_ignored);
    }

    fn write_spans(&self, out: &mut Text) {
        let help = "Spans that the collector took.";
        single(out, "fluxgate_edge_spans_exported_total", "counter", help, load(&self.spans_exported));
        let help = "Spans that no collector got.";
        by_cause(out, "fluxgate_edge_spans_dropped_total", help, &SPANS_LOST, &self.spans_lost);
    }
}

fn write_environments(out: &mut Text, snapshot: &Snapshot) {
    let mut environments: Vec<&Arc<Environment>> = snapshot.environments.values().collect();
    environments.sort_by(|a, b| a.name.cmp(&b.name));
    let now_ms = clock::now_ms();
    let each = |out: &mut Text, name: &str, help: &str, value: &dyn Fn(&Environment) -> f64| {
        out.head(name, "gauge", help);
        for environment in &environments {
            out.sample(name, &[("environment", &environment.name)], value(environment));
        }
    };
    each(out, "fluxgate_edge_snapshot_revision", "Revision answered by.", &|found| found.revision as f64);
    let age = |found: &Environment| (now_ms - found.swapped_at_ms).max(0) as f64 / 1e3;
    each(out, "fluxgate_edge_snapshot_age_seconds", "Time since the last swap.", &age);
    let help = "1 while answers may be out of date.";
    each(out, "fluxgate_edge_snapshot_stale", help, &|found| f64::from(u8::from(found.is_stale)));
    let name = "fluxgate_edge_evaluations_total";
    out.head(name, "counter", "Evaluations by reason.");
    for environment in &environments {
        for reason in REASONS {
            let labels = [("environment", &*environment.name), ("reason", reason.as_str())];
            out.sample(name, &labels, environment.stats.count(reason));
        }
    }
}

fn single(out: &mut Text, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
    out.head(name, kind, help);
    out.sample(name, &[], value);
}

fn histogram<const N: usize>(out: &mut Text, name: &str, help: &str, histogram: &Histogram<N>) {
    out.head(name, "histogram", help);
    histogram.write(out, name, &[]);
}

fn by_cause<T>(out: &mut Text, name: &str, help: &str, causes: &[(T, &str)], counts: &[AtomicU64]) {
    out.head(name, "counter", help);
    for ((_, why), count) in causes.iter().zip(counts) {
        out.sample(name, &[("why", why)], load(count));
    }
}

fn load(figure: &AtomicU64) -> u64 {
    figure.load(Ordering::Relaxed)
}
