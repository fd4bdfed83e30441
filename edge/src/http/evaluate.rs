//! The two hot endpoints: `POST /evaluate` and OFREP's single evaluation.

use std::borrow::Cow;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::header::EXPECT;
use hyper::{Method, Response, StatusCode};
use percent_encoding::percent_decode_str;
use shared::evaluation::{self, ErrorCode, Outcome, Query};
use shared::model::sdk_key::SdkKeyKind;
use shared::wire::count::Mode;

use crate::app::App;
use crate::clock;
use crate::http::answer::{Answer, Form};
use crate::http::body::{self, BODY_BYTES_MAX, BodyError};
use crate::http::request::Request;
use crate::metrics::{AuthFailure, Route};
use crate::sdk_key::{Credential, Refusal};

/// A body up to this is read before the SDK key is looked at, so that the key is looked at only once.
const UNCHECKED_BYTES_MAX: u64 = 64 * 1024;
/// What a message repeats of a key that a client made up.
const KEY_CHARS_SHOWN: usize = 100;

/// Answers `POST /evaluate`.
pub(super) async fn evaluate(app: &App, request: hyper::Request<Incoming>) -> Response<Full<Bytes>> {
    let answer = answer(app, Form::Native, None, request).await;
    app.metrics.request(Route::Evaluate, answer.status.as_u16());
    answer.into_response()
}

/// Answers `POST /ofrep/v1/evaluate/flags/{key}`; `at` is where the key begins in the path.
pub(super) async fn evaluate_ofrep(app: &App, at: usize, request: hyper::Request<Incoming>) -> Response<Full<Bytes>> {
    // Decoded exactly once. What is not text afterwards is no key, and is found nowhere.
    let uri = request.uri().clone();
    let key = percent_decode_str(&uri.path()[at..]).decode_utf8_lossy();
    let answer = answer(app, Form::Ofrep, Some(key), request).await;
    app.metrics.request(Route::OfrepSingle, answer.status.as_u16());
    answer.into_response()
}

async fn answer(app: &App, form: Form, key: Option<Cow<'_, str>>, request: hyper::Request<Incoming>) -> Answer {
    let (head, mut body) = request.into_parts();
    if head.method != Method::POST {
        let details = "this address takes only POST";
        return Answer::error(StatusCode::METHOD_NOT_ALLOWED, form, key.as_deref(), ErrorCode::General, details, None);
    }
    let credential = Credential::of(&head.headers);
    if body.size_hint().exact().is_none_or(|bytes| bytes > UNCHECKED_BYTES_MAX)
        && let Err(refusal) = credential.open(&app.snapshot.load())
    {
        return refuse(app, form, key.as_deref(), refusal).closing();
    }
    match body::read(&mut body).await {
        Ok(whole) => decide(app, form, key, credential, &whole),
        Err(error) => {
            // A client that waits to be asked for the body has not sent it.
            if error == BodyError::TooLong && !head.headers.contains_key(EXPECT) {
                body::drain(&mut body).await;
            }
            unread(form, key.as_deref(), error).closing()
        }
    }
}

/// Everything after the last byte was read, in one go: counting happens while the snapshot is held.
fn decide(app: &App, form: Form, path_key: Option<Cow<'_, str>>, credential: Credential<'_>, body: &[u8]) -> Answer {
    let snapshot = app.snapshot.load();
    let (sdk_key, environment) = match credential.open(&snapshot) {
        Ok(opened) => opened,
        Err(refusal) => return refuse(app, form, path_key.as_deref(), refusal),
    };
    sdk_key.requests.add();
    let bad = |key: Option<&str>, code, details: &str| {
        Answer::error(StatusCode::BAD_REQUEST, form, key, code, details, Some(&environment.metadata))
    };
    let parsed = if path_key.is_some() { Request::parse_optional(body) } else { Request::parse(body) };
    let request = match parsed {
        Ok(request) => request,
        Err(error) => {
            let details = format!("the body cannot be read: {error}");
            return bad(path_key.as_deref(), ErrorCode::ParseError, &details);
        }
    };
    let Some(key) = path_key.or(request.flag_key) else {
        return bad(
            None,
            ErrorCode::ParseError,
            "the body has no flagKey; name the flag as {\"flagKey\":\"checkout\"}",
        );
    };
    let Some(context) = request.context else {
        return bad(Some(&key), ErrorCode::InvalidContext, "the context is not a JSON object");
    };
    let sees = |is_visible: bool| is_visible || sdk_key.kind == SdkKeyKind::Server;
    match environment.flag(&key) {
        Some(entry) if sees(entry.flag.flag.client_visible) => {
            let query = Query { context: &context, now_ms: clock::now_ms(), asker: sdk_key.kind };
            let outcome = evaluation::evaluate_flag(environment, &entry.flag.flag, entry.is_killed, &query);
            entry.flag.cells.add(&outcome, Mode::Single);
            environment.stats.add(outcome.reason);
            let told = outcome.for_asker(sdk_key.kind);
            Answer::outcome(form, &key, &told, &environment.metadata)
        }
        found => {
            let shown: String = key.chars().take(KEY_CHARS_SHOWN).collect();
            let details = format!("there is no flag '{shown}' in {}", environment.name);
            let outcome = Outcome::error(ErrorCode::FlagNotFound, &details);
            if let Some(hidden) = found {
                hidden.flag.cells.add(&outcome, Mode::Single);
            }
            environment.stats.add(outcome.reason);
            Answer::outcome(form, &key, &outcome, &environment.metadata)
        }
    }
}

fn refuse(app: &App, form: Form, key: Option<&str>, refusal: Refusal) -> Answer {
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
