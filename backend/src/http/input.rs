//! Bodies, paths and headers, parsed once at the door with problems that name the field.

use axum::extract::path::ErrorKind;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header::IF_MATCH;
use axum::http::request::Parts;
use bytes::Bytes;
use serde::de::DeserializeOwned;

use crate::error::AppError;

/// The largest body, in bytes. Enough for a config of 10,000-entry lists within the published limit.
pub const BODY_BYTES_MAX: usize = 2 * 1024 * 1024;

/// A JSON body.
#[derive(Debug)]
pub struct Body<T>(pub T);

/// A body that is no JSON, as it came.
#[derive(Debug)]
pub struct Raw(pub Bytes);

/// Path parameters.
#[derive(Debug)]
pub struct Path<T>(pub T);

/// Query parameters.
#[derive(Debug)]
pub struct Query<T>(pub T);

/// The version in `If-Match`.
#[derive(Clone, Copy, Debug)]
pub struct IfMatch(pub u64);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = AppError;

    async fn from_request(request: Request, state: &S) -> Result<Self, AppError> {
        let read = axum::Json::<T>::from_request(request, state).await;
        read.map(|axum::Json(body)| Self(body)).map_err(json_problem)
    }
}

/// Reads JSON that did not come as a body of its own.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, AppError> {
    axum::Json::<T>::from_bytes(bytes).map(|axum::Json(value)| value).map_err(json_problem)
}

impl<S: Send + Sync> FromRequest<S> for Raw {
    type Rejection = AppError;

    async fn from_request(request: Request, state: &S) -> Result<Self, AppError> {
        match Bytes::from_request(request, state).await {
            Ok(bytes) => Ok(Self(bytes)),
            Err(error) if error.status() == 413 => Err(AppError::TooLarge(BODY_BYTES_MAX)),
            Err(error) => Err(AppError::BadRequest(error.body_text())),
        }
    }
}

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, AppError> {
        match axum::extract::Path::<T>::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(path)) => Ok(Self(path)),
            // A key that no thing can have is a thing that does not exist.
            Err(PathRejection::FailedToDeserializePathParams(error)) => match error.kind() {
                ErrorKind::InvalidUtf8InPathParam { key } => {
                    Err(AppError::BadRequest(format!("{key} in the path is not UTF-8")))
                }
                _ => Err(AppError::not_found("thing", parts.uri.path())),
            },
            Err(error) => Err(AppError::internal(error)),
        }
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, AppError> {
        match axum::extract::Query::<T>::from_request_parts(parts, state).await {
            Ok(axum::extract::Query(query)) => Ok(Self(query)),
            Err(QueryRejection::FailedToDeserializeQueryString(error)) => Err(AppError::BadRequest(error.body_text())),
            Err(error) => Err(AppError::BadRequest(error.body_text())),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, AppError> {
        let header = parts.headers.get(IF_MATCH).ok_or(AppError::IfMatchMissing)?;
        let version = header.to_str().ok().and_then(|text| text.trim().trim_matches('"').parse().ok());
        version.map(Self).ok_or(AppError::IfMatchMissing)
    }
}

fn json_problem(rejection: JsonRejection) -> AppError {
    match rejection {
        JsonRejection::BytesRejection(error) if error.status() == 413 => AppError::TooLarge(BODY_BYTES_MAX),
        JsonRejection::MissingJsonContentType(_) => {
            AppError::BadRequest("send the body as JSON with Content-Type: application/json".into())
        }
        JsonRejection::JsonDataError(error) => data_problem(&error.body_text()),
        error => AppError::BadRequest(error.body_text()),
    }
}

/// serde says "path: message"; the path becomes the field.
fn data_problem(text: &str) -> AppError {
    let text = text.strip_prefix("Failed to deserialize the JSON body into the target type: ").unwrap_or(text);
    match text.split_once(": ") {
        Some((field, message)) if !field.contains(' ') => AppError::field(field, message),
        _ => AppError::field("", text),
    }
}
