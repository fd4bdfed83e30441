//! `POST /ofrep/v1/evaluate/flags`: all flags that the key may see, for one context.
//!
//! All answers come from one snapshot and one moment. A 304 costs the evaluation alone, and counts nothing.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH, VARY};
use hyper::{HeaderMap, Response, StatusCode};
use shared::evaluation::{self, Context, ErrorCode, Outcome, Query};
use shared::model::sdk_key::SdkKeyKind;
use shared::wire::count::Mode;
use tokio::time::timeout;

use crate::app::App;
use crate::clock;
use crate::http::answer::{self, Answer, Form};
use crate::http::cors;
use crate::http::etag::{ETag, Hash, awaited_revision};
use crate::http::receive::{Received, receive, refuse};
use crate::http::request::Request;
use crate::http::stream::{self, token};
use crate::metrics::{Route, Tally};
use crate::sdk_key::{Credential, Opened};
use crate::snapshot::FlagEntry;
use crate::trace::Span;

/// How long a client that heard of a newer state from another edge waits for it here.
const REVISION_WAIT: Duration = Duration::from_secs(1);
/// Bytes of a flag's item beside key, variant and value.
const ITEM_BYTES: usize = 64;
const PRIVATE: HeaderValue = HeaderValue::from_static("private, no-cache");
const VARIES: HeaderValue = HeaderValue::from_static("Authorization, X-API-Key, Origin");

/// Answers the bulk evaluation.
pub(super) async fn evaluate(
    app: &App,
    request: hyper::Request<Incoming>,
    span: Option<&mut Span>,
) -> Response<Full<Bytes>> {
    let (mut response, credential) = match receive(app, Form::Ofrep, None, request).await {
        Ok(Received { head, credential, body }) => {
            let awaited = awaited_revision(head.uri.query());
            wait_for(app, &credential, awaited).await;
            let began = Instant::now();
            let response = decide(app, &credential, &body, &head.headers, awaited, span);
            app.metrics.evaluated(Mode::Bulk, began.elapsed());
            (response, credential)
        }
        Err((answer, credential)) => (answer.into_response(), credential),
    };
    app.metrics.request(Route::OfrepBulk, response.status().as_u16());
    cors::let_read(&mut response, &credential, app);
    response
}

/// Waits a little until the key's environment has reached the revision.
async fn wait_for(app: &App, credential: &Credential, revision: u64) {
    let is_reached =
        || credential.open(&app.snapshot.load()).map_or(true, |opened| opened.environment.revision >= revision);
    if is_reached() {
        return;
    }
    let mut swaps = app.swaps();
    let reached = async {
        // The sender lives as long as the process.
        while !is_reached() && swaps.changed().await.is_ok() {}
    };
    // What is held is better than nothing, and says its revision.
    let _ = timeout(REVISION_WAIT, reached).await;
}

/// Everything after the last byte was read, in one go: counting happens while the snapshot is held.
fn decide(
    app: &App,
    credential: &Credential,
    body: &[u8],
    headers: &HeaderMap,
    awaited: u64,
    span: Option<&mut Span>,
) -> Response<Full<Bytes>> {
    let snapshot = app.snapshot.load();
    let opened = match credential.open(&snapshot) {
        Ok(opened) => opened,
        Err(refusal) => return refuse(app, Form::Ofrep, None, refusal).into_response(),
    };
    opened.key.requests.add();
    let bad = |code, details: &str| {
        Answer::error(StatusCode::BAD_REQUEST, Form::Ofrep, None, code, details, None).into_response()
    };
    let context = match Request::parse_optional(body) {
        Ok(Request { context: Some(context), .. }) => context,
        Ok(_) => return bad(ErrorCode::InvalidContext, "the context is not a JSON object"),
        Err(error) => return bad(ErrorCode::ParseError, &format!("the body cannot be read: {error}")),
    };
    let now_ms = clock::now_ms();
    // A client that holds something, and nothing older than it asks for, most likely holds this: then no answer is kept.
    if headers.contains_key(IF_NONE_MATCH) && opened.environment.revision >= awaited {
        let tag = answer_each(&opened, &context, now_ms, |_, _| {});
        if tag.is_held(headers) {
            return not_modified(&tag);
        }
    }
    let answers = Answers::decide(&opened, &context, now_ms);
    answers.count(&opened);
    if let Some(span) = span {
        span.evaluated_all(opened.environment, answers.list.len());
    }
    respond(Bytes::from(answers.write(&opened, now_ms)), StatusCode::OK, &answers.tag)
}

