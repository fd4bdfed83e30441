//! The messages of OTLP 1.x that traces need, by the numbers of their fields.
//!
//! A few lines here stand for the crates of the OpenTelemetry SDK: these bring a second version of `rand` and a batch
//! thread of their own, and cannot tell how many spans they let go. A test decodes what is sent with the project's own
//! messages.

use prost::{Message, Oneof};
use shared::model::id::ProcessId;

/// `SPAN_KIND_SERVER`.
pub(super) const KIND_SERVER: i32 = 2;
/// `STATUS_CODE_ERROR`.
pub(super) const STATUS_ERROR: i32 = 2;
/// The lower bits are those of `traceparent`; these say that it is known whether the parent is another process's.
pub(super) const FLAG_SAMPLED: u32 = 1;
pub(super) const FLAG_KNOWS_PARENT: u32 = 0x100;
pub(super) const FLAG_PARENT_IS_REMOTE: u32 = 0x200;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Request {
    #[prost(message, repeated, tag = "1")]
    pub(super) resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    pub(super) resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    pub(super) scope_spans: Vec<ScopeSpans>,
}

/// Who sends.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Resource {
    #[prost(message, repeated, tag = "1")]
    pub(super) attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    pub(super) scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    pub(super) spans: Vec<SpanMessage>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Scope {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) version: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SpanMessage {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) span_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    pub(super) parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    pub(super) name: String,
    #[prost(int32, tag = "6")]
    pub(super) kind: i32,
    #[prost(fixed64, tag = "7")]
    pub(super) start_ns: u64,
    #[prost(fixed64, tag = "8")]
    pub(super) end_ns: u64,
    #[prost(message, repeated, tag = "9")]
    pub(super) attributes: Vec<KeyValue>,
    #[prost(message, repeated, tag = "11")]
    pub(super) events: Vec<Event>,
    #[prost(message, optional, tag = "15")]
    pub(super) status: Option<Status>,
    #[prost(fixed32, tag = "16")]
    pub(super) flags: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Event {
    #[prost(fixed64, tag = "1")]
    pub(super) time_ns: u64,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(message, repeated, tag = "3")]
    pub(super) attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Status {
    #[prost(int32, tag = "3")]
    pub(super) code: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct KeyValue {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(message, optional, tag = "2")]
    pub(super) value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AnyValue {
    #[prost(oneof = "Value", tags = "1, 3")]
    pub(super) value: Option<Value>,
}

/// A value of an attribute.
#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Value {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(int64, tag = "3")]
    Number(i64),
}

/// What a collector answers.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Answer {
    #[prost(message, optional, tag = "1")]
    pub(super) partial_success: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PartialSuccess {
    #[prost(int64, tag = "1")]
    pub(super) rejected_spans: i64,
}

impl KeyValue {
    pub(super) fn text(key: &str, value: impl Into<String>) -> Self {
        Self { key: key.into(), value: Some(AnyValue { value: Some(Value::Text(value.into())) }) }
    }

    pub(super) fn number(key: &str, value: i64) -> Self {
        Self { key: key.into(), value: Some(AnyValue { value: Some(Value::Number(value)) }) }
    }
}

impl Resource {
    /// The program, its version and this process; what is configured wins.
    pub(super) fn of(process: ProcessId, configured: Vec<(String, String)>) -> Self {
        let own = [
            ("service.name", "fluxgate-edge".to_owned()),
            ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
            ("service.instance.id", process.to_string()),
        ];
        let is_configured = |key: &str| configured.iter().any(|(name, _)| name == key);
        let own = own.into_iter().filter(|(key, _)| !is_configured(key));
        let mut attributes: Vec<KeyValue> = own.map(|(key, value)| KeyValue::text(key, value)).collect();
        attributes.extend(configured.into_iter().map(|(key, value)| KeyValue::text(&key, value)));
        Self { attributes }
    }
}

impl Request {
    /// One batch of one process.
    pub(super) fn of(resource: &Resource, spans: Vec<SpanMessage>) -> Self {
        let scope = Scope { name: "fluxgate-edge".into(), version: env!("CARGO_PKG_VERSION").into() };
        let scope_spans = vec![ScopeSpans { scope: Some(scope), spans }];
        Self { resource_spans: vec![ResourceSpans { resource: Some(resource.clone()), scope_spans }] }
    }
}
