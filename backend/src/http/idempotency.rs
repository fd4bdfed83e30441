//! `Idempotency-Key`: a write that is sent again, because its answer was lost, is not done again.
//!
//! The key is of one actor, method and path, for 24 h. A row is inserted before anything is done, so of two that arrive at
//! once, at whichever backend, one does it. The write then runs to its end even when the client hangs up. Its answer is
//! kept when it is final: what did not work for a passing reason may be tried again under the same key. An answer that
//! shows a secret, sets a cookie or is too long is not kept; only that it was given, and where to find what was made.

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, ETAG, IF_MATCH, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use sha2::{Digest, Sha256};
use time::{Duration, OffsetDateTime};
use tracing::Instrument;
use uuid::Uuid;

use crate::auth::permission::SignedIn;
use crate::error::{AppError, chain};
use crate::http::input::BODY_BYTES_MAX;
use crate::state::AppState;
use crate::store;
use crate::store::idempotency::{Claim, Kept, Known, REMEMBERED};

/// The request's header.
const KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Says that an answer is an old one.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// The longest key, in characters.
const KEY_CHARS_MAX: usize = 255;
/// The longest answer that is kept, in bytes.
const KEPT_BYTES_MAX: usize = 64 * 1024;
/// The longest answer there is, in bytes.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;
/// A write that runs for longer is not believed to run: the backend that did it stopped.
const RUNNING_MAX: Duration = Duration::minutes(2);
/// Where nobody is signed in yet, or is no more afterwards.
const LEFT_OUT: [&str; 2] = ["/api/v1/session", "/api/v1/setup"];
/// Members of an answer that are shown once.
const SECRETS: [&str; 3] = ["secret", "token", "link"];

/// Does a write once per key.
pub async fn once(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let is_left_out = request.method().is_safe() || LEFT_OUT.contains(&request.uri().path());
    if is_left_out || !request.headers().contains_key(&KEY) {
        return next.run(request).await;
    }
    run(state, request, next).await.unwrap_or_else(IntoResponse::into_response)
}

async fn run(state: AppState, request: Request, next: Next) -> Result<Response, AppError> {
    let key = key(request.headers())?;
    let (mut parts, body) = request.into_parts();
    let Ok(who) = SignedIn::from_request_parts(&mut parts, &state).await else {
        // The route says why.
        return Ok(next.run(Request::from_parts(parts, body)).await);
    };
    let body = to_bytes(body, BODY_BYTES_MAX).await.map_err(|_| AppError::TooLarge(BODY_BYTES_MAX))?;
    let (scope, request) = (scope(&parts, &key), fingerprint(&parts, &body));
    let claim = Claim { user: who.user.id, scope, request, owner: state.clock.id::<Uuid>() };
    let now = state.clock.now();
    let known = {
        let mut db = state.pool.acquire().await?;
        store::idempotency::claim(&mut db, &claim, now, now - REMEMBERED).await?
    };
    if let Some(known) = known {
        return replay(known, &claim, now);
    }
    let path = parts.uri.path().to_owned();
    let request = Request::from_parts(parts, Body::from(body));
    // A task of its own, which ends although the client hangs up.
    let task = async move {
        let response = next.run(request).await;
        note(&state, &claim, &path, response).await
    };
    tokio::spawn(task.in_current_span()).await.map_err(AppError::internal)?
}

fn key(headers: &HeaderMap) -> Result<String, AppError> {
    let mut keys = headers.get_all(&KEY).iter();
    let key = keys.next().and_then(|value| value.to_str().ok()).filter(|_| keys.next().is_none());
    let is_key = |text: &&str| (1..=KEY_CHARS_MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
    let problem = || {
        let rule = format!("Idempotency-Key is once 1 to {KEY_CHARS_MAX} visible ASCII characters, such as a UUID");
        AppError::BadRequest(rule)
    };
    key.filter(is_key).map(str::to_owned).ok_or_else(problem)
}

/// Of whose and which route a key is. Programs with tokens of one owner do not meet each other's keys.
fn scope(parts: &Parts, key: &str) -> Vec<u8> {
    let path = parts.uri.path_and_query().map_or("", |path| path.as_str());
    digest([parts.method.as_str().as_bytes(), path.as_bytes(), key.as_bytes(), header(parts, &AUTHORIZATION)])
}

/// What must be the same when a key comes again.
fn fingerprint(parts: &Parts, body: &Bytes) -> Vec<u8> {
    digest([header(parts, &IF_MATCH), header(parts, &CONTENT_TYPE), body.as_ref(), b""])
}

fn header<'a>(parts: &'a Parts, name: &HeaderName) -> &'a [u8] {
    parts.headers.get(name).map_or(b"", HeaderValue::as_bytes)
}