/// Decides every flag that the key may see, in the order of their keys.
fn answer_each<'s>(
    opened: &Opened<'s>,
    context: &Context<'_>,
    now_ms: i64,
    mut take: impl FnMut(&'s FlagEntry, Outcome<'s>),
) -> ETag {
    let Opened { key, environment, .. } = *opened;
    let query = Query { context, now_ms, asker: key.kind };
    let mut hash = Hash::new(key.id.uuid().as_u64_pair().1);
    hash.add(token::period(now_ms) as u64);
    hash.add(u64::from(environment.is_stale));
    for entry in environment.flags_sorted() {
        if key.kind == SdkKeyKind::Client && !entry.flag.flag.client_visible {
            continue;
        }
        let outcome = evaluation::evaluate_flag(environment, &entry.flag.flag, entry.is_killed, &query);
        hash.add_answer(entry.flag.digest, &outcome);
        take(entry, outcome);
    }
    ETag::new(environment.revision, hash)
}

/// The answers of all flags, in the order of their keys.
struct Answers<'s> {
    list: Vec<(&'s FlagEntry, Outcome<'s>)>,
    tag: ETag,
    /// About as many bytes as the body will have.
    bytes: usize,
}

impl<'s> Answers<'s> {
    fn decide(opened: &Opened<'s>, context: &Context<'_>, now_ms: i64) -> Self {
        let mut list = Vec::with_capacity(opened.environment.flags.len());
        let mut bytes = 512;
        let tag = answer_each(opened, context, now_ms, |entry, outcome| {
            let (value, variant) = (outcome.value.map_or(0, str::len), outcome.variant.map_or(0, str::len));
            bytes += ITEM_BYTES + entry.flag.flag.key.as_str().len() + value + variant;
            list.push((entry, outcome));
        });
        Self { list, tag, bytes }
    }

    fn count(&self, opened: &Opened<'_>) {
        let mut tally = Tally::default();
        for (entry, outcome) in &self.list {
            entry.flag.cells.add(outcome, Mode::Bulk);
            tally.add(outcome.reason);
        }
        opened.environment.stats.add_all(&tally);
    }

    fn write(&self, opened: &Opened<'_>, now_ms: i64) -> Vec<u8> {
        let mut body = Vec::with_capacity(self.bytes);
        body.extend_from_slice(b"{\"flags\":[");
        for (entry, outcome) in &self.list {
            answer::item(&mut body, entry.flag.flag.key.as_str(), &outcome.for_asker(opened.key.kind));
            body.push(b',');
        }
        if !self.list.is_empty() {
            body.pop();
        }
        body.extend_from_slice(b"],\"metadata\":{");
        body.extend_from_slice(opened.environment.metadata.as_bytes());
        body.extend_from_slice(b"},\"eventStreams\":[{\"type\":\"sse\",\"endpoint\":{\"requestUri\":\"");
        body.extend_from_slice(stream::address(opened, now_ms).as_bytes());
        body.extend_from_slice(b"\"},\"inactivityDelaySec\":120}]}");
        body
    }
}

fn not_modified(tag: &ETag) -> Response<Full<Bytes>> {
    let mut response = respond(Bytes::new(), StatusCode::NOT_MODIFIED, tag);
    response.headers_mut().remove(CONTENT_TYPE);
    response
}

fn respond(body: Bytes, status: StatusCode, tag: &ETag) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, PRIVATE);
    headers.insert(VARY, VARIES);
    // A tag is digits and letters.
    if let Ok(tag) = HeaderValue::from_str(&tag.to_string()) {
        headers.insert(ETAG, tag);
    }
    response
}
