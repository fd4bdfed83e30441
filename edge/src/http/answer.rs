//! Answers, written into one buffer.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ALLOW, CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use shared::evaluation::{ErrorCode, Outcome};

/// How long a client should wait before it asks an edge that is not ready again, in whole seconds.
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("2");
/// Room for a usual answer.
const CAPACITY: usize = 256;

/// Which of the two forms of an answer is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `flagKey`, and the reason also with an error.
    Native,
    /// `key`, as OFREP has it.
    Ofrep,
}

/// An answer before it becomes a response.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Vec<u8>,
    /// The rest of the request was not read, so the connection cannot go on.
    pub(super) closes: bool,
    /// The methods that the address takes, when it was asked by another.
    pub(super) allowed: Option<&'static str>,
}

impl Answer {
    /// What a flag answers. An error of the evaluation has its own status.
    pub(super) fn outcome(form: Form, key: &str, outcome: &Outcome<'_>, metadata: &str) -> Self {
        if let Some((code, details)) = outcome.error {
            return Self::error(status_of(code), form, Some(key), code, details, Some(metadata));
        }
        let mut body = Vec::with_capacity(CAPACITY + outcome.value.map_or(0, str::len));
        body.extend_from_slice(key_name(form));
        string(&mut body, key);
        result(&mut body, outcome);
        body.extend_from_slice(b",\"metadata\":{");
        body.extend_from_slice(metadata.as_bytes());
        if let Some(parent) = outcome.blocked_by {
            body.extend_from_slice(b",\"blockedBy\":");
            plain(&mut body, parent);
        }
        body.extend_from_slice(b"}}");
        Self { status: StatusCode::OK, body, closes: false, allowed: None }
    }

    /// An error, with the key where it is known.
    pub(super) fn error(
        status: StatusCode,
        form: Form,
        key: Option<&str>,
        code: ErrorCode,
        details: &str,
        metadata: Option<&str>,
    ) -> Self {
        Self::refusal(status, form, key, code.as_str(), details, metadata)
    }

    /// An error whose code is none of an evaluation.
    pub(super) fn refusal(
        status: StatusCode,
        form: Form,
        key: Option<&str>,
        code: &'static str,
        details: &str,
        metadata: Option<&str>,
    ) -> Self {
        let mut body = Vec::with_capacity(CAPACITY + details.len());
        match key {
            Some(key) => {
                body.extend_from_slice(key_name(form));
                string(&mut body, key);
                body.push(b',');
            }
            None => body.push(b'{'),
        }
        if form == Form::Native {
            body.extend_from_slice(b"\"reason\":\"ERROR\",");
        }
        body.extend_from_slice(b"\"errorCode\":\"");
        body.extend_from_slice(code.as_bytes());
        body.extend_from_slice(b"\",\"errorDetails\":");
        string(&mut body, details);
        if let Some(metadata) = metadata {
            body.extend_from_slice(b",\"metadata\":{");
            body.extend_from_slice(metadata.as_bytes());
            body.push(b'}');
        }
        body.push(b'}');
        Self { status, body, closes: false, allowed: None }
    }

    /// The answer to a method that the address does not take.
    pub(super) fn method_not_allowed(form: Form, key: Option<&str>, allowed: &'static str) -> Self {
        let details = format!("this address takes only {allowed}");
        let answer = Self::error(StatusCode::METHOD_NOT_ALLOWED, form, key, ErrorCode::General, &details, None);
        Self { allowed: Some(allowed), ..answer }
    }

    /// The same answer, after which the connection ends.
    pub(super) fn closing(self) -> Self {
        Self { closes: true, ..self }
    }

    pub(super) fn into_response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(Bytes::from(self.body)));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match self.status {
            StatusCode::SERVICE_UNAVAILABLE => drop(headers.insert(RETRY_AFTER, RETRY_AFTER_SECONDS)),
            StatusCode::UNAUTHORIZED => drop(headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
            _ => {}
        }
        if let Some(allowed) = self.allowed {
            headers.insert(ALLOW, HeaderValue::from_static(allowed));
        }
        if self.closes {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// Writes one flag's answer as an item of the bulk answer. What is the same for all of them stands beside the list, so
/// that an item differs only when its flag's answer does.
pub(super) fn item(out: &mut Vec<u8>, key: &str, outcome: &Outcome<'_>) {
    out.extend_from_slice(key_name(Form::Ofrep));
    // Keys of flags and variants are letters, digits and a few signs: nothing in them needs an escape.
    plain(out, key);
    match outcome.error {
        Some((code, details)) => {
            out.extend_from_slice(b",\"errorCode\":\"");
            out.extend_from_slice(code.as_str().as_bytes());
            out.extend_from_slice(b"\",\"errorDetails\":");
            string(out, details);
        }
        None => {
            result(out, outcome);
            if let Some(parent) = outcome.blocked_by {
                out.extend_from_slice(b",\"metadata\":{\"blockedBy\":");
                plain(out, parent);
                out.push(b'}');
            }
        }
    }
    out.push(b'}');
}

/// Writes value, variant and reason, those that are there.
fn result(out: &mut Vec<u8>, outcome: &Outcome<'_>) {
    if let Some(value) = outcome.value {
        out.extend_from_slice(b",\"value\":");
        out.extend_from_slice(value.as_bytes());
    }
    if let Some(variant) = outcome.variant {
        out.extend_from_slice(b",\"variant\":");
        plain(out, variant);
    }
    out.extend_from_slice(b",\"reason\":\"");
    out.extend_from_slice(outcome.reason.as_str().as_bytes());
    out.push(b'"');
}

/// Writes a JSON string that needs no escape.
fn plain(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

fn status_of(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::FlagNotFound => StatusCode::NOT_FOUND,
        ErrorCode::General => StatusCode::INTERNAL_SERVER_ERROR,
        ErrorCode::ProviderNotReady => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::ParseError | ErrorCode::TargetingKeyMissing | ErrorCode::InvalidContext => StatusCode::BAD_REQUEST,
    }
}

fn key_name(form: Form) -> &'static [u8] {
    match form {
        Form::Native => b"{\"flagKey\":",
        Form::Ofrep => b"{\"key\":",
    }
}

/// Writes a JSON string.
fn string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\')) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            special @ (b'"' | b'\\') => out.extend_from_slice(&[b'\\', special]),
            control => {
                let digit = |value: u8| b"0123456789abcdef"[usize::from(value)];
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&[digit(control >> 4), digit(control & 15)]);
            }
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use shared::evaluation::{Place, Reason};

    use super::*;

    #[test]
    fn a_string_of_any_characters_is_read_back_the_same() {
        let all: String = (0..0x250).filter_map(char::from_u32).chain(['\u{1f600}', '"', '\\']).collect();
        let mut out = Vec::new();
        string(&mut out, &all);
        assert_eq!(serde_json::from_slice::<String>(&out).expect("JSON"), all);
    }

    #[test]
    fn an_absent_value_and_variant_are_left_out_and_a_parent_that_blocks_is_named() {
        let outcome = Outcome {
            value: None,
            variant: None,
            variant_index: None,
            reason: Reason::Disabled,
            error: None,
            place: Place::Blocked,
            blocked_by: Some("b"),
        };
        let answer = Answer::outcome(Form::Ofrep, "a", &outcome, "\"flagSetId\":\"s/p\",\"version\":\"4\"");
        let expected =
            r#"{"key":"a","reason":"DISABLED","metadata":{"flagSetId":"s/p","version":"4","blockedBy":"b"}}"#;
        assert_eq!(String::from_utf8_lossy(&answer.body), expected);
    }
}
