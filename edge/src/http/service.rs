//! Matches the hot endpoints by hand and hands everything else to the router.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::Body as AxumBody;
use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::{Method, Response};
use tower::ServiceExt;

use crate::http::log::Answered;
use crate::http::{HttpState, bulk, cors, docs, evaluate, receive, stream, track};
use crate::metrics::Route;
use crate::trace::{Parent, Span};

const EVALUATE: &str = "/evaluate";
const TRACK: &str = "/track";
const OFREP_SINGLE: &str = "/ofrep/v1/evaluate/flags/";
const OFREP_BULK: &str = "/ofrep/v1/evaluate/flags";

/// A body written by hand, or by the router.
pub(super) type AnswerBody = Either<Full<Bytes>, AxumBody>;

/// Answers one request, and says of it what is to be said.
pub(super) async fn serve(
    state: &Arc<HttpState>,
    router: &Router,
    request: hyper::Request<Incoming>,
) -> Result<Response<AnswerBody>, Infallible> {
    let path = request.uri().path();
    let extra = extra_slashes(path);
    let route = route_of(&path[extra..]);
    let method = request.method().clone();
    let began = state.log.begin();
    let parent = Parent::of(request.headers());
    let tracer = state.tracer.as_ref().filter(|_| is_traced(route));
    let mut span = tracer.and_then(|tracer| tracer.begin(route, &method, path, parent));
    let key_at = OFREP_SINGLE.len() + extra;
    let mut response = answer(state, router, route, key_at, request, span.as_deref_mut()).await?;
    if state.app.is_stopping() {
        // The client opens its next connection elsewhere, before this one is closed under a request of its.
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let status = response.status().as_u16();
    let trace = span.as_ref().map(|span| span.trace()).or(parent.map(|parent| parent.trace));
    if let (Some(tracer), Some(span)) = (tracer, span) {
        tracer.end(span, status);
    }
    state.log.answered(Answered { method, route, status, trace, began });
    Ok(response)
}

async fn answer(
    state: &Arc<HttpState>,
    router: &Router,
    route: Route,
    key_at: usize,
    request: hyper::Request<Incoming>,
    span: Option<&mut Span>,
) -> Result<Response<AnswerBody>, Infallible> {
    let app = &state.app;
    if matches!(route, Route::Health | Route::Docs | Route::Other) {
        let response = router.clone().oneshot(request).await?;
        app.metrics.request(route, response.status().as_u16());
        return Ok(response.map(Either::Right));
    }
    if request.method() == Method::OPTIONS {
        let methods = if route == Route::Stream { stream::GET } else { receive::POST };
        app.metrics.request(route, 204);
        return Ok(cors::preflight(methods).map(Either::Left));
    }
    Ok(match route {
        Route::Evaluate => evaluate::evaluate(app, request, span).await.map(Either::Left),
        Route::OfrepBulk => bulk::evaluate(app, request, span).await.map(Either::Left),
        Route::Track => track::track(app, request).await.map(Either::Left),
        Route::Stream => stream::open(state, &request.into_parts().0).map(Either::Right),
        _ => evaluate::evaluate_ofrep(app, key_at, request, span).await.map(Either::Left),
    })
}

/// Slashes at the begin beyond the first: clients set one before the path of a base URL that ends in one already.
fn extra_slashes(path: &str) -> usize {
    path.bytes().take_while(|byte| *byte == b'/').count().saturating_sub(1)
}

/// What is asked for, as metrics and spans name it.
fn route_of(path: &str) -> Route {
    match path {
        EVALUATE => Route::Evaluate,
        TRACK => Route::Track,
        OFREP_BULK => Route::OfrepBulk,
        stream::PATH => Route::Stream,
        _ if path.starts_with(OFREP_SINGLE) => Route::OfrepSingle,
        "/livez" | "/readyz" | "/metrics" => Route::Health,
        _ if docs::is_docs(path) => Route::Docs,
        _ => Route::Other,
    }
}

/// Probes and scrapes would fill a trace store with nothing, and a stream lasts for hours.
fn is_traced(route: Route) -> bool {
    matches!(route, Route::Evaluate | Route::OfrepSingle | Route::OfrepBulk)
}
