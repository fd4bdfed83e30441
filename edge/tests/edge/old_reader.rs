//! An edge that is older than what it is sent.

use reqwest::StatusCode;
use serde_json::json;
use shared::wire::edge::{HEARTBEAT_SUBJECT, Heartbeat};
use shared::wire::state::{Entity, StateKey};
use uuid::Uuid;

use crate::support::edge::Edge;
use crate::support::publisher::{boolean, environment, flag_id, text};
use crate::support::{World, wait_for};

async fn wait_for_version(edge: &Edge, version: &str) {
    wait_for("the revision arrives", async || {
        (edge.evaluate("checkout").await.1["metadata"]["version"] == json!(version)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_body_of_a_newer_format_leaves_the_last_one_and_still_kills_and_deletes() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let mut heartbeats = world.publisher.subscribe(HEARTBEAT_SUBJECT).await;
    let strange = json!({"flag": {"key": "checkout", "colour": "red"}, "config": {}});
    let put = async |revision: u64, killed: bool, deleted: bool| {
        let envelope =
            json!({"format": 9, "revision": revision, "killed": killed, "deleted": deleted, "body": strange});
        world.publisher.put(environment(), Entity::Flag(flag_id("checkout")), envelope).await;
        world.publisher.put_environment(revision).await;
        wait_for_version(&edge, &revision.to_string()).await;
        edge.evaluate("checkout").await
    };
    let (_, kept) = put(2, false, false).await;
    assert_eq!((&kept["value"], &kept["reason"]), (&json!(true), &json!("STATIC")));
    let named = StateKey { environment: environment(), entity: Entity::Flag(flag_id("checkout")) }.to_string();
    let heartbeat = world.publisher.hear(&mut heartbeats, |beat: &Heartbeat| !beat.unreadable.is_empty()).await;
    assert_eq!(heartbeat.unreadable, [named]);
    let (_, killed) = put(3, true, false).await;
    assert_eq!((&killed["value"], &killed["reason"]), (&json!(false), &json!("DISABLED")));
    let (_, alive) = put(4, false, false).await;
    assert_eq!(alive["value"], json!(true));

    // The kept body outlives a restart.
    let folder = edge.stop().await;
    let edge = Edge::start(&world.nats, folder).await;
    edge.wait_until_ready().await;
    assert_eq!(edge.value("checkout").await, json!(true));

    let gone = json!({"format": 9, "revision": 5, "deleted": true, "body": strange});
    world.publisher.put(environment(), Entity::Flag(flag_id("checkout")), gone).await;
    world.publisher.put_environment(5).await;
    wait_for("it is deleted", async || (edge.evaluate("checkout").await.0 == StatusCode::NOT_FOUND).then_some(()))
        .await;
}

#[tokio::test]
async fn with_nothing_to_keep_that_flag_alone_is_broken() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    for (revision, format, body) in [
        (2, 9, json!({"flag": {"key": "newer", "client_visible": true}})),
        (3, 1, json!({"flag": {"key": "strange"}, "extra": 1})),
        (4, 9, json!({"no": "key"})),
    ] {
        let id = Entity::Flag(Uuid::from_u128(u128::from(revision)).into());
        world.publisher.put(environment(), id, json!({"format": format, "revision": revision, "body": body})).await;
        world.publisher.put_environment(revision).await;
    }
    world.publisher.put_raw(&format!("{}.flag.{}", environment(), Uuid::from_u128(77)), "no envelope").await;
    world.publisher.put_raw("something.else.altogether", "{}").await;
    world.publisher.change(5, &[text("last", "seen")]).await;
    edge.wait_for_value("last", json!("seen")).await;
    for key in ["newer", "strange"] {
        let (status, body) = edge.evaluate(key).await;
        assert_eq!((status, &body["errorCode"]), (StatusCode::INTERNAL_SERVER_ERROR, &json!("GENERAL")), "{body}");
    }
    assert_eq!(edge.value("checkout").await, json!(true));
    edge.wait_until_ready().await;
}

#[tokio::test]
async fn an_unreadable_segment_breaks_only_the_flags_that_use_it() {
    let world = World::new().await;
    let staff = Entity::Segment(Uuid::from_u128(5).into());
    let mut flag = boolean("uses-it", true);
    flag.1["config"]["rules"] = json!([{
        "id": Uuid::from_u128(9), "serve": {"variant": "off"}, "conditions": {"operator": "in_segment", "values": ["staff"]},
    }]);
    let newer = json!({"format": 9, "revision": 1, "body": {"key": "staff", "moon": "full"}});
    world.publisher.put(environment(), staff, newer.clone()).await;
    world.publisher.put_all(1, &[flag, boolean("checkout", true)]).await;
    let edge = world.edge().await;
    edge.wait_until_ready().await;
    let (status, body) = edge.evaluate("uses-it").await;
    assert_eq!((status, &body["errorCode"]), (StatusCode::INTERNAL_SERVER_ERROR, &json!("GENERAL")));
    assert_eq!(edge.value("checkout").await, json!(true));

    let readable = json!({"format": 1, "revision": 2, "body": {"key": "staff", "included": ["user-1"]}});
    world.publisher.put(environment(), staff, readable).await;
    world.publisher.put_environment(2).await;
    edge.wait_for_value("uses-it", json!(false)).await;
    // Once it could be read, the old form is kept.
    let mut newer = newer;
    newer["revision"] = json!(3);
    world.publisher.put(environment(), staff, newer).await;
    world.publisher.put_environment(3).await;
    wait_for_version(&edge, "3").await;
    assert_eq!(edge.value("uses-it").await, json!(false));
}

#[tokio::test]
async fn a_segment_that_does_not_compile_or_is_not_there_breaks_only_the_flags_that_reach_it() {
    let world = World::new().await;
    let using = |key: &str, segment: &str| {
        let mut flag = boolean(key, true);
        flag.1["config"]["rules"] = json!([{
            "id": Uuid::from_u128(9), "serve": {"variant": "off"},
            "conditions": {"operator": "in_segment", "values": [segment]},
        }]);
        flag
    };
    let segments = [
        json!({"key": "outer", "conditions": {"operator": "in_segment", "values": ["inner"]}}),
        json!({"key": "inner", "conditions": {"attribute": "a", "operator": "matches", "values": ["(b"]}}),
    ];
    let put = async |revision: u64, at: usize, body: &serde_json::Value| {
        let id = Entity::Segment(Uuid::from_u128(at as u128 + 1).into());
        let envelope = json!({"format": 1, "revision": revision, "body": body});
        world.publisher.put(environment(), id, envelope).await;
    };
    for (at, segment) in segments.iter().enumerate() {
        put(1, at, segment).await;
    }
    let flags = [using("through", "outer"), using("nowhere", "gone"), boolean("checkout", true)];
    world.publisher.put_all(1, &flags).await;
    let edge = world.edge().await;
    edge.wait_until_ready().await;
    for (key, reason) in [("through", "segment 'inner'"), ("nowhere", "segment 'gone'")] {
        let (status, body) = edge.evaluate(key).await;
        assert_eq!((status, &body["errorCode"]), (StatusCode::BAD_REQUEST, &json!("PARSE_ERROR")), "{body}");
        assert!(body["errorDetails"].as_str().expect("details").contains(reason), "{body}");
    }
    assert_eq!(edge.value("checkout").await, json!(true));
    // The inner one alone changes, and with it the flag that reaches it through the outer one.
    put(2, 1, &json!({"key": "inner", "included": ["user-1"]})).await;
    world.publisher.put_environment(2).await;
    edge.wait_for_value("through", json!(false)).await;
}
