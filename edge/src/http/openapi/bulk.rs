//! Bodies of bulk evaluation and of the event stream as they are described, as strict as the others.

#![expect(dead_code, reason = "describes bodies; none is ever made of it")]

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::http::openapi::body::{ErrorCode, Reason, value};

/// What a flag answers in a bulk answer.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct BulkEvaluation {
    /// Which flag.
    key: String,
    /// What to use.
    #[schema(schema_with = value, required = false)]
    value: Option<Value>,
    /// Absent with the value.
    #[schema(nullable = false)]
    variant: Option<String>,
    reason: Reason,
    /// Only where a prerequisite blocks.
    #[schema(nullable = false)]
    metadata: Option<BulkItemMetadata>,
}

/// What is said of one flag of a bulk answer.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct BulkItemMetadata {
    /// The prerequisite that keeps the flag off, where the key may see it.
    blocked_by: String,
}

/// A flag of a bulk answer that has no answer of its own.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct BulkFailure {
    /// Which flag.
    key: String,
    error_code: ErrorCode,
    /// A sentence that says what to do.
    error_details: String,
}

/// One flag of a bulk answer.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(super) enum BulkItem {
    /// It answers.
    Evaluation(BulkEvaluation),
    /// It does not; the others do all the same.
    Failure(BulkFailure),
}

/// Where the flags of a bulk answer come from.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct BulkMetadata {
    /// `project/environment`.
    flag_set_id: String,
    /// Revision of the environment that was answered by.
    #[schema(pattern = "^[0-9]+$")]
    version: String,
    /// Present while the answer may be out of date.
    #[schema(nullable = false)]
    stale: Option<bool>,
}

/// How to hear of changes.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct EventStream {
    #[serde(rename = "type")]
    kind: StreamKind,
    endpoint: StreamEndpoint,
    /// After so long without anybody looking, a client may leave the stream.
    #[schema(minimum = 1, example = 120)]
    inactivity_delay_sec: u32,
}

/// How a stream is spoken.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum StreamKind {
    /// Server-sent events.
    Sse,
}

/// Where a stream is.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct StreamEndpoint {
    /// Path and query, on the origin that was asked; the token in it is good for the stream alone, for 36 hours.
    #[schema(pattern = r"^/ofrep/v1/stream\?t=.+$")]
    request_uri: String,
}

/// All flags that the key may see, sorted by key.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({
    "flags": [{"key": "checkout", "value": true, "variant": "on", "reason": "TARGETING_MATCH"},
              {"key": "old", "reason": "DISABLED"},
              {"key": "split", "errorCode": "TARGETING_KEY_MISSING", "errorDetails": "the context has no targetingKey"}],
    "metadata": {"flagSetId": "shop/production", "version": "413"},
    "eventStreams": [{"type": "sse", "endpoint": {"requestUri": "/ofrep/v1/stream?t=…"}, "inactivityDelaySec": 120}]
}))]
pub(super) struct BulkAnswer {
    flags: Vec<BulkItem>,
    metadata: BulkMetadata,
    event_streams: Vec<EventStream>,
}

/// Why a call that names no flag has no answer.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({"errorCode": "INVALID_CONTEXT", "errorDetails": "the context is not a JSON object"}))]
pub(super) struct BulkError {
    error_code: ErrorCode,
    /// A sentence that says what to do.
    error_details: String,
}

/// What the `data` of a stream's event holds.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({"type": "refetchEvaluation", "etag": "r413", "lastModified": 1_771_622_898}))]
pub(super) struct StreamEvent {
    #[serde(rename = "type")]
    kind: StreamEventKind,
    /// To be sent as `flagConfigEtag`, so that no edge that is behind answers with something older.
    #[schema(pattern = "^r[0-9]+$")]
    etag: String,
    /// When it changed, in seconds since 1970.
    last_modified: i64,
}

/// What a client should do.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum StreamEventKind {
    /// Ask for all flags again.
    RefetchEvaluation,
}
