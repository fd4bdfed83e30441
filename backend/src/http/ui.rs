//! Serves the web UI as `cargo xtask ui` built it: pre-compressed, hashed names for ever, everything else the shell.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;

use crate::error::AppError;

/// Nothing from outside, no inline script or style.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const SHELL: &str = "index.html";
const FOR_EVER: &str = "public, max-age=31536000, immutable";

/// The files of the UI, read once at start: they are a few MB and never change while the process runs.
#[derive(Debug, Default)]
struct Files {
    by_name: HashMap<String, Bytes>,
}

/// Serves the files of a folder; without one it says that the UI is not built.
pub(super) fn router(folder: Option<PathBuf>) -> Router {
    let files = match folder.as_deref().map(Files::read) {
        None => Files::default(),
        Some(Ok(files)) => files,
        Some(Err(error)) => {
            tracing::error!(error = %error, folder = ?folder, "the web UI cannot be read; build it with `cargo xtask ui`");
            Files::default()
        }
    };
    let files = Arc::new(files);
    Router::new().fallback(move |method: Method, uri: Uri, headers: HeaderMap| {
        let files = files.clone();
        async move { files.answer(&method, &uri, &headers) }
    })
}

impl Files {
    fn read(folder: &Path) -> std::io::Result<Self> {
        let mut by_name = HashMap::new();
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_file()
                && let Some(name) = entry.file_name().to_str()
            {
                by_name.insert(name.to_owned(), Bytes::from(std::fs::read(entry.path())?));
            }
        }
        Ok(Self { by_name })
    }

    fn answer(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Response {
        let path = uri.path().trim_start_matches('/');
        if path.starts_with("api/") || path == "metrics" {
            return AppError::not_found("address", uri.path()).into_response();
        }
        if method != Method::GET && method != Method::HEAD {
            return StatusCode::METHOD_NOT_ALLOWED.into_response();
        }
        if self.by_name.contains_key(path) && path != SHELL && !path.ends_with(".br") && !path.ends_with(".gz") {
            return self.file(path, headers, FOR_EVER);
        }
        if !self.by_name.contains_key(SHELL) {
            return (StatusCode::NOT_FOUND, "the web UI is not built here; run `cargo xtask ui`\n").into_response();
        }
        self.file(SHELL, headers, "no-cache")
    }

    fn file(&self, name: &str, headers: &HeaderMap, cache: &'static str) -> Response {
        let accepted = headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let accepts = |encoding: &str| {
            accepted.split(',').any(|item| {
                let mut parts = item.split(';').map(str::trim);
                parts.next() == Some(encoding) && parts.next() != Some("q=0")
            })
        };
        let mut response = [("br", ".br"), ("gzip", ".gz")]
            .iter()
            .filter(|(encoding, _)| accepts(encoding))
            .find_map(|(encoding, suffix)| {
                let mut response = self.by_name.get(&format!("{name}{suffix}"))?.clone().into_response();
                response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
                Some(response)
            })
            .or_else(|| self.by_name.get(name).map(|bytes| bytes.clone().into_response()))
            .unwrap_or_else(|| StatusCode::NOT_FOUND.into_response());
        let kind = mime_guess::from_path(name).first_or_octet_stream();
        let headers = response.headers_mut();
        if let Ok(kind) = HeaderValue::from_str(kind.as_ref()) {
            headers.insert(CONTENT_TYPE, kind);
        }
        headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
        response
    }
}
