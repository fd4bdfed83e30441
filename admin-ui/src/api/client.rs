//! The one place that sends requests, and what can go wrong with them.

use std::cell::RefCell;
use std::rc::Rc;

use gloo_net::http::{Method, Request, RequestBuilder, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use shared::model::problem::FieldProblem;
use shared::wire::problem::Problem;

use crate::route::encode;

/// Where all of it begins.
pub const BASE: &str = "/api/v1";

type Listener = Rc<dyn Fn()>;

thread_local! {
    static UNAUTHORIZED: RefCell<Option<Listener>> = const { RefCell::new(None) };
}

/// Why a request has no answer that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiError {
    /// The backend could not be reached.
    Offline,
    /// The backend refused.
    Refused {
        /// What it said.
        problem: Box<Problem>,
        /// After how many seconds to try again, when it said so.
        retry_after_seconds: Option<u64>,
    },
    /// The answer is of another version.
    Unreadable {
        /// The status.
        status: u16,
        /// What is wrong with it.
        detail: String,
    },
}

impl ApiError {
    /// The HTTP status, when there was an answer.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Offline => None,
            Self::Refused { problem, .. } => Some(problem.status),
            Self::Unreadable { status, .. } => Some(*status),
        }
    }

    /// The stable code of the problem; empty when there is none.
    pub fn code(&self) -> &str {
        match self {
            Self::Refused { problem, .. } => &problem.code,
            Self::Offline | Self::Unreadable { .. } => "",
        }
    }

    /// What is wrong with which field.
    pub fn fields(&self) -> &[FieldProblem] {
        match self {
            Self::Refused { problem, .. } => &problem.errors,
            Self::Offline | Self::Unreadable { .. } => &[],
        }
    }

    /// What a person reads.
    pub fn sentence(&self) -> String {
        match self {
            Self::Offline => "The backend does not answer. Check the connection and try again.".into(),
            Self::Refused { problem, .. } => sentence(&problem.detail),
            Self::Unreadable { status, detail } => {
                format!(
                    "The answer (status {status}) cannot be read: {detail}. Reload the page; it may be of an older version."
                )
            }
        }
    }
}

/// Calls `listener` when a request is answered with 401, except those that ask who is signed in.
pub fn on_unauthorized(listener: impl Fn() + 'static) {
    UNAUTHORIZED.with_borrow_mut(|known| *known = Some(Rc::new(listener)));
}

/// Tells that the session has ended.
pub fn unauthorized() {
    let listener = UNAUTHORIZED.with_borrow(Clone::clone);
    if let Some(listener) = listener {
        listener();
    }
}

/// An address of the API; each segment is encoded by itself.
pub fn path(segments: &[&str]) -> String {
    segments.iter().fold(BASE.to_owned(), |path, segment| path + "/" + &encode(segment))
}

/// Asks for something.
pub async fn get<T: DeserializeOwned>(path: &str) -> Result<T, ApiError> {
    json(send(Request::get(path), None::<&()>).await?).await
}

/// Sends a body and reads the answer.
pub async fn post<B: Serialize, T: DeserializeOwned>(path: &str, body: &B) -> Result<T, ApiError> {
    json(send(Request::post(path), Some(body)).await?).await
}

/// Replaces something that is expected to have a version.
pub async fn put<B: Serialize, T: DeserializeOwned>(path: &str, version: u64, body: &B) -> Result<T, ApiError> {
    let request = Request::put(path).header("If-Match", &format!("\"{version}\""));
    json(send(request, Some(body)).await?).await
}

/// Sends without a body and reads the answer.
pub async fn post_empty<T: DeserializeOwned>(path: &str) -> Result<T, ApiError> {
    json(send(Request::post(path), None::<&()>).await?).await
}

/// Removes something.
pub async fn delete(path: &str) -> Result<(), ApiError> {
    send(RequestBuilder::new(path).method(Method::DELETE), None::<&()>).await.map(|_| ())
}

async fn send<B: Serialize>(request: RequestBuilder, body: Option<&B>) -> Result<Response, ApiError> {
    let request = request.header("Accept", "application/json, application/problem+json");
    let request = match body {
        Some(body) => request.json(body),
        None => request.build(),
    };
    let request = request.map_err(|error| ApiError::Unreadable { status: 0, detail: error.to_string() })?;
    let is_session = request.url().ends_with("/session");
    let response = request.send().await.map_err(|_| ApiError::Offline)?;
    if response.ok() {
        return Ok(response);
    }
    if response.status() == 401 && !is_session {
        unauthorized();
    }
    Err(refusal(response).await)
}

async fn refusal(response: Response) -> ApiError {
    let status = response.status();
    let retry_after_seconds = response.headers().get("retry-after").and_then(|text| text.trim().parse().ok());
    let text = response.text().await.unwrap_or_default();
    match serde_json::from_str::<Problem>(&text) {
        Ok(problem) => ApiError::Refused { problem: Box::new(problem), retry_after_seconds },
        // A proxy between browser and backend answers in its own words.
        Err(_) if matches!(status, 502..=504) => ApiError::Offline,
        Err(error) => ApiError::Unreadable { status, detail: error.to_string() },
    }
}

async fn json<T: DeserializeOwned>(response: Response) -> Result<T, ApiError> {
    let status = response.status();
    let text = response.text().await.map_err(|_| ApiError::Offline)?;
    serde_json::from_str(&text).map_err(|error| ApiError::Unreadable { status, detail: error.to_string() })
}

/// The backend's messages are lower-case without a full stop; here they are sentences.
pub fn sentence(message: &str) -> String {
    let mut chars = message.chars();
    let text: String = chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect());
    if text.is_empty() || text.ends_with(['.', '!', '?']) { text } else { text + "." }
}
