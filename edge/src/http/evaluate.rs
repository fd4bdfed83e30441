//! The two hot endpoints: `POST /evaluate` and OFREP's single evaluation.

use std::borrow::Cow;
use std::time::Instant;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::{Response, StatusCode};
use percent_encoding::percent_decode_str;
use shared::evaluation::{self, Context, ErrorCode, Outcome, Query, Reason, Unit};
use shared::model::sdk_key::SdkKeyKind;
use shared::wire::count::Mode;

use crate::app::App;
use crate::clock;
use crate::count;
use crate::http::answer::{Answer, Form};
use crate::http::cors;
use crate::http::receive::{Received, receive, refuse};
use crate::http::request::Request;
use crate::metrics::Route;
use crate::sdk_key::Credential;
use crate::snapshot::{CountedFlag, Environment};
use crate::trace::Span;

/// What a message repeats of a key that a client made up.
const KEY_CHARS_SHOWN: usize = 100;

/// Answers `POST /evaluate`.
pub(super) async fn evaluate(
    app: &App,
    request: hyper::Request<Incoming>,
    span: Option<&mut Span>,
) -> Response<Full<Bytes>> {
    answer(app, Route::Evaluate, None, request, span).await
}

/// Answers `POST /ofrep/v1/evaluate/flags/{key}`; `at` is where the key begins in the path.
pub(super) async fn evaluate_ofrep(
    app: &App,
    at: usize,
    request: hyper::Request<Incoming>,
    span: Option<&mut Span>,
) -> Response<Full<Bytes>> {
    // Decoded exactly once. What is not text afterwards is no key, and is found nowhere.
    let uri = request.uri().clone();
    let key = percent_decode_str(&uri.path()[at..]).decode_utf8_lossy();
    answer(app, Route::OfrepSingle, Some(key), request, span).await
}

async fn answer(
    app: &App,
    route: Route,
    key: Option<Cow<'_, str>>,
    request: hyper::Request<Incoming>,
    span: Option<&mut Span>,
) -> Response<Full<Bytes>> {
    let form = if route == Route::Evaluate { Form::Native } else { Form::Ofrep };
    let (answer, credential) = match receive(app, form, key.as_deref(), request).await {
        Ok(Received { credential, body, .. }) => {
            let began = Instant::now();
            let answer = decide(app, form, key, &credential, &body, span);
            app.metrics.evaluated(Mode::Single, began.elapsed());
            (answer, credential)
        }
        Err(refused) => refused,
    };
    app.metrics.request(route, answer.status.as_u16());
    let mut response = answer.into_response();
    cors::let_read(&mut response, &credential, app);
    response
}

/// Everything after the last byte was read, in one go: counting happens while the snapshot is held.
fn decide(
    app: &App,
    form: Form,
    path_key: Option<Cow<'_, str>>,
    credential: &Credential,
    body: &[u8],
    span: Option<&mut Span>,
) -> Answer {
    let snapshot = app.snapshot.load();
    let opened = match credential.open(&snapshot) {
        Ok(opened) => opened,
        Err(refusal) => return refuse(app, form, path_key.as_deref(), refusal),
    };
    let (sdk_key, environment) = (opened.key, opened.environment);
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
            if entry.flag.is_experiment && outcome.reason == Reason::Split {
                expose(app, environment, &entry.flag, &outcome, &context);
            }
            environment.stats.add(outcome.reason);
            let told = outcome.for_asker(sdk_key.kind);
            if let Some(span) = span {
                span.evaluated(environment, &key, &told, &context);
            }
            Answer::outcome(form, &key, &told, &environment.metadata)
        }
        found => {
            let shown: String = key.chars().take(KEY_CHARS_SHOWN).collect();
            let details = format!("there is no flag '{shown}' in {}", environment.name);
            let outcome = Outcome::error(ErrorCode::FlagNotFound, &details);
            match found {
                Some(hidden) => hidden.flag.cells.add(&outcome, Mode::Single),
                None => sdk_key.requests.add_unknown(&key),
            }
            environment.stats.add(outcome.reason);
            if let Some(span) = span {
                span.evaluated(environment, &key, &outcome, &context);
            }
            Answer::outcome(form, &key, &outcome, &environment.metadata)
        }
    }
}

/// Notes who got which variant of an experiment by chance; what targets and plain rules give says nothing about the
/// variants.
fn expose(app: &App, environment: &Environment, flag: &CountedFlag, outcome: &Outcome<'_>, context: &Context<'_>) {
    let (Some(unit_key), Some(variant)) = (&environment.unit_key, outcome.variant_index) else { return };
    if !app.counters.gathers_experiments() {
        return;
    }
    let Some(Unit { attribute, key }) = flag.flag.unit(outcome.place, context) else { return };
    let unit = count::unit(unit_key, attribute, &key);
    if let Some(exposure) = app.counters.expose(&flag.cells, outcome.place, variant, unit) {
        app.metrics.exposed(exposure);
    }
}
