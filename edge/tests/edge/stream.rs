//! Event streams: who may open one, what it says, and when it ends.

use std::time::Duration;

use futures::StreamExt;
use reqwest::header::HeaderMap;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use shared::wire::state::Entity;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::support::edge::Edge;
use crate::support::publisher::{CLIENT_KEY, SERVER_KEY, boolean, environment, flag_id, key_id};
use crate::support::{World, wait_for};

/// Longer than anything takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(30);

/// The address of a key's stream.
async fn address(edge: &Edge, key: &str) -> String {
    let request = edge.http.post(format!("{}/ofrep/v1/evaluate/flags", edge.address)).bearer_auth(key);
    let body: Value = request.send().await.expect("an answer").json().await.expect("JSON");
    body["eventStreams"][0]["endpoint"]["requestUri"].as_str().expect("an address").to_owned()
}

/// One block of a stream, by its fields.
#[derive(Debug, Default, PartialEq, Eq)]
struct Block {
    id: Option<String>,
    event: Option<String>,
    retry: Option<u64>,
    data: Option<Value>,
}

/// A stream as a client reads it; comments are read over.
struct Reader {
    bytes: futures::stream::BoxStream<'static, reqwest::Result<bytes::Bytes>>,
    text: String,
    headers: HeaderMap,
}

impl Reader {
    async fn open(edge: &Edge, path: &str, last: Option<&str>) -> Result<Self, (StatusCode, Value)> {
        let mut request = edge.http.get(format!("{}{path}", edge.address)).header("accept-encoding", "gzip");
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let response = request.send().await.expect("an answer");
        if response.status() != StatusCode::OK {
            return Err((response.status(), response.json().await.expect("JSON")));
        }
        let headers = response.headers().clone();
        Ok(Self { bytes: response.bytes_stream().boxed(), text: String::new(), headers })
    }

    /// The next block; `None` at the end.
    async fn next(&mut self) -> Option<Block> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let mut read = Block::default();
                for line in block.lines() {
                    match line.split_once(": ").expect("a field") {
                        ("id", value) => read.id = Some(value.to_owned()),
                        ("event", value) => read.event = Some(value.to_owned()),
                        ("retry", value) => read.retry = Some(value.parse().expect("a number")),
                        ("data", value) => read.data = Some(serde_json::from_str(value).expect("JSON")),
                        (field, _) => assert!(field.is_empty(), "{line}"),
                    }
                }
                self.text = rest.to_owned();
                if read != Block::default() {
                    return Some(read);
                }
                continue;
            }
            let read = tokio::time::timeout(DEADLINE, self.bytes.next()).await.expect("something comes in time");
            self.text.push_str(std::str::from_utf8(&read?.ok()?).expect("text"));
        }
    }

    /// The next block, which must be a notice.
    async fn notice(&mut self) -> Block {
        let block = self.next().await.expect("a block");
        assert_eq!(block.event.as_deref(), Some("message"), "{block:?}");
        assert_eq!(block.data.as_ref().expect("data")["type"], "refetchEvaluation");
        block
    }
}

/// A stream on which nothing is due any more.
async fn settled(edge: &Edge, key: &str, revision: u64) -> (Reader, String) {
    let address = address(edge, key).await;
    // A client that says where it is, and is right, hears nothing at first.
    let mut reader = Reader::open(edge, &address, Some(&format!("{revision}.0"))).await.expect("a stream");
    let greeting = reader.next().await.expect("a greeting");
    assert_eq!((greeting.id, greeting.event), (Some(format!("{revision}.0")), None));
    assert!((1_000..=5_000).contains(&greeting.retry.expect("a wait")), "{:?}", greeting.retry);
    (reader, address)
}

