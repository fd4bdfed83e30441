//! `POST /track`: what users did.

use edge::count::unit;
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};

use crate::support::World;
use crate::support::edge::Edge;
use crate::support::publisher::{CLIENT_KEY, SERVER_KEY, environment, halves, key_id, unit_key};

async fn send(edge: &Edge, key: &str, body: impl Into<Vec<u8>>) -> Response {
    let request = edge.http.post(format!("{}/track", edge.address)).bearer_auth(key).body(body.into());
    request.send().await.expect("an answer")
}

async fn track(edge: &Edge, event: &Value) -> (StatusCode, Value) {
    let response = send(edge, SERVER_KEY, event.to_string()).await;
    let (status, body) = (response.status(), response.bytes().await.expect("a body"));
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

/// An edge of an environment whose experiments divide by user and by company.
async fn edge(world: &World) -> Edge {
    let flags = [
        halves("user", "experiment", "targetingKey"),
        halves("company", "experiment", "company.id"),
        halves("rollout", "release", "country"),
    ];
    world.publisher.put_all(1, &flags).await;
    world.publisher.put_environment_with_units(2).await;
    let edge = world.edge().await;
    edge.wait_until_ready().await;
    edge
}

/// Unit, times and sum of each, by event.
async fn told(world: &World) -> Vec<(String, u64, u64, f64)> {
    let mut told = Vec::new();
    for group in world.publisher.batches().await.iter().flat_map(|batch| &batch.events) {
        assert_eq!(group.environment, environment());
        told.extend(group.units.iter().map(|(unit, count, sum)| (group.event.to_string(), *unit, *count, *sum)));
    }
    told.sort_by_key(|entry| (entry.0.clone(), entry.1));
    // One minute may have turned meanwhile.
    told.dedup_by(|next, first| {
        let is_same = (&first.0, first.1) == (&next.0, next.1);
        if is_same {
            (first.2, first.3) = (first.2 + next.2, first.3 + next.3);
        }
        is_same
    });
    told
}

#[tokio::test]
async fn an_event_is_told_under_every_unit_that_experiments_know_the_user_by() {
    let world = World::new().await;
    let edge = edge(&world).await;
    let company = json!({"targetingKey": "u1", "company": {"id": 7}, "country": "DE"});
    for event in [
        json!({"eventName": "purchase", "context": company, "value": 12.5}),
        json!({"eventName": "purchase", "context": {"targetingKey": "u1"}, "value": -2}),
        json!({"eventName": "sign-up/web", "context": {"bucketingKey": 42}, "value": null, "attributes": {"a": [1]}}),
    ] {
        assert_eq!(track(&edge, &event).await, (StatusCode::NO_CONTENT, Value::Null), "{event}");
    }
    edge.stop().await;
    let unit = |by: &str, key: &str| unit(&unit_key(), by, key);
    let mut expected = vec![
        ("purchase".to_owned(), unit("targetingKey", "u1"), 2, 10.5),
        ("purchase".to_owned(), unit("company.id", "7"), 1, 12.5),
        ("sign-up/web".to_owned(), unit("targetingKey", "42"), 1, 0.0),
    ];
    expected.sort_by_key(|entry| (entry.0.clone(), entry.1));
    assert_eq!(told(&world).await, expected);
    let batches = world.publisher.batches().await;
    let requests = batches.iter().flat_map(|batch| &batch.keys).filter(|entry| entry.key == key_id(SERVER_KEY));
    assert_eq!(requests.map(|entry| entry.count).sum::<u64>(), 3);
}

#[tokio::test]
async fn what_is_no_event_is_refused_with_the_field_the_value_and_the_rule() {
    let world = World::new().await;
    let edge = edge(&world).await;
    let user = json!({"targetingKey": "u1"});
    for (event, code, parts) in [
        (json!({"context": user}), "INVALID_EVENT_NAME", &["eventName is missing"][..]),
        (json!({"eventName": null, "context": user}), "INVALID_EVENT_NAME", &["eventName is missing"]),
        (json!({"eventName": "a b", "context": user}), "INVALID_EVENT_NAME", &["eventName", "'a b'", "use 1 to 100"]),
        (json!({"eventName": 7, "context": user}), "INVALID_EVENT_NAME", &["eventName", "7", "use 1 to 100"]),
        (
            json!({"eventName": "a", "context": user, "value": 2e12}),
            "INVALID_VALUE",
            &["value", "2000000000000", "1e12"],
        ),
        (json!({"eventName": "a", "context": user, "value": "9"}), "INVALID_VALUE", &["value", "\"9\"", "1e12"]),
        (json!({"eventName": "a", "context": []}), "INVALID_CONTEXT", &["context"]),
        (json!({"eventName": "a"}), "TARGETING_KEY_MISSING", &["targetingKey"]),
        (json!({"eventName": "a", "targetingKey": "u1"}), "TARGETING_KEY_MISSING", &["targetingKey"]),
        (json!({"eventName": "a", "context": {"targetingKey": ""}}), "TARGETING_KEY_MISSING", &["empty"]),
        (json!({"eventName": "a", "context": {"targetingKey": 1.5}}), "TARGETING_KEY_MISSING", &["whole number"]),
        (json!([]), "PARSE_ERROR", &["the body cannot be read"]),
    ] {
        let (status, body) = track(&edge, &event).await;
        assert_eq!((status, &body["errorCode"]), (StatusCode::BAD_REQUEST, &json!(code)), "{event}: {body}");
        let details = body["errorDetails"].as_str().expect("details");
        assert!(parts.iter().all(|part| details.contains(part)), "{event}: {details}");
    }
    assert_eq!(send(&edge, "fg_srv_unknown", "{}").await.status(), StatusCode::UNAUTHORIZED);
    edge.stop().await;
    assert_eq!(told(&world).await, []);
}

#[tokio::test]
async fn web_pages_may_tell_events_with_a_client_key() {
    let world = World::new().await;
    let edge = edge(&world).await;
    let url = format!("{}/track", edge.address);
    let preflight = edge.http.request(Method::OPTIONS, &url).send().await.expect("an answer");
    assert_eq!(preflight.status(), StatusCode::NO_CONTENT);
    assert_eq!(preflight.headers()["access-control-allow-methods"], "POST, OPTIONS");
    let event = json!({"eventName": "seen", "context": {"targetingKey": "u1"}}).to_string();
    let request = edge.http.post(&url).bearer_auth(CLIENT_KEY).header("origin", "https://shop.example").body(event);
    let answer = request.send().await.expect("an answer");
    assert_eq!(answer.status(), StatusCode::NO_CONTENT);
    assert_eq!(answer.headers()["access-control-allow-origin"], "https://shop.example");
    assert_eq!(edge.metric("fluxgate_edge_http_requests_total{route=\"/track\",status=\"204\"}").await, 2.0);
    edge.stop().await;
    assert_eq!(told(&world).await.len(), 1);
}

#[tokio::test]
async fn an_event_of_an_environment_without_a_key_to_hash_by_is_of_no_use_and_taken_all_the_same() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let event = json!({"eventName": "seen", "context": {"targetingKey": "u1"}});
    assert_eq!(track(&edge, &event).await.0, StatusCode::NO_CONTENT);
    assert_eq!(edge.metric("fluxgate_edge_events_ignored_total").await, 1.0);
    edge.stop().await;
    assert_eq!(told(&world).await, []);
}
