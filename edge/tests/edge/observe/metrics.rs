//! `/metrics`: read by a parser of the format, and held against Prometheus's rules for names.

use std::collections::{BTreeMap, BTreeSet};

use prometheus_parse::{Scrape, Value};
use reqwest::Method;
use serde_json::json;

use crate::support::edge::Edge;
use crate::support::publisher::SERVER_KEY;
use crate::support::{World, wait_for};

async fn scrape(edge: &Edge) -> Scrape {
    let (_, text) = edge.get("/metrics").await;
    Scrape::parse(text.lines().map(|line| Ok(line.to_owned()))).expect("readable")
}

/// How many durations a histogram has of some labels.
fn histogram(scrape: &Scrape, name: &str, label: (&str, &str)) -> Vec<(f64, f64)> {
    let found =
        scrape.samples.iter().find(|sample| sample.metric == name && sample.labels.get(label.0) == Some(label.1));
    match found.map(|sample| &sample.value) {
        Some(Value::Histogram(buckets)) => buckets.iter().map(|bucket| (bucket.less_than, bucket.count)).collect(),
        other => panic!("{name} is no histogram: {other:?}"),
    }
}

#[tokio::test]
async fn every_figure_is_named_by_the_rules_and_described_once() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    edge.evaluate("checkout").await;
    edge.evaluate_as("fg_srv_unknown", "checkout").await;
    let (_, text) = edge.get("/metrics").await;
    let mut kinds: BTreeMap<&str, &str> = BTreeMap::new();
    let mut helped = BTreeSet::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("# ")) {
        let (word, rest) = line.split_once(' ').expect("a word");
        let (name, said) = rest.split_once(' ').expect("a name and more");
        let is_first = match word {
            "HELP" => helped.insert(name) && said.ends_with('.'),
            "TYPE" => helped.contains(name) && kinds.insert(name, said).is_none(),
            other => panic!("{other}"),
        };
        assert!(is_first, "{line}: described once, with a sentence, HELP before TYPE");
    }
    assert_eq!(helped.len(), kinds.len());
    let mut lines = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, _) = line.split_once(['{', ' ']).expect("a name");
        let of_histogram = ["_bucket", "_sum", "_count"].iter().find_map(|end| {
            let name = name.strip_suffix(end)?;
            kinds.get(name).filter(|kind| **kind == "histogram").map(|_| name)
        });
        let name = of_histogram.unwrap_or(name);
        let kind = *kinds.get(name).unwrap_or_else(|| panic!("{line} has no TYPE"));
        assert_eq!(kind == "counter", name.ends_with("_total"), "{name} is a {kind}");
        let is_ours = name.starts_with("fluxgate_edge_") || name == "process_start_time_seconds";
        assert!(is_ours && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
        for unit in ["_ms", "_milliseconds", "_us", "_kb", "_mb", "_minutes", "_percent"] {
            assert!(!name.contains(unit), "{name} is not in a base unit");
        }
        assert!(kind != "histogram" || name.ends_with("_seconds"), "{name}");
        lines += 1;
    }
    // The parser leaves out what it does not understand, so all must be found again.
    let parsed: usize = scrape(&edge).await.samples.iter().map(lines_of).sum();
    let sums = text.lines().filter(|line| line.contains("_seconds_sum") || line.contains("_seconds_count")).count();
    assert!(parsed >= lines - sums, "{parsed} of {lines} lines, {sums} of them sums\n{text}");
}

fn lines_of(sample: &prometheus_parse::Sample) -> usize {
    match &sample.value {
        Value::Histogram(buckets) => buckets.len(),
        _ => 1,
    }
}

