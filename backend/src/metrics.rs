//! Figures of this process for Prometheus, as `/metrics` shows them. Whoever knows a figure sets it; nobody reads one to
//! decide by it.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

/// The type of what `/metrics` answers.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PREFIX: &str = "fluxgate_backend";

/// What became of sending something to a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryResult {
    /// It was accepted.
    Delivered,
    /// It was not, and is sent again.
    Failed,
    /// It was not, and is sent no more.
    GivenUp,
}

/// All figures. Counters and gauges of the leader's work stand still on a backend that does not lead.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// 1 while this backend leads.
    pub leading: Gauge,
    /// Batches of counts that were added.
    pub batches_added: Counter,
    /// Batches that came again and changed nothing.
    pub batches_repeated: Counter,
    /// Batches whose counts a copy of their edge's folder sent.
    pub batches_refused: Counter,
    /// Batches that cannot be added and were set aside.
    pub batches_set_aside: Counter,
    /// Entries of the batches added.
    pub entries_added: Counter,
    /// Evaluations moved to the minute of receipt, since no right clock can have sent theirs.
    pub clock_wrong: Counter,
    /// Entries of events that were let go of: too many names, or a sum beyond all measure.
    pub events_refused: Counter,
    /// Age of the newest batch when it was added, in seconds.
    pub ingest_lag_seconds: Gauge<f64, AtomicU64>,
    /// How long adding takes, per transaction.
    pub ingest_duration_seconds: Histogram,
    /// Evaluations that edges counted and that did not arrive, at most, by the ledger.
    pub evaluations_lost_max: Gauge,
    /// Hours and days whose roll-up is not up to date.
    pub rollups_due: Gauge,
    webhook_deliveries: Family<[(&'static str, &'static str); 1], Counter>,
    db_pool_in_use: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix(PREFIX),
            leading: Gauge::default(),
            batches_added: Counter::default(),
            batches_repeated: Counter::default(),
            batches_refused: Counter::default(),
            batches_set_aside: Counter::default(),
            entries_added: Counter::default(),
            clock_wrong: Counter::default(),
            events_refused: Counter::default(),
            ingest_lag_seconds: Gauge::default(),
            // 1 ms to 16 s.
            ingest_duration_seconds: Histogram::new(exponential_buckets(0.001, 2.0, 15)),
            evaluations_lost_max: Gauge::default(),
            rollups_due: Gauge::default(),
            webhook_deliveries: Family::default(),
            db_pool_in_use: Gauge::default(),
        };
        metrics.register();
        metrics
    }
}

impl Metrics {
    /// The text for Prometheus.
    pub fn render(&self, pool: &sqlx::PgPool) -> Result<String, std::fmt::Error> {
        let in_use = usize::try_from(pool.size()).unwrap_or(usize::MAX).saturating_sub(pool.num_idle());
        self.db_pool_in_use.set(i64::try_from(in_use).unwrap_or(i64::MAX));
        let mut text = String::with_capacity(8 * 1024);
        encode(&mut text, &self.registry)?;
        Ok(text)
    }

    /// Something was sent to a webhook.
    pub fn webhook_delivery(&self, result: DeliveryResult) {
        let result = match result {
            DeliveryResult::Delivered => "delivered",
            DeliveryResult::Failed => "failed",
            DeliveryResult::GivenUp => "given_up",
        };
        self.webhook_deliveries.get_or_create(&[("result", result)]).inc();
    }

    fn register(&mut self) {
        let registry = &mut self.registry;
        let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "What runs", version);
        registry.register("leading", "1 while this backend leads", self.leading.clone());
        registry.register("batches_added", "Batches of counts that were added", self.batches_added.clone());
        registry.register("batches_repeated", "Batches that came again", self.batches_repeated.clone());
        registry.register(
            "batches_refused",
            "Batches whose counts were added already as a copy of their edge's folder sent them",
            self.batches_refused.clone(),
        );
        registry.register(
            "batches_set_aside",
            "Batches that cannot be added and wait for somebody to look at them",
            self.batches_set_aside.clone(),
        );
        registry.register("entries_added", "Entries of the batches added", self.entries_added.clone());
        registry.register(
            "clock_wrong",
            "Evaluations moved to the minute of receipt, since no right clock can have sent theirs",
            self.clock_wrong.clone(),
        );
        registry.register("events_refused", "Entries of events that were let go of", self.events_refused.clone());
        registry.register(
            "analytics_ingest_lag_seconds",
            "Age of the newest batch when it was added",
            self.ingest_lag_seconds.clone(),
        );
        registry.register(
            "analytics_ingest_duration_seconds",
            "How long adding takes, per transaction",
            self.ingest_duration_seconds.clone(),
        );
        registry.register(
            "evaluations_lost_max",
            "Evaluations that edges counted and that did not arrive, at most",
            self.evaluations_lost_max.clone(),
        );
        registry.register(
            "rollups_due",
            "Hours and days whose roll-up is not up to date, those that still go on included",
            self.rollups_due.clone(),
        );
        registry.register(
            "webhook_deliveries",
            "Times that something was sent to a webhook, by what became of it",
            self.webhook_deliveries.clone(),
        );
        registry.register("db_pool_in_use", "Connections of the pool that are in use", self.db_pool_in_use.clone());
    }
}
