//! Asks an edge, and holds its answers against the description of the API.

use std::collections::BTreeSet;

use jsonschema::Validator;
use reqwest::Method;
use serde_json::Value;

use crate::support::edge::Edge;
use crate::support::publisher::SERVER_KEY;

pub(crate) const SINGLE: &str = "/ofrep/v1/evaluate/flags/{key}";

pub(crate) fn document() -> Value {
    serde_json::to_value(edge::http::openapi::document()).expect("JSON")
}

/// The schema of one answer's body; `None` where it has none, or none in JSON.
fn schema(document: &Value, path: &str, method: &str, status: &str) -> Option<Value> {
    let body = &document["paths"][path][method]["responses"][status]["content"]["application/json"]["schema"];
    let mut schema = body.as_object()?.clone();
    schema.insert("components".into(), document["components"].clone());
    Some(schema.into())
}

pub(crate) fn validator(document: &Value, path: &str, method: &str, status: &str) -> Validator {
    let schema = schema(document, path, method, status);
    let schema = schema.unwrap_or_else(|| panic!("{method} {path} {status} is not described"));
    jsonschema::draft202012::new(&schema).unwrap_or_else(|error| panic!("{method} {path} {status}: {error}"))
}

/// Fails unless a value fits a schema of the document.
pub(crate) fn validate(document: &Value, schema: Value, value: &Value) {
    let mut whole = schema.as_object().expect("a schema").clone();
    whole.insert("components".into(), document["components"].clone());
    let validator = jsonschema::draft202012::new(&whole.into()).expect("a schema");
    assert!(validator.is_valid(value), "{schema}: {value}: {:?}", validator.validate(value));
}

/// Asks and holds the answer against the description: status, content type, promised headers and body.
pub(crate) struct Checker<'e> {
    pub(crate) edge: &'e Edge,
    document: Value,
    seen: BTreeSet<(String, String)>,
}

/// A request: method, described path, path asked, key, one more header, body.
pub(crate) struct Ask<'a> {
    method: Method,
    path: &'a str,
    at: &'a str,
    key: Option<&'a str>,
    header: Option<(&'a str, &'a str)>,
    body: Vec<u8>,
}

impl<'a> Ask<'a> {
    pub(crate) fn post(path: &'a str, at: &'a str, body: impl Into<Vec<u8>>) -> Self {
        Self { method: Method::POST, path, at, key: Some(SERVER_KEY), header: None, body: body.into() }
    }

    pub(crate) fn get(path: &'a str) -> Self {
        Self::get_at(path, path)
    }

    pub(crate) fn get_at(path: &'a str, at: &'a str) -> Self {
        Self { method: Method::GET, path, at, key: None, header: None, body: Vec::new() }
    }

    pub(crate) fn by(self, key: Option<&'a str>) -> Self {
        Self { key, ..self }
    }

    /// From a web page of this origin.
    pub(crate) fn from(self, origin: &'a str) -> Self {
        self.header("origin", origin)
    }

    pub(crate) fn header(self, name: &'a str, value: &'a str) -> Self {
        Self { header: Some((name, value)), ..self }
    }

    /// The method that the path is described with, whatever is asked.
    pub(crate) fn with(self, method: Method) -> Self {
        Self { method, ..self }
    }
}

impl<'e> Checker<'e> {
    pub(crate) fn new(edge: &'e Edge) -> Self {
        Self { edge, document: document(), seen: BTreeSet::new() }
    }

    /// Asks, and hands out the body where it is JSON; the `ETag` comes beside it.
    pub(crate) async fn check(&mut self, status: u16, ask: Ask<'_>) -> (Value, Option<String>) {
        let Ask { method, path, at, key, header, body } = ask;
        let what = format!("{method} {at} by {key:?}");
        let mut request = self.edge.http.request(method, format!("{}{at}", self.edge.address)).body(body);
        if let Some(key) = key {
            request = request.bearer_auth(key);
        }
        if let Some((name, value)) = header {
            request = request.header(name, value);
        }
        let response = request.send().await.expect("an answer");
        assert_eq!(response.status().as_u16(), status, "{what}");
        let operations = self.document["paths"][path].as_object().expect("a described path");
        let (described, operation) = operations.iter().next().expect("an operation");
        let promised = &operation["responses"][status.to_string()];
        assert!(promised.is_object(), "{what}: the status {status} is not described");
        for name in promised["headers"].as_object().into_iter().flat_map(|headers| headers.keys()) {
            assert!(response.headers().contains_key(name), "{what}: {name} is promised: {:?}", response.headers());
        }
        self.seen.insert((path.to_owned(), status.to_string()));
        let kind = response.headers().get("content-type").map(|kind| kind.to_str().expect("text").to_owned());
        let kinds: Vec<_> = promised["content"].as_object().into_iter().flat_map(|kinds| kinds.keys()).collect();
        assert_eq!(kind.iter().collect::<Vec<_>>(), kinds, "{what}");
        let tag = response.headers().get("etag").map(|tag| tag.to_str().expect("text").to_owned());
        if kind.as_deref() != Some("application/json") {
            return (Value::Null, tag);
        }
        let body: Value = response.json().await.expect("JSON");
        let fits = validator(&self.document, path, described, &status.to_string());
        assert!(fits.is_valid(&body), "{what}: {body}: {:?}", fits.validate(&body));
        (body, tag)
    }

    /// Everything described for these paths was answered, apart from what a test cannot bring about in time.
    pub(crate) fn assert_complete(&self, paths: &[&str], untested: &[&str]) {
        for path in paths {
            for (_, operation) in self.document["paths"][path].as_object().expect("a described path") {
                for status in operation["responses"].as_object().expect("responses").keys() {
                    let is_seen = self.seen.contains(&((*path).to_owned(), status.clone()));
                    assert_ne!(is_seen, untested.contains(&status.as_str()), "{path} {status}");
                }
            }
        }
    }
}
