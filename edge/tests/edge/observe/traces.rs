//! Traces: whom the edge follows, what its spans say, and that no collector holds it up.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::trace::v1::Span;
use reqwest::{Response, StatusCode};
use serde_json::json;

use crate::support::collector::{Collector, Mood, attributes};
use crate::support::edge::Edge;
use crate::support::publisher::{SERVER_KEY, boolean};
use crate::support::{World, wait_for};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";
const SINGLE: &str = "/ofrep/v1/evaluate/flags/";
const BULK: &str = "/ofrep/v1/evaluate/flags";

async fn edge_of(world: &World, settings: &[(&str, &str)]) -> Edge {
    world.publisher.put_all(1, &[boolean("checkout", true), boolean("off", false)]).await;
    let edge = world.edge_with(settings).await;
    edge.wait_until_ready().await;
    edge
}

async fn post(edge: &Edge, path: &str, traceparent: Option<&str>, body: String) -> Response {
    let mut request = edge.http.post(format!("{}{path}", edge.address)).bearer_auth(SERVER_KEY).body(body);
    if let Some(traceparent) = traceparent {
        request = request.header("traceparent", traceparent);
    }
    request.send().await.expect("an answer")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn event(span: &Span) -> (&str, BTreeMap<String, String>) {
    assert_eq!(span.events.len(), 1, "{span:?}");
    let event = &span.events[0];
    assert!((span.start_time_unix_nano..=span.end_time_unix_nano).contains(&event.time_unix_nano));
    (&event.name, attributes(&event.attributes))
}

#[tokio::test]
async fn callers_are_followed_and_spans_say_what_the_conventions_ask() {
    let world = World::new().await;
    let collector = Collector::start().await;
    let secrets = tempfile::tempdir().expect("a folder");
    let headers = secrets.path().join("headers");
    std::fs::write(&headers, "x-tenant=shop%20one\n").expect("a file");
    let settings = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()),
        ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test".to_owned()),
        ("EDGE_TRACES__SAMPLE_RATIO", "0".to_owned()),
        ("EDGE_TRACES__HEADERS_FILE", headers.to_str().expect("a path").to_owned()),
    ];
    let edge = edge_of(&world, &settings.each_ref().map(|(name, value)| (*name, value.as_str()))).await;
    let body = || {
        json!({"flagKey": "checkout", "context": {"targetingKey": "hidden-person", "plan": "hidden-plan"}}).to_string()
    };
    let parent = |flags: &str| format!("00-{TRACE}-{PARENT}-{flags}");
    // Neither of these is recorded; were they, they would come before the one that is.
    post(&edge, "/evaluate", None, body()).await;
    post(&edge, "/evaluate", Some(&parent("00")), body()).await;
    post(&edge, "/evaluate?t=hidden-query", Some(&parent("01")), body()).await;
    let span = collector.wait_for("the span arrives", |_| true).await;
    assert_eq!(collector.look(|received| received.spans.len()), 1);
    assert_eq!((hex(&span.trace_id), hex(&span.parent_span_id)), (TRACE.into(), PARENT.into()));
    assert!(span.span_id.len() == 8 && hex(&span.span_id) != PARENT);
    assert_eq!((span.name.as_str(), span.kind, span.flags, &span.status), ("POST /evaluate", 2, 0x301, &None));
    let expected = map(&[
        ("http.request.method", "POST"),
        ("http.response.status_code", "200"),
        ("http.route", "/evaluate"),
        ("url.path", "/evaluate"),
        ("url.scheme", "http"),
    ]);
    assert_eq!(attributes(&span.attributes), expected);
    let expected = map(&[
        ("feature_flag.key", "checkout"),
        ("feature_flag.provider.name", "FluxGate"),
        ("feature_flag.result.reason", "static"),
        ("feature_flag.result.variant", "on"),
        ("feature_flag.set.id", "shop/production"),
        ("feature_flag.version", "1"),
    ]);
    assert_eq!(event(&span), ("feature_flag.evaluation", expected));
    collector.look(|received| {
        let resource = attributes(&received.resources[0].attributes);
        assert_eq!(resource["service.name"], "fluxgate-edge");
        assert_eq!(resource["service.version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(resource["deployment.environment.name"], "test");
        assert_eq!(resource["service.instance.id"].len(), 36);
        assert_eq!(received.headers[0]["x-tenant"], "shop one");
        assert_eq!(received.headers[0]["content-type"], "application/x-protobuf");
        let text = String::from_utf8_lossy(&received.bytes);
        for hidden in ["hidden", SERVER_KEY] {
            assert!(!text.contains(hidden), "{hidden} stands in what was sent");
        }
    });
    // What was recorded last comes home before the process ends.
    post(&edge, BULK, Some(&parent("01")), body()).await;
    edge.stop().await;
    let bulk = collector.look(|received| received.spans.last().cloned()).expect("a span");
    assert_eq!(bulk.name, format!("POST {BULK}"));
    let expected = map(&[
        ("feature_flag.provider.name", "FluxGate"),
        ("feature_flag.set.id", "shop/production"),
        ("feature_flag.version", "1"),
        ("fluxgate.flags", "2"),
    ]);
    assert_eq!(event(&bulk), ("fluxgate.bulk_evaluation", expected));
}

#[tokio::test]
async fn errors_roots_and_the_targeting_key_stand_in_spans_where_they_should() {
    let world = World::new().await;
    let collector = Collector::start().await;
    let url = collector.url();
    let settings = [
        ("EDGE_TRACES__ENDPOINT", url.as_str()),
        ("EDGE_TRACES__SAMPLE_RATIO", "1"),
        ("EDGE_TRACES__TARGETING_KEY", "true"),
    ];
    let edge = edge_of(&world, &settings).await;
    let body = || json!({"context": {"targetingKey": "ada"}}).to_string();
    // Malformed in each of these ways it counts as absent, and a new trace begins.
    for bad in [format!("00-{TRACE}-{PARENT}-1"), format!("00-{TRACE}-{PARENT}-01").to_uppercase(), "00".into()] {
        let path = format!("{SINGLE}nowhere%20{}", bad.len());
        post(&edge, &path, Some(&bad), body()).await;
        let span =
            collector.wait_for("the span arrives", |span| attributes(&span.attributes)["url.path"] == path).await;
        assert!(span.parent_span_id.is_empty() && hex(&span.trace_id) != TRACE && span.trace_id.len() == 16);
        assert_eq!((span.flags, span.name.as_str()), (0x101, "POST /ofrep/v1/evaluate/flags/{key}"));
        assert_eq!(attributes(&span.attributes)["http.response.status_code"], "404");
        assert_eq!(span.status, None, "a client's mistake is no failure of the server");
        let (_, found) = event(&span);
        assert_eq!(found["error.type"], "flag_not_found");
        assert_eq!(found["feature_flag.result.reason"], "error");
        assert!(found["feature_flag.error.message"].contains("nowhere"));
        assert_eq!(found["feature_flag.context.id"], "ada");
        assert!(!found.contains_key("feature_flag.result.variant"));
    }
    for path in ["/livez", "/metrics", "/docs/", "/nowhere"] {
        edge.get(path).await;
    }
    post(&edge, "/evaluate", None, "{".into()).await;
    let broken = collector.wait_for("the last arrives", |span| span.name == "POST /evaluate").await;
    assert!(broken.events.is_empty(), "nothing was evaluated");
    let names = collector.look(|received| received.spans.iter().map(|span| span.name.clone()).collect::<Vec<_>>());
    assert_eq!(names.len(), 4, "health, metrics and the rest have no spans: {names:?}");
    assert_eq!(edge.metric("fluxgate_edge_spans_exported_total").await, 4.0);
}

#[tokio::test]
async fn a_dead_collector_costs_spans_and_nothing_else() {
    let world = World::new().await;
    let mut collector = Collector::down();
    let url = collector.url();
    let edge = edge_of(&world, &[("EDGE_TRACES__ENDPOINT", &url), ("EDGE_TRACES__SAMPLE_RATIO", "1")]).await;
    let dropped = "fluxgate_edge_spans_dropped_total{why=\"collector\"}";
    for mood in [None, Some(Mood::Refusing)] {
        if let Some(mood) = mood {
            collector.go(mood).await;
        }
        let before = edge.metric(dropped).await;
        assert_eq!(edge.evaluate("checkout").await.0, StatusCode::OK);
        wait_for("the span is counted", async || (edge.metric(dropped).await > before).then_some(())).await;
        if mood.is_some() {
            collector.stop().await;
        }
    }
    assert_eq!(edge.metric("fluxgate_edge_spans_exported_total").await, 0.0);
    for _ in 0..2 {
        collector.go(Mood::Well).await;
        wait_for("spans come again", async || {
            assert_eq!(edge.evaluate("checkout").await.0, StatusCode::OK);
            collector.look(|received| !received.spans.is_empty()).then_some(())
        })
        .await;
        // The second time the edge finds the connection gone that it had kept.
        collector.stop().await;
        collector.forget();
    }
}

#[tokio::test]
async fn a_collector_behind_tls_gets_spans_only_when_its_certificate_is_trusted() {
    let world = World::new().await;
    let folder = tempfile::tempdir().expect("a folder");
    let (trusted, other) = (folder.path().join("trusted.pem"), folder.path().join("other.pem"));
    let mut collector = Collector::down();
    std::fs::write(&trusted, collector.go_behind_tls().await).expect("a file");
    let mut stranger = Collector::down();
    std::fs::write(&other, stranger.go_behind_tls().await).expect("a file");
    let url = format!("https://localhost:{}", collector.port);
    for (roots, is_trusted) in [(&other, false), (&trusted, true)] {
        let settings = [
            ("EDGE_TRACES__ENDPOINT", url.as_str()),
            ("EDGE_TRACES__SAMPLE_RATIO", "1"),
            ("SSL_CERT_FILE", roots.to_str().expect("a path")),
        ];
        let edge = edge_of(&world, &settings).await;
        assert_eq!(edge.evaluate("checkout").await.0, StatusCode::OK);
        let figure = if is_trusted { "spans_exported_total" } else { "spans_dropped_total{why=\"collector\"}" };
        wait_for("the span is sent or let go", async || {
            (edge.metric(&format!("fluxgate_edge_{figure}")).await == 1.0).then_some(())
        })
        .await;
        assert_eq!(collector.look(|received| received.spans.len()), usize::from(is_trusted));
    }
}

#[tokio::test]
async fn a_collector_that_hangs_fills_the_queue_and_not_the_memory() {
    let world = World::new().await;
    let mut collector = Collector::down();
    collector.go(Mood::Silent).await;
    let url = collector.url();
    let edge = edge_of(&world, &[("EDGE_TRACES__ENDPOINT", &url), ("EDGE_TRACES__SAMPLE_RATIO", "1")]).await;
    let full = "fluxgate_edge_spans_dropped_total{why=\"full\"}";
    // More than the queue and the batches that may be on their way.
    let mut asked = 0;
    wait_for("the queue is full", async || {
        for _ in 0..500 {
            assert_eq!(edge.evaluate("checkout").await.0, StatusCode::OK);
        }
        asked += 500;
        (edge.metric(full).await > 0.0).then_some(())
    })
    .await;
    assert!(asked >= 2_500, "the queue takes 2,048 before it lets go: {asked}");
    edge.stop().await;
}

#[tokio::test]
async fn a_failed_request_stands_in_the_log_with_its_trace() {
    let world = World::new().await;
    let edge = world.edge().await;
    let parent = format!("00-{TRACE}-{PARENT}-00");
    let response = post(&edge, "/evaluate", Some(&parent), r#"{"flagKey":"checkout"}"#.into()).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    let log = std::fs::read_to_string(edge.folder().join("edge.log")).expect("a log");
    let failed = log.lines().find(|line| line.contains("a request failed")).unwrap_or_else(|| panic!("{log}"));
    assert!(failed.contains(TRACE) && failed.contains("503"), "{failed}");
    assert!(log.lines().any(|line| line.contains("answered") && line.contains(TRACE)), "{log}");
    edge.get("/readyz").await;
    let log = std::fs::read_to_string(edge.folder().join("edge.log")).expect("a log");
    assert_eq!(log.matches("a request failed").count(), 1, "readiness tells, it does not fail");
}
