//! What is answered, in both forms, and to whom.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::World;
use crate::support::edge::Edge;
use crate::support::publisher::{CLIENT_KEY, SERVER_KEY, boolean, text};
use crate::support::wait_for;
use crate::support::wire::{Wire, post_body};

async fn post(edge: &Edge, path: &str, body: impl Into<reqwest::Body>) -> (StatusCode, String) {
    let request = edge.http.post(format!("{}{path}", edge.address)).header("X-API-Key", SERVER_KEY).body(body);
    let response = request.send().await.expect("an answer");
    assert_eq!(response.headers()["content-type"], "application/json", "{path}");
    (response.status(), response.text().await.expect("text"))
}

#[tokio::test]
async fn a_flag_answers_in_both_forms() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let native = post(&edge, "/evaluate", r#"{"flagKey":"checkout","context":{"targetingKey":"u1"}}"#).await;
    let body = r#"{"flagKey":"checkout","value":true,"variant":"on","reason":"STATIC","metadata":{"flagSetId":"shop/production","version":"1"}}"#;
    assert_eq!(native, (StatusCode::OK, body.into()));
    for context in ["", "{}", r#"{"context":{}}"#, r#"{"context":{"targetingKey":"u1"}}"#] {
        let ofrep = post(&edge, "/ofrep/v1/evaluate/flags/checkout", context).await;
        assert_eq!(ofrep, (StatusCode::OK, body.replace("flagKey", "key")), "{context}");
    }
    let (status, body) = post(&edge, "/ofrep/v1/evaluate/flags/nowhere", "{}").await;
    let body: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!((status, &body["key"]), (StatusCode::NOT_FOUND, &json!("nowhere")));
    assert_eq!(body["errorCode"], "FLAG_NOT_FOUND");
    assert!(body["errorDetails"].as_str().expect("text").contains("nowhere"));
}

#[tokio::test]
async fn a_base_url_that_ends_in_a_slash_works_too() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    for path in ["//evaluate", "//ofrep/v1/evaluate/flags", "//ofrep/v1/evaluate/flags/checkout"] {
        let (status, body) = post(&edge, path, "{\"flagKey\":\"checkout\"}").await;
        assert_eq!(status, StatusCode::OK, "{path}: {body}");
    }
}

#[tokio::test]
async fn a_key_in_the_path_is_decoded_exactly_once() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    world.publisher.change(2, &[text("team/theme.v2", "dark"), text("a:b", "colon")]).await;
    edge.wait_for_value("a:b", json!("colon")).await;
    for (path, key, status) in [
        ("team/theme.v2", "team/theme.v2", 200),
        ("team%2Ftheme.v2", "team/theme.v2", 200),
        ("team%2ftheme%2Ev2", "team/theme.v2", 200),
        ("a%3Ab", "a:b", 200),
        ("team%252Ftheme.v2", "team%2Ftheme.v2", 404),
        ("team/../team/theme.v2", "team/../team/theme.v2", 404),
        ("team//theme.v2", "team//theme.v2", 404),
        ("team/theme.v2/", "team/theme.v2/", 404),
        ("a%20b", "a b", 404),
        ("%22", "\"", 404),
        ("%ff", "\u{fffd}", 404),
    ] {
        // Sent by hand, since clients tidy paths up.
        let mut wire = Wire::to(&edge);
        wire.send(post_body(&format!("/ofrep/v1/evaluate/flags/{path}"), "{}"));
        let reply = wire.reply().expect("an answer");
        assert_eq!((reply.status, &reply.json()["key"]), (status, &json!(key)), "{path}");
    }
}

