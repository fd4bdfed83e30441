//! Traces: which requests get a span, and how spans reach a collector. Off unless a collector is named.
//!
//! `parent.rs` reads what a request says of its caller; `span.rs` writes down one request and what it evaluated;
//! `export.rs` gathers spans and sends them through `collector.rs`; `otlp.rs` holds the messages. A request that is not
//! sampled pays for one look and one branch; spans that no collector takes are counted and let go.
//!
//! Never in a span: values of a context or of a flag, SDK keys, query strings. The targeting key only where a setting
//! asks for it.

mod collector;
mod export;
mod otlp;
mod parent;
mod span;

use std::sync::Arc;

use hyper::Method;
use shared::model::id::ProcessId;
use thiserror::Error;
use tokio::sync::{Notify, mpsc};

use crate::app::App;
use crate::clock;
use crate::config::{ConfigError, Traces};
use crate::metrics::{Route, SpansLost};

pub use export::Exporter;
pub use parent::{Parent, TraceId};
pub use span::Span;

use collector::Collector;
use otlp::Resource;

/// Spans waiting to be sent.
const QUEUE_MAX: usize = 2_048;

/// Why no traces can be sent.
#[derive(Debug, Error)]
pub enum TraceError {
    /// A setting that cannot be used.
    #[error(transparent)]
    Setting(#[from] ConfigError),
    /// An address with https needs certificates to trust.
    #[error(
        "traces.endpoint begins with https, and this system knows no certificate authority; \
         install its list of them (ca-certificates) or name it in SSL_CERT_FILE"
    )]
    NoRoots,
}

/// Decides who gets a span, and takes spans that ended.
pub struct Tracer {
    app: Arc<App>,
    spans: mpsc::Sender<Box<Span>>,
    /// Wakes the exporter when the queue is half full.
    is_filling: Arc<Notify>,
    /// A request without a parent is sampled when a random number is below.
    sampled_below: u64,
    with_targeting_key: bool,
}

impl Tracer {
    /// A tracer and the task that brings its spans home; none without a collector.
    pub fn new(settings: &Traces, process: ProcessId, app: Arc<App>) -> Result<Option<(Self, Exporter)>, TraceError> {
        let Some(endpoint) = settings.collector()? else { return Ok(None) };
        let collector = Collector::new(endpoint, settings.header_map()?)?;
        let resource = Resource::of(process, settings.attributes()?);
        let (spans, queue) = mpsc::channel(QUEUE_MAX);
        let is_filling = Arc::new(Notify::new());
        let exporter = Exporter::new(Arc::clone(&app), collector, resource, queue, Arc::clone(&is_filling));
        // Rounded to a step of 2^-64; all are below the ratio 1.
        let sampled_below = (settings.sample_ratio * u64::MAX as f64) as u64;
        let with_targeting_key = settings.targeting_key;
        Ok(Some((Self { app, spans, is_filling, sampled_below, with_targeting_key }, exporter)))
    }

    /// Begins a span where the caller's is sampled, or by chance where there is none.
    #[inline]
    pub fn begin(&self, route: Route, method: &Method, path: &str, parent: Option<Parent>) -> Option<Box<Span>> {
        let is_sampled = match parent {
            Some(parent) => parent.is_sampled,
            None => self.sampled_below == u64::MAX || clock::random() < self.sampled_below,
        };
        is_sampled.then(|| Box::new(Span::begin(route, method, path, parent, self.with_targeting_key)))
    }

    /// Ends a span; one that finds the queue full is let go.
    pub fn end(&self, mut span: Box<Span>, status: u16) {
        span.end(status);
        // Full, or closed at the end of the process.
        if self.spans.try_send(span).is_err() {
            self.app.metrics.spans_lost(SpansLost::Full, 1);
        }
        if self.spans.capacity() < QUEUE_MAX / 2 {
            self.is_filling.notify_one();
        }
    }
}
