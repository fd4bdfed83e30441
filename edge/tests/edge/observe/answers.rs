//! Real answers fit the description of the API, and everything described is answered.

use reqwest::Method;
use serde_json::{Value, json};
use shared::wire::state::Entity;

use crate::observe::checker::{Ask, Checker, SINGLE, document, validate};
use crate::support::publisher::{boolean, environment, flag_id};
use crate::support::{World, wait_for};

/// A flag of each kind of answer.
async fn put_flags(world: &World) {
    let mut split = boolean("split", true);
    split.1["config"]["default_serve"] = json!({"split": {
        "bucket_by": "targetingKey", "seed": "s",
        "ranges": [{"start": 0, "end": 100_000, "variant": "on"}],
    }});
    let mut blocked = boolean("blocked", true);
    blocked.1["config"]["prerequisites"] = json!([{"flag": "off", "variants": ["on"]}]);
    let mut code_default = boolean("code-default", false);
    code_default.1["config"]["off_variant"] = Value::Null;
    let object = json!({
        "flag": {"key": "object", "value_type": "object", "kind": "release", "client_visible": false,
                 "variants": [{"key": "a", "value": "{\"size\":1.50}"}]},
        "config": {"enabled": true, "default_serve": {"variant": "a"}},
    });
    let strange = json!({"format": 99, "revision": 1, "body": {"flag": {"key": "strange"}, "nobody": "knows"}});
    world.publisher.put(environment(), Entity::Flag(flag_id("strange")), strange).await;
    world.publisher.put_key(1, "fg_cli_web", json!({"origins": ["https://shop.example"]})).await;
    let flags = [boolean("off", false), split, blocked, code_default, ("object".into(), object)];
    world.publisher.put_all(1, &flags).await;
}

#[tokio::test]
async fn real_answers_fit_the_description() {
    let world = World::new().await;
    put_flags(&world).await;
    let edge = world.edge().await;
    edge.wait_until_ready().await;
    let mut checker = Checker::new(&edge);
    let native = |flag: &str, context: Value| {
        Ask::post("/evaluate", "/evaluate", json!({"flagKey": flag, "context": context}).to_string())
    };
    for (flag, context, status) in [
        ("off", json!({}), 200),
        ("split", json!({"targetingKey": "u"}), 200),
        ("object", json!({}), 200),
        ("code-default", json!({}), 200),
        ("blocked", json!({}), 200),
        ("split", json!({}), 400),
        ("split", json!([]), 400),
        ("nowhere", json!({}), 404),
    ] {
        let body = json!({"context": context}).to_string();
        let at = format!("/ofrep/v1/evaluate/flags/{flag}");
        let (ofrep, _) = checker.check(status, Ask::post(SINGLE, &at, body)).await;
        let (mut own, _) = checker.check(status, native(flag, context)).await;
        let key = own.as_object_mut().and_then(|own| own.remove("flagKey")).expect("the key");
        assert_eq!(key, ofrep["key"]);
        assert_eq!((&own["value"], &own["errorCode"]), (&ofrep["value"], &ofrep["errorCode"]), "{flag}");
    }
    let (blocked, _) = checker.check(200, native("blocked", json!({}))).await;
    assert_eq!(blocked["metadata"]["blockedBy"], "off");
    for (path, at) in [("/evaluate", "/evaluate"), (SINGLE, "/ofrep/v1/evaluate/flags/off")] {
        let body = r#"{"flagKey":"off"}"#;
        checker.check(401, Ask::post(path, at, body).by(None)).await;
        checker.check(401, Ask::post(path, at, body).by(Some("fg_srv_unknown"))).await;
        checker.check(403, Ask::post(path, at, body).by(Some("fg_cli_web")).from("https://evil.example")).await;
        checker.check(405, Ask::post(path, at, body).with(Method::PUT)).await;
        checker.check(413, Ask::post(path, at, " ".repeat(1_100_000))).await;
        checker.check(400, Ask::post(path, at, "{")).await;
    }
    checker.check(500, native("strange", json!({}))).await;
    checker.check(500, Ask::post(SINGLE, "/ofrep/v1/evaluate/flags/strange", "")).await;
    let track = |body: Vec<u8>| Ask::post("/track", "/track", body);
    let event = || json!({"eventName": "seen", "context": {"targetingKey": "u"}, "value": 1}).to_string().into_bytes();
    checker.check(204, track(event())).await;
    checker.check(400, track(b"{}".to_vec())).await;
    checker.check(401, track(event()).by(None)).await;
    checker.check(403, track(event()).by(Some("fg_cli_web")).from("https://evil.example")).await;
    checker.check(405, track(event()).with(Method::PUT)).await;
    checker.check(413, track(vec![b' '; 1_100_000])).await;
    for path in ["/livez", "/readyz", "/metrics"] {
        checker.check(200, Ask::get(path)).await;
    }

    let empty = World::new().await;
    let unready = empty.edge().await;
    checker.edge = &unready;
    checker.check(503, native("off", json!({}))).await;
    checker.check(503, Ask::post(SINGLE, "/ofrep/v1/evaluate/flags/off", "")).await;
    checker.check(503, track(event())).await;
    checker.check(503, Ask::get("/readyz")).await;
    checker.assert_complete(&["/evaluate", SINGLE, "/track"], &["408"]);
    checker.assert_complete(&["/livez", "/readyz", "/metrics"], &[]);
}

