//! `GET /ofrep/v1/stream`: tells clients that hold all flags to fetch them again.
//!
//! A stream carries notices, never answers. It sends one when its environment switched, when a condition on `$now`
//! turned, and at once when the client's `Last-Event-ID` is not where the environment is. Notices are held back a little,
//! by chance and the longer the more streams there are: several changes become one notice, and clients do not all come
//! in the same instant. The waits before reconnecting are spread for the same reason.

mod event;
pub(super) mod token;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body as AxumBody;
use bytes::Bytes;
use futures::stream::unfold;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, ORIGIN, RETRY_AFTER};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use percent_encoding::percent_decode_str;
use shared::evaluation::ErrorCode;
use shared::model::id::SdkKeyId;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Instant, sleep_until};

use crate::clock;
use crate::http::HttpState;
use crate::http::answer::{Answer, Form};
use crate::http::cors;
use crate::http::receive::refuse;
use crate::metrics::Route;
use crate::sdk_key::{Opened, Refusal, admit};
use crate::snapshot::Snapshot;
use event::EventId;

/// Where streams are.
pub(super) const PATH: &str = "/ofrep/v1/stream";
/// What streams are asked by.
pub(super) const GET: &str = "GET, HEAD, OPTIONS";
const TOKEN_PARAMETER: &str = "t=";
const LAST_EVENT_ID: &str = "last-event-id";
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);
/// A notice waits so long for others, at least.
const GATHER_MIN: Duration = Duration::from_millis(10);
/// And by chance up to so much more for every thousand streams, but never more than the maximum.
const GATHER_PER_THOUSAND: Duration = Duration::from_millis(50);
const GATHER_MAX: Duration = Duration::from_millis(500);
/// Clients come back after so long, and by chance up to so much later for every thousand streams.
const RETRY_MIN: Duration = Duration::from_secs(1);
const RETRY_SPREAD_MIN: Duration = Duration::from_secs(4);
const RETRY_PER_THOUSAND: Duration = Duration::from_secs(1);
/// Clients of OpenFeature give a stream up that is not back after 30 seconds.
const RETRY_SPREAD_MAX: Duration = Duration::from_secs(20);
/// A client that opens its first stream may have fetched its flags so long ago, and missed a change in between.
const FIRST_FETCH_AGE_MAX: Duration = Duration::from_secs(60);
/// When a client may try again that found no room.
const FULL_RETRY_AFTER: HeaderValue = HeaderValue::from_static("10");

/// Path and query of a key's stream.
pub(super) fn address(opened: &Opened<'_>, now_ms: i64) -> String {
    format!("{PATH}?{TOKEN_PARAMETER}{}", token::issue(opened.key.id, &opened.hash, now_ms))
}

/// Opens a stream, or says why not.
pub(super) fn open(state: &Arc<HttpState>, head: &Parts) -> Response<AxumBody> {
    let origin = head.headers.get(ORIGIN);
    let mut response = match begin(state, head) {
        Ok(events) if head.method == Method::HEAD => {
            drop(events);
            stream(AxumBody::from_stream(futures::stream::empty::<Result<Bytes, std::io::Error>>()))
        }
        Ok(events) => stream(AxumBody::from_stream(unfold(events, |mut events| async {
            let text = events.next().await?;
            Some((Ok::<_, std::io::Error>(Bytes::from(text)), events))
        }))),
        Err(answer) => {
            let is_full = answer.status == StatusCode::TOO_MANY_REQUESTS;
            let mut response = answer.into_response().map(AxumBody::new);
            if is_full {
                response.headers_mut().insert(RETRY_AFTER, FULL_RETRY_AFTER);
            }
            response
        }
    };
    if let Some(origin) = origin {
        // What can be opened at all may be read by the page: the token was checked against its origin.
        cors::allow(&mut response, origin);
    }
    state.app.metrics.request(Route::Stream, response.status().as_u16());
    response
}

fn stream(body: AxumBody) -> Response<AxumBody> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    // Proxies after nginx's kind would hold events back until a buffer is full.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

fn begin(state: &Arc<HttpState>, head: &Parts) -> Result<Events, Answer> {
    let error = |status, details: &str| Answer::error(status, Form::Ofrep, None, ErrorCode::General, details, None);
    if head.method != Method::GET && head.method != Method::HEAD {
        return Err(Answer::method_not_allowed(Form::Ofrep, None, GET));
    }
    let refused = |refusal| refuse(&state.app, Form::Ofrep, None, refusal);
    // Subscribed before the snapshot is looked at, so that no swap falls in between.
    let swaps = state.app.swaps();
    let now_ms = clock::now_ms();
    let snapshot = state.app.snapshot.load();
    let opened = open_token(head, &snapshot, now_ms).map_err(refused)?;
    let permit = Arc::clone(&state.streams).try_acquire_owned().map_err(|_| {
        error(
            StatusCode::TOO_MANY_REQUESTS,
            "this edge has as many event streams as it takes (EDGE_SERVER__STREAMS_MAX)",
        )
    })?;
    let (id, _) = EventId::around(opened.environment, now_ms);
    let last = head.headers.get(LAST_EVENT_ID).and_then(|value| value.to_str().ok()?.trim().parse::<EventId>().ok());
    let is_current = match last {
        Some(last) => last >= id,
        None => now_ms - opened.environment.swapped_at_ms.max(id.boundary_ms) > FIRST_FETCH_AGE_MAX.as_millis() as i64,
    };
    // A client that comes from an edge further on is told nothing before this one is as far.
    let told = last.map_or(id, |last| last.max(id));
    state.app.metrics.streams.fetch_add(1, Ordering::Relaxed);
    let mut events = Events {
        state: Arc::clone(state),
        key: opened.key.id,
        origin: head.headers.get(ORIGIN).cloned(),
        told,
        is_greeted: false,
        due: None,
        heartbeat: Instant::now() + HEARTBEAT_INTERVAL,
        swaps,
        _permit: permit,
    };
    if !is_current {
        events.gather();
    }
    Ok(events)
}

