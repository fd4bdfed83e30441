//! What web pages of other origins may ask and read.
//!
//! A page may read an answer when its origin may use the key that was sent. Server keys do not belong into pages, so
//! their answers cannot be read there. A refusal can be read by any page: without that, its code would see a network
//! failure and never learn that its key was revoked.

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW, HeaderValue, VARY,
};
use hyper::{Response, StatusCode};
use shared::model::sdk_key::SdkKeyKind;

use crate::app::App;
use crate::sdk_key::Credential;

/// How long a browser may remember what a preflight said, in seconds; browsers cap it themselves.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");
/// The star stands for every header but `Authorization`, and for older browsers the usual ones are named.
const HEADERS: HeaderValue = HeaderValue::from_static("Authorization, X-API-Key, Content-Type, If-None-Match, *");
const EXPOSED: HeaderValue = HeaderValue::from_static("ETag, Retry-After");

/// Answers `OPTIONS`, which carries no key: what a page may do is decided with the request itself.
pub(super) fn preflight<B: Default>(methods: &'static str) -> Response<B> {
    let mut response = Response::new(B::default());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(ALLOW, HeaderValue::from_static(methods));
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(methods));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
    headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    response
}

/// Lets the page that asked read the answer, where it may.
pub(super) fn let_read<B>(response: &mut Response<B>, credential: &Credential, app: &App) {
    // Requests from elsewhere than pages pass here at the price of one look.
    if let Some(origin) = credential.origin()
        && credential.open(&app.snapshot.load()).map_or(true, |opened| opened.key.kind == SdkKeyKind::Client)
    {
        allow(response, origin);
    }
}

/// Lets a page of this origin read the answer.
pub(super) fn allow<B>(response: &mut Response<B>, origin: &HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    headers.entry(VARY).or_insert(HeaderValue::from_static("Origin"));
}