#[tokio::test]
async fn bulk_answers_and_streams_fit_the_description_too() {
    const BULK: &str = "/ofrep/v1/evaluate/flags";
    const STREAM: &str = "/ofrep/v1/stream";
    let world = World::new().await;
    put_flags(&world).await;
    let edge = world.edge_with(&[("EDGE_SERVER__STREAMS_MAX", "1")]).await;
    edge.wait_until_ready().await;
    let mut checker = Checker::new(&edge);
    let (all, tag) = checker.check(200, Ask::post(BULK, BULK, "")).await;
    let flags: Vec<&Value> = all["flags"].as_array().expect("flags").iter().map(|flag| &flag["key"]).collect();
    assert_eq!(flags, ["blocked", "code-default", "object", "off", "split", "strange"], "{all}");
    assert_eq!(all["flags"][4]["errorCode"], "TARGETING_KEY_MISSING");
    checker.check(304, Ask::post(BULK, BULK, "").header("if-none-match", &tag.expect("a tag"))).await;
    checker.check(400, Ask::post(BULK, BULK, "{")).await;
    checker.check(400, Ask::post(BULK, BULK, "{\"context\":7}")).await;
    checker.check(401, Ask::post(BULK, BULK, "").by(None)).await;
    checker.check(403, Ask::post(BULK, BULK, "").by(Some("fg_cli_web")).from("https://evil.example")).await;
    checker.check(405, Ask::post(BULK, BULK, "").with(Method::PUT)).await;
    checker.check(413, Ask::post(BULK, BULK, " ".repeat(1_100_000))).await;

    let address =
        |answer: &Value| answer["eventStreams"][0]["endpoint"]["requestUri"].as_str().expect("an address").to_owned();
    let stream = address(&all);
    // There is room for one, so each must be over before the next.
    let is_free = async || (edge.metric("fluxgate_edge_sse_clients").await == 0.0).then_some(());
    checker.check(200, Ask::get_at(STREAM, &stream)).await;
    wait_for("the stream is over", is_free).await;
    checker.check(200, Ask::get_at(STREAM, &stream).with(Method::HEAD)).await;
    wait_for("the stream is over", is_free).await;
    checker.check(401, Ask::get_at(STREAM, "/ofrep/v1/stream?t=nonsense")).await;
    checker.check(405, Ask::get_at(STREAM, &stream).with(Method::POST)).await;
    let (web, _) = checker.check(200, Ask::post(BULK, BULK, "").by(Some("fg_cli_web"))).await;
    checker.check(403, Ask::get_at(STREAM, &address(&web)).from("https://evil.example")).await;
    // A client that comes with an older event is told at once.
    let request = edge.http.get(format!("{}{stream}", edge.address)).header("last-event-id", "0.0");
    let mut held = request.send().await.expect("a stream");
    checker.check(429, Ask::get_at(STREAM, &stream)).await;
    let mut text = String::new();
    while !text.contains("data: ") || !text.ends_with("\n\n") {
        text.push_str(std::str::from_utf8(&held.chunk().await.expect("more").expect("more")).expect("text"));
    }
    let data = text.lines().find_map(|line| line.strip_prefix("data: ")).expect("data");
    let event: Value = serde_json::from_str(data).expect("JSON");
    validate(&document(), json!({"$ref": "#/components/schemas/StreamEvent"}), &event);
    for (figure, value) in [
        ("http_requests_total{route=\"/ofrep/v1/evaluate/flags\",status=\"304\"}", 1.0),
        ("http_requests_total{route=\"/ofrep/v1/stream\",status=\"429\"}", 1.0),
        ("evaluation_duration_seconds_count{mode=\"bulk\"}", 7.0),
        ("sse_events_total", 1.0),
        ("sse_clients", 1.0),
    ] {
        assert_eq!(edge.metric(&format!("fluxgate_edge_{figure}")).await, value, "{figure}");
    }

    let empty = World::new().await;
    let unready = empty.edge().await;
    checker.edge = &unready;
    checker.check(503, Ask::post(BULK, BULK, "")).await;
    checker.check(503, Ask::get_at(STREAM, &stream)).await;
    checker.assert_complete(&[BULK], &["408"]);
    checker.assert_complete(&[STREAM], &[]);
}
