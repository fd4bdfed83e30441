//! What can go wrong in the language of the product, and its only translation to HTTP.

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use shared::model::problem::FieldProblem;
use shared::wire::api::flag::ConfigMerge;
use shared::wire::problem::{self, Problem};
use thiserror::Error;
use time::OffsetDateTime;

use crate::store::StoreError;

/// Why something a person asked for was not done.
#[derive(Debug, Error)]
pub enum AppError {
    /// There is no such thing, or it is not theirs to see.
    #[error("{noun} '{key}' does not exist")]
    NotFound {
        /// What kind of thing.
        noun: &'static str,
        /// Its key as asked for.
        key: String,
    },
    /// Nobody is signed in.
    #[error("sign in first")]
    SignedOut,
    /// A program's token is wrong.
    #[error("{message}")]
    TokenRefused {
        /// Stable, for programs.
        code: &'static str,
        /// What to do about it.
        message: &'static str,
    },
    /// A program asks for what only people may do.
    #[error("only somebody who is signed in may do this; an API token cannot")]
    PeopleOnly,
    /// E-mail or password is wrong.
    #[error("e-mail or password is not right")]
    WrongCredentials,
    /// Too many wrong passwords.
    #[error("too many tries; wait {seconds} s")]
    TooManyTries {
        /// How long to wait.
        seconds: u64,
    },
    /// Their roles do not allow it.
    #[error("this needs {0}; ask somebody who manages members for it")]
    Forbidden(String),
    /// It is not for them to do, whatever their roles.
    #[error("{0}")]
    Refused(String),
    /// It does not fit how things stand now.
    #[error("{message}")]
    Conflict {
        /// Stable, in snake case.
        code: &'static str,
        /// What stands in the way, and the way out.
        message: String,
    },
    /// A write from another site.
    #[error("a write must come from the same site")]
    CrossSite,
    /// Someone else changed it meanwhile.
    #[error("{noun} was changed meanwhile: you saw version {expected}, now it is {actual}; read it again")]
    Stale {
        /// What kind of thing.
        noun: &'static str,
        /// The version that the writer saw.
        expected: u64,
        /// The version now.
        actual: u64,
    },
    /// What was planned is not what would be done now.
    #[error("the project, the file or `remove` is not what was planned; plan again and look at it")]
    PlanChanged,
    /// Too many such large requests at once.
    #[error("others are exporting or importing right now; try again in {seconds} s")]
    Busy {
        /// How long to wait.
        seconds: u64,
    },
    /// Someone else saved the same config meanwhile; both edits can be put together.
    #[error("the config was saved meanwhile by {}: you saw version {expected}, now it is {}; put both together", merge.by, merge.theirs_version)]
    StaleConfig {
        /// The version that the writer saw.
        expected: u64,
        /// What is needed to put both edits together.
        merge: Box<ConfigMerge>,
    },
    /// `If-Match` is needed.
    #[error("send If-Match with the version you saw, as in If-Match: \"3\"")]
    IfMatchMissing,
    /// The key is taken.
    #[error("{noun} '{key}' exists already; choose another key")]
    Exists {
        /// What kind of thing.
        noun: &'static str,
        /// The key.
        key: String,
    },
    /// Something depends on it.
    #[error("{thing} is used by {users}; change these first")]
    InUse {
        /// What.
        thing: String,
        /// By whom.
        users: String,
    },
    /// Nothing changes there at this time.
    #[error("{environment} is frozen until {until} by '{freeze}'; wait until then, or end the freeze")]
    Frozen {
        /// Where.
        environment: String,
        /// The name of the freeze.
        freeze: String,
        /// When it ends, on the clocks of its zone.
        until: String,
        /// The same as a moment.
        until_at: OffsetDateTime,
    },
    /// What is to be undone was changed again; each problem names by what.
    #[error("{}; send force to undo it all the same", invalid_text(.0))]
    Changed(Vec<FieldProblem>),
    /// The input is understood but wrong.
    #[error("{}", invalid_text(.0))]
    Invalid(Vec<FieldProblem>),
    /// The input is not understood.
    #[error("{0}")]
    BadRequest(String),
    /// The body is too large.
    #[error("the body is too large; at most {0} bytes are allowed")]
    TooLarge(usize),
    /// First run is over, or its code is wrong.
    #[error("{0}")]
    SetupClosed(&'static str),
    /// A key came again with another write.
    #[error("this Idempotency-Key was used for another write to the same place; use a new one")]
    IdempotencyKeyReused,
    /// The same write is under way.
    #[error("the same write is under way; ask again in a second")]
    InProgress,
    /// The same write was done, and its answer is not kept.
    #[error(
        "this was done already and made {0}; its answer is not kept, since it showed a secret or was too long. If the secret \
         is lost, replace it there"
    )]
    DoneAlready(String),
    /// The same write began and nobody knows how it ended.
    #[error("this was begun and nobody knows how it ended; look whether it was done, and use a new Idempotency-Key")]
    OutcomeUnknown,
    /// A dependency does not answer.
    #[error("the database does not answer; try again in a few seconds")]
    Unavailable(#[source] StoreError),
    /// A fault of ours.
    #[error("something went wrong on our side; the log has the details")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl AppError {
    /// One wrong field.
    pub fn field(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid(vec![FieldProblem { field: field.into(), message: message.into() }])
    }

    /// No such thing.
    pub fn not_found(noun: &'static str, key: impl ToString) -> Self {
        Self::NotFound { noun, key: key.to_string() }
    }

    /// What cannot be done as things stand.
    pub fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        Self::Conflict { code, message: message.into() }
    }

    /// A fault of ours with its cause.
    pub fn internal(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Internal(cause.into())
    }

    fn status_and_code(&self) -> (StatusCode, &'static str) {
        match self {
            Self::NotFound { .. } => (StatusCode::NOT_FOUND, "not_found"),
            Self::SignedOut => (StatusCode::UNAUTHORIZED, "signed_out"),
            Self::TokenRefused { code, .. } => (StatusCode::UNAUTHORIZED, code),
            Self::PeopleOnly => (StatusCode::FORBIDDEN, "people_only"),
            Self::WrongCredentials => (StatusCode::UNAUTHORIZED, "wrong_credentials"),
            Self::TooManyTries { .. } => (StatusCode::TOO_MANY_REQUESTS, "too_many_tries"),
            Self::Forbidden(_) => (StatusCode::FORBIDDEN, "forbidden"),
            Self::Refused(_) => (StatusCode::FORBIDDEN, "forbidden"),
            Self::CrossSite => (StatusCode::FORBIDDEN, "cross_site"),
            Self::Stale { .. } | Self::StaleConfig { .. } => (StatusCode::PRECONDITION_FAILED, "stale"),
            Self::PlanChanged => (StatusCode::PRECONDITION_FAILED, "plan_changed"),
            Self::Busy { .. } => (StatusCode::TOO_MANY_REQUESTS, "busy"),
            Self::IfMatchMissing => (StatusCode::PRECONDITION_REQUIRED, "if_match_missing"),
            Self::Exists { .. } => (StatusCode::CONFLICT, "exists"),
            Self::InUse { .. } => (StatusCode::CONFLICT, "in_use"),
            Self::Frozen { .. } => (StatusCode::CONFLICT, "frozen"),
            Self::Changed(_) => (StatusCode::CONFLICT, "changed"),
            Self::Conflict { code, .. } => (StatusCode::CONFLICT, code),
            Self::Invalid(_) => (StatusCode::UNPROCESSABLE_ENTITY, "invalid"),
            Self::BadRequest(_) => (StatusCode::BAD_REQUEST, "bad_request"),
            Self::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
            Self::SetupClosed(_) => (StatusCode::FORBIDDEN, "setup_closed"),
            Self::IdempotencyKeyReused => (StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_reused"),
            Self::InProgress => (StatusCode::CONFLICT, "in_progress"),
            Self::DoneAlready(_) => (StatusCode::CONFLICT, "done_already"),
            Self::OutcomeUnknown => (StatusCode::CONFLICT, "outcome_unknown"),
            Self::Unavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
            Self::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        }
    }
}

