//! Health and metrics.

use crate::http::health::{Liveness, Readiness};

/// Says that the process runs.
#[utoipa::path(get, path = "/livez", tag = "operation",
               responses((status = 200, description = "It runs.", body = Liveness)))]
#[expect(dead_code, reason = "carries the description")]
pub(super) fn show_liveness() {}

/// Says whether requests should be sent here.
#[utoipa::path(get, path = "/readyz", tag = "operation",
               responses(
                   (status = 200, description = "Everything answered from is confirmed by a live feed.", body = Readiness),
                   (status = 503, description = "See `reason`. Questions are answered all the same once there is state.",
                    body = Readiness,
                    example = json!({"ready": false, "reason": "stale: answers come from memory, the feed is not live",
                                     "stale": true, "environments":
                                     [{"name": "shop/production", "revision": 413, "stale": true}]})),
               ))]
#[expect(dead_code, reason = "carries the description")]
pub(super) fn show_readiness() {}

/// Shows the figures, in Prometheus's text format.
#[utoipa::path(get, path = "/metrics", tag = "operation",
               responses((status = 200, description = "Every figure stands in the README.", body = String,
                          content_type = "text/plain; version=0.0.4; charset=utf-8",
                          example = json!("# HELP fluxgate_edge_nats_connected 1 while the connection to NATS stands.\n# TYPE fluxgate_edge_nats_connected gauge\nfluxgate_edge_nats_connected 1\n"))))]
#[expect(dead_code, reason = "carries the description")]
pub(super) fn show_metrics() {}