#[tokio::test]
async fn evaluations_are_timed_and_requests_told_apart_by_route_and_status() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    for _ in 0..5 {
        edge.evaluate("checkout").await;
    }
    let request = edge.http.request(Method::POST, format!("{}/ofrep/v1/evaluate/flags/checkout", edge.address));
    request.bearer_auth(SERVER_KEY).send().await.expect("an answer");
    for path in ["/docs/", "/openapi.json", "/livez", "/docsx"] {
        edge.get(path).await;
    }
    let scrape = scrape(&edge).await;
    let buckets = histogram(&scrape, "fluxgate_edge_evaluation_duration_seconds", ("mode", "single"));
    assert_eq!(buckets.first().map(|(bound, _)| *bound), Some(0.000_001));
    assert_eq!(buckets.last().copied(), Some((f64::INFINITY, 6.0)));
    assert!(buckets.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1), "{buckets:?}");
    let bulk = histogram(&scrape, "fluxgate_edge_evaluation_duration_seconds", ("mode", "bulk"));
    assert_eq!(bulk.last().copied(), Some((f64::INFINITY, 0.0)));
    for (labels, value) in [
        ("route=\"/evaluate\",status=\"200\"", 5.0),
        ("route=\"/ofrep/v1/evaluate/flags/{key}\",status=\"200\"", 1.0),
        ("route=\"docs\",status=\"200\"", 2.0),
        ("route=\"other\",status=\"404\"", 1.0),
    ] {
        assert_eq!(edge.metric(&format!("fluxgate_edge_http_requests_total{{{labels}}}")).await, value, "{labels}");
    }
    let reasons = "fluxgate_edge_evaluations_total{environment=\"shop/production\",reason=\"STATIC\"}";
    assert_eq!(edge.metric(reasons).await, 6.0);
}

#[tokio::test]
async fn labels_do_not_grow_with_what_clients_send() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    // Every figure is there from the start but pairs of route and status, which come with their first request.
    edge.evaluate("nowhere").await;
    edge.get("/nowhere").await;
    let before = scrape(&edge).await.samples.len();
    for number in 0..50 {
        edge.evaluate_for(SERVER_KEY, &format!("made-up-{number}"), json!({"plan": number})).await;
        edge.get(&format!("/made/up/{number}")).await;
    }
    assert_eq!(scrape(&edge).await.samples.len(), before);
}

#[tokio::test]
async fn the_process_says_its_version_its_start_and_its_connections() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let version = format!("fluxgate_edge_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
    assert_eq!(edge.metric(&version).await, 1.0);
    let started = edge.metric("process_start_time_seconds").await;
    // The clock of this machine, read from a file that was just made, since reading it otherwise has one home.
    let made = edge.folder().join("edge.log").metadata().and_then(|file| file.created()).expect("a time");
    let made = made.duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs_f64();
    assert!((started - made).abs() < 60.0, "{started} {made}");
    // The client keeps one connection for all of its requests; a second one is open as long as it is held.
    let connections = async || edge.metric("fluxgate_edge_http_connections").await;
    let before = connections().await;
    assert!(before >= 1.0);
    let held = std::net::TcpStream::connect(edge.address.trim_start_matches("http://")).expect("a connection");
    wait_for("it is counted", async || (connections().await == before + 1.0).then_some(())).await;
    drop(held);
    wait_for("it is counted no more", async || (connections().await == before).then_some(())).await;
}

#[tokio::test]
async fn counts_that_wait_have_a_size_and_none_when_they_are_home() {
    let mut world = World::new().await;
    let edge = world.ready_edge().await;
    let bytes = async || edge.metric("fluxgate_edge_analytics_buffer_bytes").await;
    world.nats.kill();
    edge.evaluate("checkout").await;
    wait_for("they wait", async || (bytes().await > 100.0).then_some(())).await;
    world.nats.restart().await;
    wait_for("they are home", async || (bytes().await == 0.0).then_some(())).await;
    for why in ["full", "restarts"] {
        assert_eq!(edge.metric(&format!("fluxgate_edge_analytics_dropped_total{{why=\"{why}\"}}")).await, 0.0);
    }
}
