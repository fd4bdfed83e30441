//! `POST /track`.

#![expect(dead_code, reason = "describes bodies; none is ever made of it")]

use serde::Serialize;
use utoipa::{IntoResponses, ToSchema};

use crate::http::openapi::body::Context;

/// What a user did.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"eventName": "purchase", "context": {"targetingKey": "user-1"}, "value": 12.5}))]
pub(super) struct TrackRequest {
    /// What was done: 1 to 100 letters, digits and `. _ : / -`, beginning with a letter or digit.
    #[schema(max_length = 100, min_length = 1, pattern = "^[A-Za-z0-9][A-Za-z0-9._:/-]*$")]
    event_name: String,
    /// By whom: `targetingKey`, and the attributes that experiments divide users by. As an evaluation has it.
    context: Context,
    /// How much it was worth, for metrics of numbers; counts as 0 when absent or null.
    #[schema(minimum = -1e12, maximum = 1e12)]
    value: Option<f64>,
}

/// Why an event is not taken.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum TrackErrorCode {
    /// The body is not the JSON that is asked for.
    ParseError,
    /// The context is no object.
    InvalidContext,
    /// There is no name, or one that no event can have.
    InvalidEventName,
    /// The value is no number, or too large.
    InvalidValue,
    /// The context has no `targetingKey`, or one that is empty or neither a text nor a whole number.
    TargetingKeyMissing,
    /// The edge has no state yet; tell it again.
    ProviderNotReady,
    /// Anything else; see `errorDetails`.
    General,
}

/// Why an event is not taken.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({"errorCode": "INVALID_EVENT_NAME", "errorDetails": "eventName is missing; name what was done \
                          as {\"eventName\":\"purchase\"}"}))]
pub(super) struct TrackError {
    error_code: TrackErrorCode,
    /// A sentence that says what to do.
    error_details: String,
}

/// Refusals of events.
#[derive(IntoResponses)]
pub(super) enum TrackRefusal {
    /// The SDK key is missing, unknown, revoked or has expired.
    #[response(status = 401, headers(("WWW-Authenticate" = String, description = "`Bearer`.")))]
    Unauthorized(TrackError),
    /// The SDK key may not be used from this web origin.
    #[response(status = 403)]
    Forbidden(TrackError),
    /// Only POST, and OPTIONS for web pages.
    #[response(status = 405, headers(("Allow" = String, description = "The methods that are taken.")))]
    MethodNotAllowed(TrackError),
    /// The body took longer than 30 s. The connection closes.
    #[response(status = 408)]
    TooSlow(TrackError),
    /// The body is longer than 1 MiB. The connection closes.
    #[response(status = 413)]
    TooLong(TrackError),
    /// There is no state yet, the edge cannot tell yet whether the SDK key is known, or 50,000 different events and users
    /// wait to be brought home. Nothing was taken.
    #[response(status = 503, headers(("Retry-After" = u32, description = "Whole seconds.")))]
    NotReady(TrackError),
}

/// Tells what a user did.
///
/// For the metrics of experiments, as OpenFeature's tracking has it. The event counts for a user's experiments once it is
/// added up; names of users are not kept, only hashes of them. Server and client keys may tell events. Counts one request
/// of the key.
#[utoipa::path(
    post,
    path = "/track",
    tag = "native",
    request_body(content = TrackRequest, description = "What was done, by whom, and how much it was worth."),
    responses(
        (status = 204, description = "The event is taken. Also where it is of no use: in an environment that was not \
          changed since edges gather events, and on an edge that is offline."),
        (status = 400, description = "`PARSE_ERROR`, `INVALID_CONTEXT`, `INVALID_EVENT_NAME`, `INVALID_VALUE` or \
          `TARGETING_KEY_MISSING`. Nothing was taken.", body = TrackError),
        TrackRefusal,
    ),
    security(("bearer" = []), ("api_key" = []))
)]
pub(super) fn track() {}
