//! What all evaluations begin with: the method, the key and the body, or the answer that refuses them.

use std::borrow::Cow;

use hyper::body::{Body, Incoming};
use hyper::header::EXPECT;
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use shared::evaluation::ErrorCode;

use crate::app::App;
use crate::http::answer::{Answer, Form};
use crate::http::body::{self, BODY_BYTES_MAX, BodyError, Whole};
use crate::metrics::AuthFailure;
use crate::sdk_key::{Credential, Refusal};

/// What evaluations are asked by.
pub(super) const POST: &str = "POST, OPTIONS";
/// A body up to this is read before the SDK key is looked at, so that the key is looked at only once.
const UNCHECKED_BYTES_MAX: u64 = 64 * 1024;

/// A request that was read to its last byte.
pub(super) struct Received {
    pub(super) head: Parts,
    pub(super) credential: Credential,
    pub(super) body: Whole,
}

/// Reads a request. The answer that refuses it comes with the credential all the same.
pub(super) async fn receive(
    app: &App,
    form: Form,
    key: Option<&str>,
    request: hyper::Request<Incoming>,
) -> Result<Received, (Answer, Credential)> {
    let (head, mut body) = request.into_parts();
    let credential = Credential::of(&head.headers);
    if head.method != Method::POST {
        return Err((Answer::method_not_allowed(form, key, POST), credential));
    }
    if body.size_hint().exact().is_none_or(|bytes| bytes > UNCHECKED_BYTES_MAX)
        && let Err(refusal) = credential.open(&app.snapshot.load())
    {
        return Err((refuse(app, form, key, refusal).closing(), credential));
    }
    match body::read(&mut body).await {
        Ok(body) => Ok(Received { head, credential, body }),
        Err(error) => {
            // A client that waits to be asked for the body has not sent it.
            if error == BodyError::TooLong && !head.headers.contains_key(EXPECT) {
                body::drain(&mut body).await;
            }
            Err((unread(form, key, error).closing(), credential))
        }
    }
}

/// The answer to somebody who may not ask, or may not yet.
pub(super) fn refuse(app: &App, form: Form, key: Option<&str>, refusal: Refusal) -> Answer {
    let not_ready = |details: &str| {
        Answer::error(StatusCode::SERVICE_UNAVAILABLE, form, key, ErrorCode::ProviderNotReady, details, None)
    };
    let denied = |status, details: &str| Answer::error(status, form, key, ErrorCode::General, details, None);
    let why = match refusal {
        Refusal::NotReady => return not_ready("this edge has no state yet"),
        Refusal::Denied(why) => why,
    };
    app.metrics.auth_failure(why);
    match why {
        AuthFailure::Missing => {
            denied(StatusCode::UNAUTHORIZED, "an SDK key is needed, as 'Authorization: Bearer …' or 'X-API-Key: …'")
        }
        AuthFailure::Unknown => denied(StatusCode::UNAUTHORIZED, "this SDK key is not known"),
        AuthFailure::UnknownNotLive => not_ready("this edge cannot tell yet whether the SDK key is known"),
        AuthFailure::Revoked => denied(StatusCode::UNAUTHORIZED, "this SDK key was revoked"),
        AuthFailure::Expired => denied(StatusCode::UNAUTHORIZED, "this SDK key has expired"),
        AuthFailure::Origin => denied(StatusCode::FORBIDDEN, "this SDK key may not be used from this web origin"),
        AuthFailure::Token => denied(
            StatusCode::UNAUTHORIZED,
            "this is no address of an event stream, or one whose time is over; POST /ofrep/v1/evaluate/flags gives a new one",
        ),
    }
}

fn unread(form: Form, key: Option<&str>, error: BodyError) -> Answer {
    let (status, code, details) = match error {
        BodyError::TooLong => {
            let details = format!("the body is longer than {BODY_BYTES_MAX} bytes");
            (StatusCode::PAYLOAD_TOO_LARGE, ErrorCode::General, Cow::Owned(details))
        }
        BodyError::TooSlow => (StatusCode::REQUEST_TIMEOUT, ErrorCode::General, "the body came too slowly".into()),
        BodyError::Broken => (StatusCode::BAD_REQUEST, ErrorCode::ParseError, "the body ended too early".into()),
    };
    Answer::error(status, form, key, code, &details, None)
}
