//! The description of the API and its pages, with nothing loaded from elsewhere.

use std::sync::Arc;

use axum::Router;
use axum::extract::Path;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use bytes::Bytes;
use utoipa_swagger_ui::Config;

use crate::http::HttpState;
use crate::http::openapi::REVIEWED;

/// Nothing from outside, no inline script or style; what the pages draw with stands in their sheet as `data:`.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// As the pages name it, so that both work behind a proxy that puts something before the path.
const DOCUMENT: &str = "../openapi.json";

/// Whether an address belongs here.
pub(super) fn is_docs(path: &str) -> bool {
    path == "/openapi.json" || path.strip_prefix("/docs").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Their routes. The files lie in the program and are paged in when somebody asks for them.
pub(super) fn router() -> Router<Arc<HttpState>> {
    Router::new()
        .route("/openapi.json", get(show_document))
        .route("/docs", get(|| async { Redirect::to("docs/") }))
        .route("/docs/", get(|| async { show_page("index.html") }))
        .route("/docs/{file}", get(|Path(file): Path<String>| async move { show_page(&file) }))
}

async fn show_document() -> Response {
    (headers("application/json"), REVIEWED).into_response()
}

fn show_page(file: &str) -> Response {
    // Fails only when the pages' own settings cannot be written as JSON, which are one address.
    match utoipa_swagger_ui::serve(file, Arc::new(Config::from(DOCUMENT))) {
        Ok(Some(found)) => {
            let headers = headers(&found.content_type);
            // Nearly every file is given out from where it lies.
            let body = match found.bytes {
                std::borrow::Cow::Borrowed(bytes) => Bytes::from_static(bytes),
                std::borrow::Cow::Owned(bytes) => bytes.into(),
            };
            (headers, body).into_response()
        }
        Ok(None) | Err(_) => StatusCode::NOT_FOUND.into_response(),
    }
}

fn headers(content_type: &str) -> HeaderMap {
    let fixed: [(HeaderName, &'static str); 4] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, "no-cache"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    let mut headers: HeaderMap =
        fixed.into_iter().map(|(name, value)| (name, HeaderValue::from_static(value))).collect();
    if let Ok(kind) = HeaderValue::from_str(content_type) {
        headers.insert(CONTENT_TYPE, kind);
    }
    headers
}
