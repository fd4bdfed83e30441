//! Matches the hot endpoints by hand and hands everything else to the router.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::Body as AxumBody;
use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::{Method, Response};
use tower::ServiceExt;

use crate::http::{HttpState, bulk, cors, evaluate, receive, stream};
use crate::metrics::Route;

const EVALUATE: &str = "/evaluate";
const OFREP_SINGLE: &str = "/ofrep/v1/evaluate/flags/";
const OFREP_BULK: &str = "/ofrep/v1/evaluate/flags";

/// A body written by hand, or by the router.
pub(super) type AnswerBody = Either<Full<Bytes>, AxumBody>;

/// Answers one request.
pub(super) async fn serve(
    state: &Arc<HttpState>,
    router: &Router,
    request: hyper::Request<Incoming>,
) -> Result<Response<AnswerBody>, Infallible> {
    let path = request.uri().path();
    let response = if let Some(route) = route_of_evaluation(path) {
        if request.method() == Method::OPTIONS {
            let methods = if route == Route::Stream { stream::GET } else { receive::POST };
            state.app.metrics.request(route, 204);
            return Ok(cors::preflight(methods).map(Either::Left));
        }
        match route {
            Route::Evaluate => evaluate::evaluate(&state.app, request).await.map(Either::Left),
            Route::OfrepBulk => bulk::evaluate(&state.app, request).await.map(Either::Left),
            Route::Stream => stream::open(state, &request.into_parts().0).map(Either::Right),
            _ => evaluate::evaluate_ofrep(&state.app, OFREP_SINGLE.len(), request).await.map(Either::Left),
        }
    } else {
        let route = if matches!(path, "/livez" | "/readyz" | "/metrics") { Route::Health } else { Route::Other };
        let response = router.clone().oneshot(request).await?;
        state.app.metrics.request(route, response.status().as_u16());
        response.map(Either::Right)
    };
    Ok(response)
}

/// The endpoint of an address that applications ask.
fn route_of_evaluation(path: &str) -> Option<Route> {
    match path {
        EVALUATE => Some(Route::Evaluate),
        OFREP_BULK => Some(Route::OfrepBulk),
        stream::PATH => Some(Route::Stream),
        _ if path.starts_with(OFREP_SINGLE) => Some(Route::OfrepSingle),
        _ => None,
    }
}
