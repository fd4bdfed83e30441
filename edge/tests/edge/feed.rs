//! How the edge follows the bucket, on every server.

use std::time::{Duration, Instant};

use reqwest::StatusCode;
use serde_json::{Value, json};
use shared::wire::state::{Entity, StateKey};

use crate::support::edge::Edge;
use crate::support::nats::binaries;
use crate::support::publisher::{SERVER_KEY, boolean, environment, flag_id, text};
use crate::support::{World, wait_for};

const FORCED_SWAPS: &str = "fluxgate_edge_forced_swaps_total";
/// A change that took so long to publish may have been swapped in two parts; the round says nothing.
const STALL: Duration = Duration::from_millis(500);
/// The most rounds until one without a stall.
const ROUNDS_MAX: u64 = 5;

#[tokio::test]
async fn a_half_filled_bucket_is_not_ready_and_never_lacks_a_flag() {
    for binary in binaries() {
        let world = World::on(&binary).await;
        let edge = world.edge().await;
        let (status, body) = edge.evaluate("checkout").await;
        assert_eq!((status, &body["errorCode"]), (StatusCode::SERVICE_UNAVAILABLE, &json!("PROVIDER_NOT_READY")));

        world.publisher.put_flag(7, &boolean("checkout", true)).await;
        world.publisher.put_key(7, SERVER_KEY, json!({})).await;
        let edge = fresh(&world, edge).await;
        wait_for("the bucket is read", async || {
            (edge.metric("fluxgate_edge_bucket_reads_total").await > 0.0).then_some(())
        })
        .await;
        let response =
            edge.http.post(format!("{}/ofrep/v1/evaluate/flags/checkout", edge.address)).bearer_auth(SERVER_KEY);
        let response = response.send().await.expect("an answer");
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(response.headers().contains_key("retry-after"));
        let body: Value = response.json().await.expect("JSON");
        assert_eq!((&body["key"], &body["errorCode"]), (&json!("checkout"), &json!("PROVIDER_NOT_READY")));
        assert_eq!(edge.readiness().await.0, StatusCode::SERVICE_UNAVAILABLE);

        world.publisher.put_environment(7).await;
        // From the first answer on, the flag is there.
        let first = wait_for("the edge answers", async || {
            let (status, body) = edge.evaluate("checkout").await;
            (status != StatusCode::SERVICE_UNAVAILABLE).then_some((status, body))
        })
        .await;
        assert_eq!((first.0, &first.1["value"]), (StatusCode::OK, &json!(true)), "{binary}");
        assert_eq!(edge.readiness().await.0, StatusCode::OK);
    }
}

/// Another edge in place of `edge`.
async fn fresh(world: &World, edge: Edge) -> Edge {
    edge.stop().await;
    world.edge().await
}

#[tokio::test]
async fn an_environment_that_is_half_there_is_not_taken_for_unknown_beside_one_that_is_ready() {
    let world = World::new().await;
    let other = uuid::Uuid::from_u128(0xe2).into();
    world
        .publisher
        .put(
            other,
            Entity::Flag(flag_id("other")),
            json!({"format": 1, "revision": 1, "body": boolean("other", true).1}),
        )
        .await;
    world.publisher.put_all(1, &[boolean("checkout", true)]).await;
    let edge = world.edge().await;
    edge.wait_for_value("checkout", json!(true)).await;
    // Its key has not arrived; 401 would make web clients give up.
    let (status, body) = edge.evaluate_as("fg_srv_of_the_other", "other").await;
    assert_eq!((status, &body["errorCode"]), (StatusCode::SERVICE_UNAVAILABLE, &json!("PROVIDER_NOT_READY")));
    let (status, body) = edge.readiness().await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(body["reason"].as_str().expect("a reason").starts_with("incomplete"), "{body}");
}

#[tokio::test]
async fn flags_of_one_revision_switch_in_the_same_instant() {
    const REVISIONS: u64 = 150;
    for binary in binaries() {
        let world = World::on(&binary).await;
        let flags = |revision: u64| ["left", "right"].map(|key| text(key, &revision.to_string()));
        world.publisher.put_all(1, &flags(1)).await;
        let edge = world.edge().await;
        edge.wait_until_ready().await;
        for round in 0..ROUNDS_MAX {
            let forced = edge.metric(FORCED_SWAPS).await;
            let last = (round + 1) * REVISIONS;
            let publishing = async {
                let mut slowest = Duration::ZERO;
                for revision in round * REVISIONS + 2..=last {
                    let began = Instant::now();
                    world.publisher.change(revision, &flags(revision)).await;
                    slowest = slowest.max(began.elapsed());
                }
                slowest
            };
            // Both flags name the revision that the answer was made by: half a switch would show.
            let asking = async {
                let mut halves = Vec::new();
                for turn in 0.. {
                    let key = if turn % 2 == 0 { "left" } else { "right" };
                    let (_, body) = edge.evaluate(key).await;
                    if body["value"] != body["metadata"]["version"] {
                        halves.push(body.to_string());
                    }
                    if [&body["value"], &body["metadata"]["version"]] == [&json!(last.to_string()); 2] {
                        break;
                    }
                }
                halves
            };
            let (slowest, halves) = tokio::join!(publishing, asking);
            if slowest < STALL {
                assert!(halves.is_empty(), "{binary}: {halves:?}");
                assert_eq!(edge.metric(FORCED_SWAPS).await, forced, "{binary}");
                break;
            }
            assert!(round + 1 < ROUNDS_MAX, "the machine is too busy: a change took {slowest:?} to publish");
        }
    }
}