fn open_token<'s>(head: &Parts, snapshot: &'s Snapshot, now_ms: i64) -> Result<Opened<'s>, Refusal> {
    if snapshot.environments.is_empty() {
        return Err(Refusal::NotReady);
    }
    let pairs = head.uri.query().into_iter().flat_map(|query| query.split('&'));
    let token = pairs.filter_map(|pair| pair.strip_prefix(TOKEN_PARAMETER)).next().unwrap_or_default();
    let token = percent_decode_str(token).decode_utf8_lossy();
    let (hash, key) = token::verify(&token, snapshot, now_ms)?;
    admit(snapshot, *hash, key, head.headers.get(ORIGIN))
}

/// One client's stream.
struct Events {
    state: Arc<HttpState>,
    key: SdkKeyId,
    origin: Option<HeaderValue>,
    /// What the client was told last, or had when it came.
    told: EventId,
    is_greeted: bool,
    /// When a notice is sent that is being held back.
    due: Option<Instant>,
    heartbeat: Instant,
    swaps: watch::Receiver<()>,
    _permit: OwnedSemaphorePermit,
}

impl Events {
    /// What is to be sent next, when it is; `None` ends the stream.
    async fn next(&mut self) -> Option<String> {
        if !self.is_greeted {
            self.is_greeted = true;
            let id = Some(self.told).filter(|_| self.due.is_none());
            return Some(event::greeting(id, self.retry_ms()));
        }
        loop {
            let (now, boundary) = self.look()?;
            if self.due.is_some_and(|due| due <= now) {
                self.due = None;
                return Some(self.notice());
            }
            if self.heartbeat <= now {
                self.heartbeat = now + HEARTBEAT_INTERVAL;
                return Some(event::HEARTBEAT.into());
            }
            let until = [self.due, boundary].into_iter().flatten().fold(self.heartbeat, Instant::min);
            tokio::select! {
                biased;
                () = self.state.stop.cancelled() => return None,
                swapped = self.swaps.changed() => swapped.ok()?,
                () = sleep_until(until) => {}
            }
        }
    }

    /// Looks at the environment: holds a notice ready when the client is not where it is. Returns the time and when the
    /// next condition on `$now` turns; `None` when the key opens nothing any more.
    fn look(&mut self) -> Option<(Instant, Option<Instant>)> {
        let (now, now_ms) = (Instant::now(), clock::now_ms());
        let app = Arc::clone(&self.state.app);
        let snapshot = app.snapshot.load();
        let (hash, key) = snapshot.keys.find(self.key)?;
        let opened = admit(&snapshot, *hash, key, self.origin.as_ref()).ok()?;
        let (id, after) = EventId::around(opened.environment, now_ms);
        if id > self.told {
            self.told = id;
            self.gather();
        }
        let wait = |at: i64| Duration::from_millis(at.saturating_sub(now_ms).unsigned_abs());
        Some((now, after.and_then(|at| now.checked_add(wait(at)))))
    }

    /// Holds a notice back for a while, unless one is already.
    fn gather(&mut self) {
        let spread = (GATHER_PER_THOUSAND * self.count() / 1000).min(GATHER_MAX - GATHER_MIN);
        self.due.get_or_insert_with(|| Instant::now() + GATHER_MIN + clock::jitter(spread));
    }

    fn notice(&mut self) -> String {
        let app = &self.state.app;
        app.metrics.stream_events.fetch_add(1, Ordering::Relaxed);
        let snapshot = app.snapshot.load();
        let environment = snapshot.keys.find(self.key).and_then(|(_, key)| snapshot.environments.get(&key.environment));
        let swapped_at_ms = environment.map_or(0, |environment| environment.swapped_at_ms);
        event::refetch(self.told, self.retry_ms(), swapped_at_ms)
    }

    fn retry_ms(&self) -> u64 {
        let spread = (RETRY_PER_THOUSAND * self.count() / 1000).clamp(RETRY_SPREAD_MIN, RETRY_SPREAD_MAX);
        u64::try_from((RETRY_MIN + clock::jitter(spread)).as_millis()).unwrap_or(u64::MAX)
    }

    /// How many streams there are.
    fn count(&self) -> u32 {
        u32::try_from(self.state.app.metrics.streams.load(Ordering::Relaxed)).unwrap_or(u32::MAX)
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.state.app.metrics.streams.fetch_sub(1, Ordering::Relaxed);
    }
}