#[tokio::test]
async fn bad_input_gets_a_clear_4xx_and_the_edge_goes_on() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let deep = "[".repeat(10_000);
    let flag = r#""flagKey":"checkout""#;
    let table: Vec<(&str, Vec<u8>, u16, &str)> = vec![
        ("empty", b"".to_vec(), 400, "PARSE_ERROR"),
        ("no JSON", b"flag".to_vec(), 400, "PARSE_ERROR"),
        ("cut off", b"{\"flagKey\":\"checkout\"".to_vec(), 400, "PARSE_ERROR"),
        ("more after the end", format!("{{{flag}}}}}").into(), 400, "PARSE_ERROR"),
        ("a list", b"[]".to_vec(), 400, "PARSE_ERROR"),
        ("no key", b"{}".to_vec(), 400, "PARSE_ERROR"),
        ("a key that is a number", b"{\"flagKey\":1}".to_vec(), 400, "PARSE_ERROR"),
        ("a context that is a list", format!("{{{flag},\"context\":[]}}").into(), 400, "INVALID_CONTEXT"),
        ("a context that is text", format!("{{{flag},\"context\":\"u1\"}}").into(), 400, "INVALID_CONTEXT"),
        ("deep context", format!("{{{flag},\"context\":{{\"a\":{deep}").into(), 400, "PARSE_ERROR"),
        ("deep body", deep.clone().into(), 400, "PARSE_ERROR"),
        (
            "deep and closed",
            format!("{{{flag},\"context\":{{\"a\":{deep}{}}}}}", "]".repeat(10_000)).into(),
            400,
            "PARSE_ERROR",
        ),
        ("deep elsewhere", format!("{{{flag},\"x\":{deep}{}}}", "]".repeat(10_000)).into(), 400, "PARSE_ERROR"),
        ("invalid UTF-8", [b"{\"flagKey\":\"\xff\xfe\"}".as_slice(), b""].concat(), 400, "PARSE_ERROR"),
        ("half a surrogate", b"{\"flagKey\":\"\\ud800\"}".to_vec(), 400, "PARSE_ERROR"),
        ("an unknown flag", b"{\"flagKey\":\"nowhere\"}".to_vec(), 404, "FLAG_NOT_FOUND"),
        ("an impossible key", b"{\"flagKey\":\"is it \\u0000 on?\"}".to_vec(), 404, "FLAG_NOT_FOUND"),
        ("an endless key", format!("{{\"flagKey\":\"{}\"}}", "k".repeat(100_000)).into(), 404, "FLAG_NOT_FOUND"),
        ("2 MB", format!("{{{flag},\"x\":\"{}\"}}", "x".repeat(2_000_000)).into(), 413, "GENERAL"),
    ];
    for (what, body, status, code) in table {
        let (answered, text) = post(&edge, "/evaluate", body).await;
        let body: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{what}: {error}: {text}"));
        assert_eq!((answered.as_u16(), &body["errorCode"]), (status, &json!(code)), "{what}: {body}");
        assert!(!body["errorDetails"].as_str().expect("details").is_empty(), "{what}");
        if code == "INVALID_CONTEXT" {
            assert_eq!(body["flagKey"], "checkout", "{what}");
        }
        assert_eq!(edge.value("checkout").await, json!(true), "after {what}");
    }
    for (body, code) in [("{", "PARSE_ERROR"), ("{\"context\":7}", "INVALID_CONTEXT"), ("\u{feff}{}", "PARSE_ERROR")] {
        let (status, text) = post(&edge, "/ofrep/v1/evaluate/flags/checkout", body).await;
        let answer: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!((status.as_u16(), &answer["errorCode"]), (400, &json!(code)), "{body}");
        assert_eq!(answer["key"], "checkout", "the key is known from the path");
    }
}

#[tokio::test]
async fn other_methods_and_addresses_are_named_as_such() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    for path in ["/evaluate", "/ofrep/v1/evaluate/flags/checkout"] {
        for method in [Method::GET, Method::HEAD, Method::PUT, Method::DELETE] {
            let request = edge.http.request(method.clone(), format!("{}{path}", edge.address)).bearer_auth(SERVER_KEY);
            let response = request.send().await.expect("an answer");
            assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
            assert_eq!(response.headers()["allow"], "POST, OPTIONS");
        }
    }
    let (status, body) = post(&edge, "/nowhere", "").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(body.contains("/nowhere"), "{body}");
    assert_eq!(edge.get("/livez").await.0, StatusCode::OK);
    let (_, metrics) = edge.get("/metrics").await;
    for line in [
        "fluxgate_edge_snapshot_revision{environment=\"shop/production\"} 1",
        "fluxgate_edge_nats_connected 1",
        "fluxgate_edge_http_requests_total{route=\"/evaluate\",status=\"405\"} 4",
        "fluxgate_edge_http_requests_total{route=\"other\",status=\"404\"} 1",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
}

