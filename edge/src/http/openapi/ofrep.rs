//! OFREP 0.3: single and bulk evaluation, and the event stream.

use crate::http::openapi::body::{OfrepError, OfrepEvaluation, OfrepRequest};
use crate::http::openapi::bulk::{BulkAnswer, BulkError};
use crate::http::openapi::refusal::{BulkRefusal, OfrepRefusal};

/// Evaluates one flag.
///
/// Counts one evaluation and one request of the key.
#[utoipa::path(
    post,
    path = "/ofrep/v1/evaluate/flags/{key}",
    tag = "ofrep",
    params(("key" = String, Path, description = "The flag's key, percent-encoded; a slash may also stand as it is.",
            max_length = 200, example = "checkout")),
    request_body(content = OfrepRequest, description = "About whom; an absent or empty body is an empty context."),
    responses(
        (status = 200, description = "What the flag answers.", body = OfrepEvaluation),
        (status = 400, description = "`PARSE_ERROR`, `INVALID_CONTEXT` or `TARGETING_KEY_MISSING`.", body = OfrepError,
         example = json!({"key": "split", "errorCode": "TARGETING_KEY_MISSING",
                          "errorDetails": "the context has no targetingKey",
                          "metadata": {"flagSetId": "shop/production", "version": "413"}})),
        (status = 404, description = "`FLAG_NOT_FOUND`, also for a flag that a client key may not see.",
         body = OfrepError),
        (status = 500, description = "`GENERAL`: the flag was written by a newer version, and nothing older is held.",
         body = OfrepError),
        OfrepRefusal,
    ),
    security(("bearer" = []), ("api_key" = []))
)]
#[expect(dead_code, reason = "carries the description; the endpoint is served without a router")]
pub(super) fn evaluate_flag() {}

/// Evaluates all flags that the key may see.
///
/// Counts one evaluation per flag, apart from single ones, and one request of the key; an answer 304 counts only the
/// request.
#[utoipa::path(
    post,
    path = "/ofrep/v1/evaluate/flags",
    tag = "ofrep",
    params(
        ("If-None-Match" = Option<String>, Header, description = "`ETag` of an answer before; weak ones, lists and `*` too.",
         example = "\"r413-00f1c2d3e4a5b697\""),
        ("flagConfigEtag" = Option<String>, Query, description = "`etag` of the event that this call follows: one that is \
          newer than what is held is waited for, up to 1 s, and nothing older is answered 304.", example = "r413"),
        ("flagConfigLastModified" = Option<String>, Query, description = "`lastModified` of that event; not looked at, \
          since revisions decide."),
    ),
    request_body(content = OfrepRequest, description = "About whom; an absent or empty body is an empty context."),
    responses(
        (status = 200, description = "All flags, sorted by key. A flag without an answer is an item with `errorCode`.",
         body = BulkAnswer,
         headers(
             ("ETag" = String, description = "`\"r<revision>-<16 hexadecimal digits>\"`, over all answers, the key and the \
               period of the stream's token."),
             ("Cache-Control" = String, description = "`private, no-cache`."),
             ("Vary" = String, description = "`Authorization, X-API-Key, Origin`."),
         )),
        (status = 304, description = "Nothing changed; no body.",
         headers(("ETag" = String, description = "The same again."))),
        (status = 400, description = "`PARSE_ERROR` or `INVALID_CONTEXT`.", body = BulkError),
        BulkRefusal,
    ),
    security(("bearer" = []), ("api_key" = []))
)]
#[expect(dead_code, reason = "carries the description; the endpoint is served without a router")]
pub(super) fn evaluate_flags() {}

/// Says when to ask for all flags again.
///
/// Each event has `id` (revision and time boundary), `event: message`, `retry` (milliseconds) and `data`, which holds a
/// `StreamEvent`. A comment comes every 15 s. After a reconnection with another `Last-Event-ID` an event follows at once.
/// The stream ends when its key is revoked or expires, and when the edge stops. Never compressed.
#[utoipa::path(
    get,
    path = "/ofrep/v1/stream",
    tag = "ofrep",
    params(
        ("t" = String, Query, description = "The token in the bulk answer's `requestUri`; valid for 36 hours."),
        ("Last-Event-ID" = Option<String>, Header, description = "`id` of the last event that arrived.", example = "413.0"),
    ),
    responses(
        (status = 200, description = "Events, until one side ends it. HEAD answers the headers alone.", body = String,
         content_type = "text/event-stream",
         headers(("Cache-Control" = String, description = "`no-cache, no-transform`.")),
         example = json!("id: 413.0\nevent: message\nretry: 2500\ndata: {\"type\":\"refetchEvaluation\",\"etag\":\"r413\",\"lastModified\":1771622898}\n\n")),
        (status = 401, description = "The token is wrong or too old, or its key was revoked or has expired.", body = BulkError,
         headers(("WWW-Authenticate" = String, description = "`Bearer`."))),
        (status = 403, description = "The key may not be used from this web origin.", body = BulkError),
        (status = 405, description = "Only GET and HEAD, and OPTIONS for web pages.", body = BulkError,
         headers(("Allow" = String, description = "The methods that are taken."))),
        (status = 429, description = "As many streams are open as this edge takes.", body = BulkError,
         headers(("Retry-After" = u32, description = "Whole seconds."))),
        (status = 503, description = "There is no state yet.", body = BulkError,
         headers(("Retry-After" = u32, description = "Whole seconds."))),
    )
)]
#[expect(dead_code, reason = "carries the description; the endpoint is served without a router")]
pub(super) fn follow_stream() {}