fn digest(texts: [&[u8]; 4]) -> Vec<u8> {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    }
    hash.finalize().to_vec()
}

/// What a key that was used before answers.
fn replay(known: Known, claim: &Claim, now: OffsetDateTime) -> Result<Response, AppError> {
    if known.request != claim.request {
        return Err(AppError::IdempotencyKeyReused);
    }
    match (known.state.as_str(), known.body) {
        ("kept", Some(body)) => {
            let status = known.status.and_then(|status| u16::try_from(status).ok());
            let status = status.and_then(|status| StatusCode::from_u16(status).ok());
            let mut response = (status.unwrap_or(StatusCode::OK), body).into_response();
            let headers = response.headers_mut();
            headers.remove(CONTENT_TYPE);
            for (name, text) in [(CONTENT_TYPE, known.content_type), (ETAG, known.etag)] {
                if let Some(value) = text.and_then(|text| HeaderValue::from_str(&text).ok()) {
                    headers.insert(name, value);
                }
            }
            headers.insert(REPLAYED, HeaderValue::from_static("true"));
            Ok(response)
        }
        ("running", _) if now - known.at <= RUNNING_MAX => Err(AppError::InProgress),
        ("running", _) => Err(AppError::OutcomeUnknown),
        _ => Err(AppError::DoneAlready(known.made.unwrap_or_default())),
    }
}

/// Notes what a write answered, and passes it on.
async fn note(state: &AppState, claim: &Claim, path: &str, response: Response) -> Result<Response, AppError> {
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, ANSWER_BYTES_MAX).await.map_err(AppError::internal)?;
    if let Err(error) = write_down(state, claim, path, (parts.status, &parts.headers), &body).await {
        // It is done; who asks again is told that this is not known.
        tracing::error!(error = %chain(&error), "what a write answered was not kept");
    }
    Ok(Response::from_parts(parts, Body::from(body)))
}

async fn write_down(
    state: &AppState,
    claim: &Claim,
    path: &str,
    (status, headers): (StatusCode, &HeaderMap),
    body: &Bytes,
) -> Result<(), AppError> {
    let mut db = state.pool.acquire().await?;
    if !is_final(status) {
        return Ok(store::idempotency::give_back(&mut db, claim).await?);
    }
    let answer: Option<Value> = serde_json::from_slice(body).ok();
    let shows_secret = status.is_success() && answer.as_ref().is_some_and(shows_secret);
    if shows_secret || headers.contains_key(SET_COOKIE) || body.len() > KEPT_BYTES_MAX {
        let made = made(path, answer.as_ref());
        return Ok(store::idempotency::finish(&mut db, claim, &made).await?);
    }
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let kept = Kept { status: status.as_u16(), content_type: text(CONTENT_TYPE), etag: text(ETAG), body };
    Ok(store::idempotency::keep(&mut db, claim, &kept).await?)
}

/// Whether the same write would be answered the same: not what has to do with who asks, with a moment, or with us.
fn is_final(status: StatusCode) -> bool {
    status.is_success() || (status.is_client_error() && !matches!(status.as_u16(), 401 | 403 | 408 | 429))
}

/// Whether an answer holds what is shown once: by itself or one level down.
fn shows_secret(answer: &Value) -> bool {
    let Some(members) = answer.as_object() else { return false };
    members.iter().any(|(name, value)| (SECRETS.contains(&name.as_str()) && value.is_string()) || shows_secret(value))
}

/// Where to find what a write made: below a collection by its id, else where the write went.
fn made(path: &str, answer: Option<&Value>) -> String {
    let id = |value: &Value| value.get("id").and_then(Value::as_str).map(str::to_owned);
    let members = || answer.and_then(Value::as_object).into_iter().flat_map(|members| members.values());
    match answer.and_then(id).or_else(|| members().find_map(id)) {
        Some(id) if !path.contains(&id) => format!("{path}/{id}"),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_shown_once_is_found_and_what_was_made_is_named() {
        assert!(shows_secret(&json!({ "secret": "whsec_x", "webhook": {} })));
        assert!(shows_secret(&json!({ "invitation": { "link": "https://…" } })));
        assert!(!shows_secret(&json!({ "secret": null, "name": "secret" })));
        let answer = json!({ "secret": "x", "key": { "id": "k1" } });
        assert_eq!(made("/keys", Some(&answer)), "/keys/k1");
        assert_eq!(made("/keys/k1/rotate", Some(&answer)), "/keys/k1/rotate");
        assert_eq!(made("/import", None), "/import");
    }

    #[test]
    fn texts_that_only_join_alike_are_told_apart() {
        assert_ne!(digest([b"ab", b"c", b"", b""]), digest([b"a", b"bc", b"", b""]));
    }
}
