//! `POST /track`: what users did, for the metrics of experiments.
//!
//! An event is told under every unit that an experiment may divide its user by, since which experiments it counts for is
//! decided where it is added up. The user's name goes no further than this.

mod request;

use std::sync::atomic::Ordering;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::{Response, StatusCode};
use shared::evaluation::{Context, ErrorCode, TARGETING_KEY, Value, key_in};
use shared::model::key::EventName;
use uuid::Uuid;

use crate::app::App;
use crate::count::{self, EVENTS_WAITING_MAX, Tracked};
use crate::http::answer::{Answer, Form};
use crate::http::cors;
use crate::http::receive::{Received, receive, refuse};
use crate::metrics::Route;
use crate::sdk_key::Credential;
use crate::snapshot::Environment;
use request::TrackRequest;

/// Values are between this and its negative, so that sums of very many stay numbers.
const VALUE_MAX: f64 = 1e12;
const CHARS_SHOWN: usize = 60;

/// Answers `POST /track`.
pub(super) async fn track(app: &App, request: hyper::Request<Incoming>) -> Response<Full<Bytes>> {
    let (answer, credential) = match receive(app, Form::Ofrep, None, request).await {
        Ok(Received { credential, body, .. }) => (take(app, &credential, &body), credential),
        Err((answer, credential)) => (Err(answer), credential),
    };
    let mut response = match answer {
        Ok(()) => {
            let mut response = Response::new(Full::default());
            *response.status_mut() = StatusCode::NO_CONTENT;
            response
        }
        Err(answer) => answer.into_response(),
    };
    app.metrics.request(Route::Track, response.status().as_u16());
    cors::let_read(&mut response, &credential, app);
    response
}

