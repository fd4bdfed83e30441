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
