//! Answers that several addresses share, in each of their forms.

use utoipa::IntoResponses;

use crate::http::openapi::body::{EvaluationError, OfrepError};
use crate::http::openapi::bulk::BulkError;

/// Refusals in the native form.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "describes answers; it is never made")]
pub(super) enum NativeRefusal {
    /// The SDK key is missing, unknown, revoked or has expired.
    #[response(status = 401, headers(("WWW-Authenticate" = String, description = "`Bearer`.")))]
    Unauthorized(EvaluationError),
    /// The SDK key may not be used from this web origin.
    #[response(status = 403)]
    Forbidden(EvaluationError),
    /// Only POST, and OPTIONS for web pages.
    #[response(status = 405, headers(("Allow" = String, description = "The methods that are taken.")))]
    MethodNotAllowed(EvaluationError),
    /// The body took longer than 30 s. The connection closes.
    #[response(status = 408)]
    TooSlow(EvaluationError),
    /// The body is longer than 1 MiB. The connection closes.
    #[response(status = 413)]
    TooLong(EvaluationError),
    /// There is no state yet, or the edge cannot tell yet whether the SDK key is known.
    #[response(status = 503, headers(("Retry-After" = u32, description = "Whole seconds.")))]
    NotReady(EvaluationError),
}

/// Refusals of OFREP's single evaluation.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "describes answers; it is never made")]
pub(super) enum OfrepRefusal {
    /// The SDK key is missing, unknown, revoked or has expired. OFREP clients take it for final.
    #[response(status = 401, headers(("WWW-Authenticate" = String, description = "`Bearer`.")))]
    Unauthorized(OfrepError),
    /// The SDK key may not be used from this web origin.
    #[response(status = 403)]
    Forbidden(OfrepError),
    /// Only POST, and OPTIONS for web pages.
    #[response(status = 405, headers(("Allow" = String, description = "The methods that are taken.")))]
    MethodNotAllowed(OfrepError),
    /// The body took longer than 30 s. The connection closes.
    #[response(status = 408)]
    TooSlow(OfrepError),
    /// The body is longer than 1 MiB. The connection closes.
    #[response(status = 413)]
    TooLong(OfrepError),
    /// There is no state yet, or the edge cannot tell yet whether the SDK key is known.
    #[response(status = 503, headers(("Retry-After" = u32, description = "Whole seconds.")))]
    NotReady(OfrepError),
}

/// Refusals where no flag is named.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "describes answers; it is never made")]
pub(super) enum BulkRefusal {
    /// The SDK key is missing, unknown, revoked or has expired. OFREP clients take it for final.
    #[response(status = 401, headers(("WWW-Authenticate" = String, description = "`Bearer`.")))]
    Unauthorized(BulkError),
    /// The SDK key may not be used from this web origin.
    #[response(status = 403)]
    Forbidden(BulkError),
    /// Only POST, and OPTIONS for web pages.
    #[response(status = 405, headers(("Allow" = String, description = "The methods that are taken.")))]
    MethodNotAllowed(BulkError),
    /// The body took longer than 30 s. The connection closes.
    #[response(status = 408)]
    TooSlow(BulkError),
    /// The body is longer than 1 MiB. The connection closes.
    #[response(status = 413)]
    TooLong(BulkError),
    /// There is no state yet, or the edge cannot tell yet whether the SDK key is known.
    #[response(status = 503, headers(("Retry-After" = u32, description = "Whole seconds.")))]
    NotReady(BulkError),
}