#[tokio::test]
async fn older_and_repeated_values_change_nothing() {
    for binary in binaries() {
        let world = World::on(&binary).await;
        let edge = world.ready_edge().await;
        world.publisher.change(5, &[boolean("checkout", false)]).await;
        edge.wait_for_value("checkout", json!(false)).await;
        // Out of order, older, and again.
        world.publisher.put_environment(3).await;
        world.publisher.put_flag(4, &boolean("checkout", true)).await;
        world.publisher.put_environment(4).await;
        world.publisher.put_flag(5, &boolean("checkout", false)).await;
        world.publisher.put_environment(5).await;
        world.publisher.change(6, &[text("last", "seen")]).await;
        edge.wait_for_value("last", json!("seen")).await;
        let (_, body) = edge.evaluate("checkout").await;
        assert_eq!((&body["value"], &body["metadata"]["version"]), (&json!(false), &json!("6")), "{binary}");
    }
}

#[tokio::test]
async fn a_value_whose_environment_does_not_follow_is_swapped_after_a_second_and_counted() {
    for binary in binaries() {
        let world = World::on(&binary).await;
        let edge = world.ready_edge().await;
        world.publisher.put_flag(2, &boolean("checkout", false)).await;
        edge.wait_for_value("checkout", json!(false)).await;
        let (_, body) = edge.evaluate("checkout").await;
        assert_eq!(body["metadata"]["version"], "1", "{binary}");
        assert_eq!(edge.metric(FORCED_SWAPS).await, 1.0);
        for round in 0..ROUNDS_MAX {
            let forced = edge.metric(FORCED_SWAPS).await;
            let enabled = round % 2 == 0;
            let began = Instant::now();
            world.publisher.change(3 + round, &[boolean("checkout", enabled)]).await;
            let took = began.elapsed();
            edge.wait_for_value("checkout", json!(enabled)).await;
            if took < STALL {
                assert_eq!(edge.metric(FORCED_SWAPS).await, forced, "{binary}");
                break;
            }
            assert!(round + 1 < ROUNDS_MAX, "the machine is too busy: a change took {took:?} to publish");
        }
    }
}

#[tokio::test]
async fn a_flag_deleted_or_lost_from_the_bucket_goes() {
    let world = World::new().await;
    let publisher = &world.publisher;
    publisher.put_all(1, &["a", "b", "c"].map(|key| boolean(key, true))).await;
    let edge = world.edge().await;
    edge.wait_until_ready().await;
    publisher
        .put(environment(), Entity::Flag(flag_id("a")), json!({"format": 1, "revision": 2, "deleted": true}))
        .await;
    publisher.put_environment(2).await;
    wait_for("a is gone", async || (edge.evaluate("a").await.0 == StatusCode::NOT_FOUND).then_some(())).await;

    let key = StateKey { environment: environment(), entity: Entity::Flag(flag_id("b")) }.to_string();
    let mut headers = async_nats::HeaderMap::new();
    headers.insert("KV-Operation", "DEL");
    let subject = format!("$KV.fluxgate_state.{key}");
    publisher.client().publish_with_headers(subject, headers, "".into()).await.expect("sent");
    publisher.put_environment(3).await;
    wait_for("b is gone", async || (edge.evaluate("b").await.0 == StatusCode::NOT_FOUND).then_some(())).await;
    assert_eq!(edge.evaluate("c").await.0, StatusCode::OK);
}

#[tokio::test]
async fn changes_made_while_nats_was_away_arrive() {
    for binary in binaries() {
        let mut world = World::on(&binary).await;
        let edge = world.ready_edge().await;
        for revision in 2..5 {
            world.nats.kill();
            edge.wait_until_not_ready().await;
            let (_, body) = edge.evaluate("checkout").await;
            assert_eq!(body["metadata"]["stale"], json!(true), "{body}");
            // An unknown key cannot be called wrong without NATS.
            assert_eq!(edge.evaluate_as("fg_srv_new", "checkout").await.0, StatusCode::SERVICE_UNAVAILABLE);
            world.nats.restart().await;
            let enabled = revision % 2 == 0;
            world.publisher.change(revision, &[boolean("checkout", enabled)]).await;
            wait_for("the change arrives", async || {
                let (_, body) = edge.evaluate("checkout").await;
                (body["metadata"] == json!({"flagSetId": "shop/production", "version": revision.to_string()}))
                    .then_some(())
            })
            .await;
            assert_eq!(edge.value("checkout").await, json!(enabled), "{binary}");
            edge.wait_until_ready().await;
        }
    }
}

#[tokio::test]
async fn a_prerequisite_that_changes_alone_changes_the_flags_that_need_it() {
    let world = World::new().await;
    let mut child = boolean("child", true);
    child.1["config"]["prerequisites"] = json!([{"flag": "parent", "variants": ["on"]}]);
    world.publisher.put_all(1, &[boolean("parent", true), child]).await;
    let edge = world.edge().await;
    edge.wait_until_ready().await;
    assert_eq!(edge.value("child").await, json!(true));
    // Off, then on but killed, then as before: each time only the parent is sent.
    world.publisher.change(2, &[boolean("parent", false)]).await;
    edge.wait_for_value("child", json!(false)).await;
    let (status, body) = edge.evaluate("child").await;
    assert_eq!((status, &body["reason"]), (StatusCode::OK, &json!("DISABLED")));
    assert_eq!(body["metadata"]["blockedBy"], "parent");
    let (_, body) = boolean("parent", true);
    for (revision, killed) in [(3, true), (4, false)] {
        let envelope = json!({"format": 1, "revision": revision, "killed": killed, "body": body});
        world.publisher.put(environment(), Entity::Flag(flag_id("parent")), envelope).await;
        world.publisher.put_environment(revision).await;
        edge.wait_for_value("parent", json!(!killed)).await;
        assert_eq!(edge.value("child").await, json!(!killed));
    }
}