/// Takes an event whole, or says why not.
fn take(app: &App, credential: &Credential, body: &[u8]) -> Result<(), Answer> {
    let snapshot = app.snapshot.load();
    let opened = credential.open(&snapshot).map_err(|refusal| refuse(app, Form::Ofrep, None, refusal))?;
    opened.key.requests.add();
    let request = TrackRequest::parse(body)
        .map_err(|error| bad(ErrorCode::ParseError.as_str(), &format!("the body cannot be read: {error}")))?;
    let (event, value) = (event(&request)?, value(&request)?);
    let context = request.context.as_ref();
    let context = context.ok_or_else(|| bad(ErrorCode::InvalidContext.as_str(), "the context is not a JSON object"))?;
    if key_in(context, TARGETING_KEY).is_none() {
        let details =
            "the context's targetingKey is missing, empty, or neither a text nor a whole number; name who did it";
        return Err(bad(ErrorCode::TargetingKeyMissing.as_str(), details));
    }
    let tracked = match &opened.environment.unit_key {
        Some(unit_key) => {
            let units = units(opened.environment, unit_key, context);
            app.counters.track(opened.environment.id, &event, &units, value)
        }
        None => Tracked::Ignored,
    };
    match tracked {
        Tracked::Taken => Ok(()),
        Tracked::Ignored => {
            app.metrics.events_ignored.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
        Tracked::Full => {
            app.metrics.events_refused.fetch_add(1, Ordering::Relaxed);
            let details = format!("as many events wait to be brought home as there is room for ({EVENTS_WAITING_MAX})");
            let (status, code) = (StatusCode::SERVICE_UNAVAILABLE, ErrorCode::General);
            Err(Answer::error(status, Form::Ofrep, None, code, &details, None))
        }
    }
}

fn event(request: &TrackRequest<'_>) -> Result<EventName, Answer> {
    let invalid = |details: &str| bad("INVALID_EVENT_NAME", details);
    match &request.event_name {
        Some(Value::Text(name)) => name.parse().map_err(|error| invalid(&format!("eventName: {error}"))),
        Some(other) => Err(invalid(&format!("eventName: {} is not a text; {}", shown(other), EventName::RULE))),
        None => Err(invalid("eventName is missing; name what was done as {\"eventName\":\"purchase\"}")),
    }
}

/// The value told with an event, 0 without any.
fn value(request: &TrackRequest<'_>) -> Result<f64, Answer> {
    let number = match &request.value {
        None => Some(0.0),
        Some(Value::Number(number)) => Some(number.as_f64()).filter(|number| number.abs() <= VALUE_MAX),
        Some(_) => None,
    };
    number.ok_or_else(|| {
        let shown = request.value.as_ref().map(shown).unwrap_or_default();
        bad("INVALID_VALUE", &format!("value: {shown} cannot be it; use a number from -1e12 to 1e12, or leave it out"))
    })
}

/// What a message repeats of a value that a client made up.
fn shown(value: &Value<'_>) -> String {
    value.to_json().chars().take(CHARS_SHOWN).collect()
}

/// Everything that an experiment of the environment may know the user by.
fn units(environment: &Environment, unit_key: &Uuid, context: &Context<'_>) -> Vec<u64> {
    let attributes = environment.unit_attributes().iter();
    attributes.filter_map(|name| Some(count::unit(unit_key, name, &key_in(context, name)?))).collect()
}

fn bad(code: &'static str, details: &str) -> Answer {
    Answer::refusal(StatusCode::BAD_REQUEST, Form::Ofrep, None, code, details, None)
}

#[cfg(test)]
mod tests {
    use hyper::HeaderMap;
    use hyper::header::HeaderValue;
    use serde_json::{Value, json};
    use sha2::{Digest, Sha256};
    use shared::wire::bundle::Bundle;
    use shared::wire::state::{Entity, StateKey};

    use super::*;
    use crate::count::{Accumulator, Balance};
    use crate::{bundle, config, feed};

    /// An app of one environment that gathers, and a key of it.
    fn app() -> (App, Credential) {
        let id = Uuid::from_u128(1);
        let hash: String = Sha256::digest("fg_srv_test").iter().map(|byte| format!("{byte:02x}")).collect();
        let key = |entity| StateKey { environment: id.into(), entity }.to_string();
        let named = json!({"project": "shop", "key": "production", "unit_key": id});
        let bundle = json!({"kind": "fluxgate-bundle", "format": 1, "exported_at": "2026-12-01T10:00:00Z", "values": {
            key(Entity::Environment): {"format": 1, "revision": 1, "body": named},
            key(Entity::SdkKey(id.into())): {"format": 1, "revision": 1, "body": {"hash": hash, "kind": "server"}},
        }});
        let bundle = Bundle::parse(bundle.to_string().as_bytes()).expect("a bundle");
        let app = App::new(&config::Cache { assignment_max_capacity: 0 });
        feed::answer_from(&app, &bundle::records(bundle));
        let mut headers = HeaderMap::new();
        headers.insert("x-api-key", HeaderValue::from_static("fg_srv_test"));
        (app, Credential::of(&headers))
    }

    #[test]
    fn when_too_much_waits_nothing_is_taken_and_the_client_told_to_come_again() {
        let (app, credential) = app();
        let event = br#"{"eventName":"seen","context":{"targetingKey":"u1"}}"#;
        assert!(take(&app, &credential, event).is_ok());
        let units: Vec<u64> = (0..EVENTS_WAITING_MAX as u64 - 1).collect();
        let name = "seen".parse().expect("a name");
        assert_eq!(app.counters.track(Uuid::from_u128(1).into(), &name, &units, 0.0), Tracked::Taken);
        let response = take(&app, &credential, event).expect_err("no room").into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(response.headers().contains_key("retry-after"));
        assert_eq!(app.metrics.events_refused.load(Ordering::Relaxed), 1);
        // What was gathered makes room in a closed batch, and then for the next.
        let mut open = Accumulator::default();
        app.counters.harvest(1, &mut open);
        app.counters.settle(Balance::default(), open.exposures(), open.events());
        assert!(take(&app, &credential, event).is_err());
        open.close_next();
        app.counters.settle(Balance::default(), open.exposures(), open.events());
        assert!(take(&app, &credential, event).is_ok());
    }

    #[test]
    fn a_refusal_names_what_was_sent_and_what_is_wanted() {
        let (app, credential) = app();
        let long = "x".repeat(500);
        let body = json!({"eventName": long, "context": {"targetingKey": "u1"}}).to_string();
        let refused = take(&app, &credential, body.as_bytes()).expect_err("refused");
        let body: Value = serde_json::from_slice(&refused.body).expect("JSON");
        let details = body["errorDetails"].as_str().expect("details");
        assert!(details.contains("eventName") && details.len() < 250, "{details}");
    }
}
