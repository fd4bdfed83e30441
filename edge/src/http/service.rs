//! Matches the hot endpoints by hand and hands everything else to the router.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::Body as AxumBody;
use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::Response;
use hyper::body::Incoming;
use tower::ServiceExt;

use crate::http::{HttpState, evaluate};
use crate::metrics::Route;

const EVALUATE: &str = "/evaluate";
const OFREP_SINGLE: &str = "/ofrep/v1/evaluate/flags/";

/// A body written by hand, or by the router.
pub(super) type AnswerBody = Either<Full<Bytes>, AxumBody>;

/// Answers one request.
pub(super) async fn serve(
    state: Arc<HttpState>,
    router: Router,
    request: hyper::Request<Incoming>,
) -> Result<Response<AnswerBody>, Infallible> {
    let path = request.uri().path();
    let response = if path == EVALUATE {
        evaluate::evaluate(&state.app, request).await.map(Either::Left)
    } else if path.len() > OFREP_SINGLE.len() && path.starts_with(OFREP_SINGLE) {
        evaluate::evaluate_ofrep(&state.app, OFREP_SINGLE.len(), request).await.map(Either::Left)
    } else {
        let route = if matches!(path, "/livez" | "/readyz" | "/metrics") { Route::Health } else { Route::Other };
        let response = router.oneshot(request).await?;
        state.app.metrics.request(route, response.status().as_u16());
        response.map(Either::Right)
    };
    Ok(response)
}