#[tokio::test]
async fn a_key_opens_its_environment_and_nothing_else() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let publisher = &world.publisher;
    let mut visible = boolean("visible", true);
    visible.1["flag"]["client_visible"] = json!(true);
    publisher.put_key(2, "fg_srv_expired", json!({"expires_at": "2020-01-01T00:00:00Z"})).await;
    publisher.put_key(2, "fg_srv_lasting", json!({"expires_at": "2099-01-01T00:00:00Z"})).await;
    publisher.put_key(2, "fg_srv_revoked", json!({"revoked": true})).await;
    publisher.put_key(2, "fg_cli_web", json!({"origins": ["https://shop.example"]})).await;
    publisher.change(2, &[visible]).await;
    edge.wait_for_value("visible", json!(true)).await;
    for (key, status) in [
        (SERVER_KEY, 200),
        ("fg_srv_lasting", 200),
        (CLIENT_KEY, 200),
        ("fg_srv_expired", 401),
        ("fg_srv_revoked", 401),
        ("fg_srv_unknown", 401),
        ("", 401),
    ] {
        let (answered, body) = edge.evaluate_as(key, "visible").await;
        assert_eq!(answered.as_u16(), status, "{key}: {body}");
        assert_eq!(status == 200, body.get("errorCode").is_none(), "{body}");
    }
    let (status, body) = edge.evaluate_as(CLIENT_KEY, "checkout").await;
    assert_eq!((status, &body["errorCode"]), (StatusCode::NOT_FOUND, &json!("FLAG_NOT_FOUND")));
    for (origin, status) in [("https://shop.example", 200), ("https://evil.example", 403)] {
        let request = edge.http.post(format!("{}/ofrep/v1/evaluate/flags/visible", edge.address));
        let request = request.bearer_auth("fg_cli_web").header("origin", origin);
        assert_eq!(request.send().await.expect("an answer").status().as_u16(), status, "{origin}");
    }
    let unknown = "fluxgate_edge_auth_failures_total{why=\"unknown\"}";
    wait_for("the refusal is counted", async || (edge.metric(unknown).await >= 1.0).then_some(())).await;
}

#[tokio::test]
async fn rules_segments_splits_and_kills_answer_as_configured() {
    use shared::wire::state::Entity;
    use uuid::Uuid;

    use crate::support::publisher::{environment, flag_id};

    let world = World::new().await;
    let publisher = &world.publisher;
    let segment = json!({"key": "staff", "included": ["ada"], "conditions": {"attribute": "plan", "operator": "equals", "values": ["pro"]}});
    let mut flag = boolean("checkout", true);
    flag.1["config"]["default_serve"] = json!({"variant": "off"});
    flag.1["config"]["rules"] = json!([{
        "id": Uuid::from_u128(9), "serve": {"variant": "on"},
        "conditions": {"operator": "in_segment", "values": ["staff"]},
    }]);
    let staff = Entity::Segment(Uuid::from_u128(5).into());
    publisher.put(environment(), staff, json!({"format": 1, "revision": 1, "body": segment})).await;
    publisher.put_all(1, &[flag.clone()]).await;
    let edge = world.edge().await;
    edge.wait_until_ready().await;
    let ask = async |context: Value| edge.evaluate_for(SERVER_KEY, "checkout", context).await.1;
    let ada = ask(json!({"targetingKey": "ada"})).await;
    assert_eq!((&ada["value"], &ada["reason"]), (&json!(true), &json!("TARGETING_MATCH")));
    let bob = ask(json!({"targetingKey": "bob"})).await;
    assert_eq!((&bob["value"], &bob["reason"]), (&json!(false), &json!("DEFAULT")));

    let segment = json!({"key": "staff", "included": ["bob"]});
    publisher.put(environment(), staff, json!({"format": 1, "revision": 2, "body": segment})).await;
    publisher.put_environment(2).await;
    wait_for("the flag follows its segment", async || {
        (ask(json!({"targetingKey": "bob"})).await["value"] == json!(true)).then_some(())
    })
    .await;
    assert_eq!(ask(json!({"targetingKey": "ada"})).await["value"], json!(false));

    let killed = json!({"format": 1, "revision": 3, "killed": true, "body": flag.1});
    publisher.put(environment(), Entity::Flag(flag_id("checkout")), killed).await;
    publisher.put_environment(3).await;
    wait_for("the kill arrives", async || {
        (ask(json!({"targetingKey": "bob"})).await["reason"] == json!("DISABLED")).then_some(())
    })
    .await;

    let mut split = boolean("split", true);
    split.1["config"]["default_serve"] = json!({"split": {
        "bucket_by": "targetingKey", "seed": "s",
        "ranges": [{"start": 0, "end": 50_000, "variant": "on"}, {"start": 50_000, "end": 100_000, "variant": "off"}],
    }});
    publisher.change(4, &[split]).await;
    wait_for("the split is there", async || (edge.evaluate("split").await.0 == StatusCode::OK).then_some(())).await;
    let (status, missing) = edge.evaluate_for(SERVER_KEY, "split", json!({})).await;
    assert_eq!((status, &missing["errorCode"]), (StatusCode::BAD_REQUEST, &json!("TARGETING_KEY_MISSING")));
    assert_eq!((&missing["flagKey"], &missing["reason"]), (&json!("split"), &json!("ERROR")));
}