#[tokio::test]
async fn a_change_is_told_at_once_and_several_together() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let (mut reader, address) = settled(&edge, CLIENT_KEY, 1).await;
    assert_eq!(reader.headers["content-type"], "text/event-stream");
    assert_eq!(reader.headers.get("content-encoding"), None, "compression would hold events back");
    assert_eq!(reader.headers.get("content-length"), None);

    world.publisher.change(2, &[boolean("checkout", false)]).await;
    let notice = reader.notice().await;
    let data = notice.data.expect("data");
    assert_eq!((notice.id.as_deref(), &data["etag"]), (Some("2.0"), &json!("r2")));
    assert!(data["lastModified"].as_i64().expect("seconds") > 1_700_000_000);
    let mut last = 2;
    for revision in 3..=12 {
        world.publisher.change(revision, &[boolean("checkout", revision % 2 == 0)]).await;
    }
    let mut notices = 0;
    while last < 12 {
        let id = reader.notice().await.id.expect("an id");
        let revision = id.split_once('.').expect("two parts").0.parse().expect("a number");
        assert!(revision > last, "{revision} after {last}");
        last = revision;
        notices += 1;
    }
    assert!(notices <= 10);
    assert_eq!(edge.metric("fluxgate_edge_sse_clients").await, 1.0);
    // Somebody who missed all that is told at once, somebody who is further on is not told to go back.
    let mut late = Reader::open(&edge, &address, Some("7.0")).await.expect("a stream");
    assert_eq!(late.next().await.expect("a greeting").id, None, "it has not fetched yet");
    assert_eq!(late.notice().await.id.as_deref(), Some("12.0"));
    let mut ahead = Reader::open(&edge, &address, Some("13.0")).await.expect("a stream");
    ahead.next().await.expect("a greeting");
    world.publisher.change(14, &[boolean("checkout", true)]).await;
    assert_eq!(ahead.notice().await.id.as_deref(), Some("14.0"));
    // A new client may have fetched before the latest change, which is not long ago.
    let mut new = Reader::open(&edge, &address, None).await.expect("a stream");
    new.next().await.expect("a greeting");
    assert_eq!(new.notice().await.id.as_deref(), Some("14.0"));
    drop((reader, late, ahead, new));
    wait_for("closed streams are let go", async || {
        (edge.metric("fluxgate_edge_sse_clients").await == 0.0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_time_that_a_condition_names_is_told_like_a_change() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let soon = i128::from(edge::clock::now_ms() + 3_000) * 1_000_000;
    let soon = OffsetDateTime::from_unix_timestamp_nanos(soon).expect("a time");
    let (key, mut body) = boolean("sale", true);
    body["config"]["default_serve"] = json!({"variant": "off"});
    body["config"]["rules"] = json!([{
        "id": flag_id("rule").uuid(), "serve": {"variant": "on"},
        "conditions": {"attribute": "$now", "operator": "after", "values": [soon.format(&Rfc3339).expect("a time")]},
    }]);
    world.publisher.change(2, &[(key, body)]).await;
    edge.wait_for_value("sale", json!(false)).await;
    let (mut reader, _) = settled(&edge, SERVER_KEY, 2).await;
    let id = reader.notice().await.id.expect("an id");
    assert!(id.starts_with("2.") && id != "2.0", "{id}");
    assert_eq!(edge.value("sale").await, json!(true));
}

#[tokio::test]
async fn any_edge_takes_the_token_of_another_and_no_forged_one() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let other = world.edge().await;
    other.wait_until_ready().await;
    let address = address(&edge, CLIENT_KEY).await;
    Reader::open(&other, &address, None).await.expect("a stream");
    let token = address.split_once("t=").expect("a token").1;
    let [id, period, signature] = token.split('.').collect::<Vec<_>>().try_into().expect("three parts");
    let period: i64 = period.parse().expect("a number");
    let strange = key_id("fg_cli_strange").uuid().simple().to_string();
    for (forged, status) in [
        (String::new(), 401),
        ("t".into(), 401),
        ("a.b".into(), 401),
        (format!("{id}.{period}."), 401),
        (format!("{id}.{period}.{}", &signature[1..]), 401),
        (format!("{id}.{}.{signature}", period + 1), 401),
        (format!("{id}.{}.{signature}", period - 3), 401),
        (format!("{id}.{}.{signature}", i64::MIN), 401),
        (format!("{strange}.{period}.{signature}"), 401),
        (format!("{token}x"), 401),
        (CLIENT_KEY.into(), 401),
    ] {
        let Err((answered, body)) = Reader::open(&other, &format!("/ofrep/v1/stream?t={forged}"), None).await else {
            panic!("{forged} opens a stream");
        };
        assert_eq!((answered.as_u16(), &body["errorCode"]), (status, &json!("GENERAL")), "{forged}");
    }
    // The token opens nothing else, and the stream nothing with a key.
    let bulk = edge.http.post(format!("{}/ofrep/v1/evaluate/flags", edge.address)).bearer_auth(token);
    assert_eq!(bulk.send().await.expect("an answer").status(), StatusCode::UNAUTHORIZED);
    assert!(Reader::open(&edge, "/ofrep/v1/stream", None).await.is_err());
}

#[tokio::test]
async fn a_stream_ends_with_its_key_and_with_the_edge() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let (mut kept, _) = settled(&edge, SERVER_KEY, 1).await;
    let (mut reader, address) = settled(&edge, CLIENT_KEY, 1).await;
    world.publisher.put_key(2, CLIENT_KEY, json!({"revoked": true})).await;
    world.publisher.put_environment(2).await;
    while let Some(block) = reader.next().await {
        assert_eq!(block.event.as_deref(), Some("message"));
    }
    let Err((status, _)) = Reader::open(&edge, &address, None).await else { panic!("a revoked key opens a stream") };
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert_eq!(kept.notice().await.id.as_deref(), Some("2.0"));
    edge.begin_to_stop();
    assert_eq!(kept.next().await, None, "the edge does not wait for its streams");
    edge.ended().await;
}

