//! One request that is recorded, and what it evaluated.

use std::borrow::Cow;

use hyper::Method;
use shared::evaluation::{Context, ErrorCode, Outcome, Value};

use crate::clock;
use crate::metrics::Route;
use crate::snapshot::Environment;
use crate::trace::otlp::{
    Event, FLAG_KNOWS_PARENT, FLAG_PARENT_IS_REMOTE, FLAG_SAMPLED, KIND_SERVER, KeyValue, STATUS_ERROR, SpanMessage,
    Status,
};
use crate::trace::parent::{Parent, TraceId};

/// What a span repeats of a text that a client made up, in characters.
const CHARS_MAX: usize = 200;
const PROVIDER: &str = "FluxGate";

/// One request.
#[derive(Debug)]
pub struct Span {
    trace: TraceId,
    message: SpanMessage,
    with_targeting_key: bool,
}

impl Span {
    pub(super) fn begin(
        route: Route,
        method: &Method,
        path: &str,
        parent: Option<Parent>,
        with_targeting_key: bool,
    ) -> Self {
        let (trace, parent_span, flags) = match parent {
            Some(parent) => (parent.trace, parent.span.to_vec(), FLAG_PARENT_IS_REMOTE),
            None => (TraceId(clock::random_bytes()), Vec::new(), 0),
        };
        let span: [u8; 8] = clock::random_bytes();
        let method = method_name(method);
        let message = SpanMessage {
            trace_id: trace.0.to_vec(),
            span_id: span.to_vec(),
            parent_span_id: parent_span,
            name: format!("{} {}", if method == OTHER { "HTTP" } else { method }, route.as_str()),
            kind: KIND_SERVER,
            start_ns: clock::now_ns(),
            end_ns: 0,
            attributes: vec![
                KeyValue::text("http.request.method", method),
                KeyValue::text("http.route", route.as_str()),
                KeyValue::text("url.scheme", "http"),
                // Never the query, which may hold a token.
                KeyValue::text("url.path", bounded(path)),
            ],
            events: Vec::new(),
            status: None,
            flags: FLAG_SAMPLED | FLAG_KNOWS_PARENT | flags,
        };
        Self { trace, message, with_targeting_key }
    }

    /// The trace that it is part of.
    pub fn trace(&self) -> TraceId {
        self.trace
    }

    /// Adds the evaluation of one flag: the event of OpenTelemetry's conventions for feature flags.
    pub fn evaluated(&mut self, environment: &Environment, flag: &str, outcome: &Outcome<'_>, context: &Context<'_>) {
        let mut attributes = vec![
            KeyValue::text("feature_flag.key", bounded(flag)),
            KeyValue::text("feature_flag.result.reason", outcome.reason.as_str().to_ascii_lowercase()),
        ];
        attributes.extend(about(environment));
        if let Some(variant) = outcome.variant {
            attributes.push(KeyValue::text("feature_flag.result.variant", variant));
        }
        let targeting_key = context.targeting_key().filter(|_| self.with_targeting_key).and_then(text_of);
        if let Some(key) = targeting_key {
            attributes.push(KeyValue::text("feature_flag.context.id", bounded(&key)));
        }
        if let Some((code, details)) = outcome.error {
            attributes.push(KeyValue::text("error.type", error_type(code)));
            attributes.push(KeyValue::text("feature_flag.error.message", bounded(details)));
        }
        self.event("feature_flag.evaluation", attributes);
    }

    /// Adds that all flags were evaluated. One event with their number: one per flag would be a thousand of them.
    pub fn evaluated_all(&mut self, environment: &Environment, flags: usize) {
        let count = i64::try_from(flags).unwrap_or(i64::MAX);
        let attributes = about(environment).into_iter().chain([KeyValue::number("fluxgate.flags", count)]).collect();
        self.event("fluxgate.bulk_evaluation", attributes);
    }

    pub(super) fn end(&mut self, status: u16) {
        self.message.end_ns = clock::now_ns().max(self.message.start_ns);
        self.message.attributes.push(KeyValue::number("http.response.status_code", i64::from(status)));
        if status >= 500 {
            self.message.attributes.push(KeyValue::text("error.type", status.to_string()));
            self.message.status = Some(Status { code: STATUS_ERROR });
        }
    }

    pub(super) fn into_message(self) -> SpanMessage {
        self.message
    }

    fn event(&mut self, name: &str, attributes: Vec<KeyValue>) {
        self.message.events.push(Event { time_ns: clock::now_ns(), name: name.into(), attributes });
    }
}

fn about(environment: &Environment) -> [KeyValue; 3] {
    [
        KeyValue::text("feature_flag.set.id", &*environment.name),
        KeyValue::text("feature_flag.version", environment.revision.to_string()),
        KeyValue::text("feature_flag.provider.name", PROVIDER),
    ]
}

/// What the conventions have in place of a method that nobody knows, since these are without number.
const OTHER: &str = "_OTHER";

fn method_name(method: &Method) -> &'static str {
    const KNOWN: [&str; 8] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or(OTHER)
}

fn error_type(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::FlagNotFound => "flag_not_found",
        ErrorCode::ParseError => "parse_error",
        ErrorCode::TargetingKeyMissing => "targeting_key_missing",
        ErrorCode::InvalidContext => "invalid_context",
        ErrorCode::ProviderNotReady => "provider_not_ready",
        ErrorCode::General => "general",
    }
}

/// A targeting key as text; other kinds are none.
fn text_of<'a>(value: &'a Value<'_>) -> Option<Cow<'a, str>> {
    match value {
        Value::Text(text) => Some(text.as_ref().into()),
        Value::Number(_) => Some(value.to_json().into()),
        _ => None,
    }
}

fn bounded(text: &str) -> String {
    text.chars().take(CHARS_MAX).collect()
}