impl From<StoreError> for AppError {
    fn from(error: StoreError) -> Self {
        if error.is_unavailable() { Self::Unavailable(error) } else { Self::Internal(Box::new(error)) }
    }
}

impl From<sqlx::Error> for AppError {
    fn from(error: sqlx::Error) -> Self {
        StoreError::from(error).into()
    }
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        let (status, code) = self.status_and_code();
        if let Self::Unavailable(_) | Self::Internal(_) = &self {
            tracing::error!(error = %chain(&self), "a request failed");
        }
        let detail = self.to_string();
        let errors =
            if let Self::Invalid(errors) | Self::Changed(errors) = &self { errors.clone() } else { Vec::new() };
        let body = Problem {
            r#type: "about:blank".into(),
            title: status.canonical_reason().unwrap_or("Error").into(),
            status: status.as_u16(),
            code: code.into(),
            detail,
            errors,
            merge: if let Self::StaleConfig { merge, .. } = &self { Some(merge.clone()) } else { None },
        };
        let mut response = (status, axum::Json(body)).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(problem::CONTENT_TYPE));
        match self {
            Self::TooManyTries { seconds } | Self::Busy { seconds } => {
                headers.insert(RETRY_AFTER, HeaderValue::from(seconds))
            }
            Self::InProgress => headers.insert(RETRY_AFTER, HeaderValue::from(1)),
            Self::Unavailable(_) => headers.insert(RETRY_AFTER, HeaderValue::from(2)),
            _ => None,
        };
        response
    }
}

/// An error with all its causes, for the log.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}

fn invalid_text(problems: &[FieldProblem]) -> String {
    let lines: Vec<String> = problems.iter().take(3).map(|p| format!("{}: {}", p.field, p.message)).collect();
    let more = if problems.len() > 3 { format!("; and {} more", problems.len() - 3) } else { String::new() };
    lines.join("; ") + &more
}
