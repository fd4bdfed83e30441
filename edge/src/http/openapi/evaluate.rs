//! `POST /evaluate`.

use crate::http::openapi::body::{EvaluateRequest, Evaluation, EvaluationError};
use crate::http::openapi::refusal::NativeRefusal;

/// Evaluates one flag.
///
/// Counts one evaluation and one request of the key.
#[utoipa::path(
    post,
    path = "/evaluate",
    tag = "native",
    request_body(content = EvaluateRequest, description = "Which flag, and about whom."),
    responses(
        (status = 200, description = "What the flag answers.", body = Evaluation),
        (status = 400, description = "`PARSE_ERROR`, `INVALID_CONTEXT` or `TARGETING_KEY_MISSING`.",
         body = EvaluationError,
         example = json!({"flagKey": "split", "reason": "ERROR", "errorCode": "TARGETING_KEY_MISSING",
                          "errorDetails": "the context has no targetingKey",
                          "metadata": {"flagSetId": "shop/production", "version": "413"}})),
        (status = 404, description = "`FLAG_NOT_FOUND`, also for a flag that a client key may not see.",
         body = EvaluationError),
        (status = 500, description = "`GENERAL`: the flag was written by a newer version, and nothing older is held.",
         body = EvaluationError),
        NativeRefusal,
    ),
    security(("bearer" = []), ("api_key" = []))
)]
#[expect(dead_code, reason = "carries the description; the endpoint is served without a router")]
pub(super) fn evaluate() {}