#[tokio::test]
async fn a_page_opens_streams_from_its_own_origin_only() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    world.publisher.put_key(2, "fg_cli_shop", json!({"origins": ["https://shop.example"]})).await;
    world.publisher.put_environment(2).await;
    wait_for("the key opens", async || {
        (edge.evaluate_as("fg_cli_shop", "checkout").await.0 == StatusCode::NOT_FOUND).then_some(())
    })
    .await;
    let address = format!("{}{}", edge.address, address(&edge, "fg_cli_shop").await);
    for (origin, status) in [("https://shop.example", 200), ("https://evil.example", 403)] {
        let response = edge.http.get(&address).header("origin", origin).send().await.expect("an answer");
        assert_eq!(response.status().as_u16(), status, "{origin}");
        assert_eq!(response.headers()["access-control-allow-origin"], origin);
    }
    let head = edge.http.head(&address).send().await.expect("an answer");
    assert_eq!((head.status(), head.headers().get("content-length")), (StatusCode::OK, None));
    for (method, status) in [(Method::OPTIONS, 204), (Method::POST, 405)] {
        let response = edge.http.request(method.clone(), &address).send().await.expect("an answer");
        assert_eq!(response.status().as_u16(), status, "{method}");
        assert_eq!(response.headers()["allow"], "GET, HEAD, OPTIONS");
    }
    wait_for("no stream is left open", async || (edge.metric("fluxgate_edge_sse_clients").await == 0.0).then_some(()))
        .await;
}

#[tokio::test]
async fn streams_beyond_the_bound_are_told_when_to_come_back() {
    let world = World::new().await;
    world.publisher.put_all(1, &[boolean("checkout", true)]).await;
    let edge = world.edge_with(&[("EDGE_SERVER__STREAMS_MAX", "2")]).await;
    edge.wait_until_ready().await;
    let address = address(&edge, CLIENT_KEY).await;
    let first = Reader::open(&edge, &address, None).await.expect("a stream");
    let _second = Reader::open(&edge, &address, None).await.expect("a stream");
    let response = edge.http.get(format!("{}{address}", edge.address)).send().await.expect("an answer");
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(response.headers()["retry-after"], "10");
    let body: Value = response.json().await.expect("JSON");
    assert!(body["errorDetails"].as_str().expect("text").contains("EDGE_SERVER__STREAMS_MAX"), "{body}");
    assert_eq!(edge.value("checkout").await, json!(true));
    drop(first);
    wait_for("there is room again", async || Reader::open(&edge, &address, None).await.ok().map(drop)).await;
}

#[tokio::test]
async fn a_stream_hears_what_changed_while_its_edge_was_cut_off() {
    let mut world = World::new().await;
    let edge = world.ready_edge().await;
    let (mut reader, _) = settled(&edge, CLIENT_KEY, 1).await;
    world.nats.kill();
    edge.wait_until_not_ready().await;
    world.nats.restart().await;
    let envelope = json!({"format": 1, "revision": 2, "killed": true, "body": boolean("checkout", true).1});
    world.publisher.put(environment(), Entity::Flag(flag_id("checkout")), envelope).await;
    world.publisher.put_environment(2).await;
    assert_eq!(reader.notice().await.id.as_deref(), Some("2.0"));
}
