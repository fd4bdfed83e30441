//! Restarts, with and without NATS, and what lies on disk.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use reqwest::StatusCode;
use serde_json::json;
use shared::wire::state::Entity;

use crate::support::edge::{Edge, command, refusal};
use crate::support::publisher::{SERVER_KEY, boolean, environment, key_id};
use crate::support::{World, wait_for};

#[tokio::test]
async fn a_restart_without_nats_answers_from_disk_and_says_so() {
    let mut world = World::new().await;
    let edge = world.ready_edge().await;
    let folder = edge.stop().await;
    let mode = |path: &str| fs::metadata(folder.path().join(path)).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode("data"), mode("data/state")), (0o700, 0o600));
    world.nats.kill();

    let edge = Edge::start(&world.nats, folder).await;
    let (status, body) = edge.evaluate("checkout").await;
    assert_eq!((status, &body["value"]), (StatusCode::OK, &json!(true)));
    assert_eq!(body["metadata"], json!({"flagSetId": "shop/production", "version": "1", "stale": true}));
    let (status, body) = edge.readiness().await;
    assert_eq!((status, &body["stale"]), (StatusCode::SERVICE_UNAVAILABLE, &json!(true)));
    assert!(body["reason"].as_str().expect("a reason").starts_with("stale"), "{body}");
    assert_eq!(edge.metric("fluxgate_edge_snapshot_stale{environment=\"shop/production\"}").await, 1.0);
    assert_eq!(edge.get("/livez").await.0, StatusCode::OK);
    // Unknown here may be known elsewhere.
    assert_eq!(edge.evaluate_as("fg_srv_new", "checkout").await.0, StatusCode::SERVICE_UNAVAILABLE);

    world.nats.restart().await;
    edge.wait_until_ready().await;
    assert_eq!(edge.evaluate("checkout").await.1["metadata"].get("stale"), None);
    assert_eq!(edge.evaluate_as("fg_srv_new", "checkout").await.0, StatusCode::UNAUTHORIZED);
    world.publisher.change(2, &[boolean("checkout", false)]).await;
    edge.wait_for_value("checkout", json!(false)).await;
}

#[tokio::test]
async fn the_state_outlives_a_hard_kill_once_it_is_written() {
    let mut world = World::new().await;
    let edge = world.ready_edge().await;
    let state = edge.folder().join("data/state");
    wait_for("the state is written", async || state.exists().then_some(())).await;
    let folder = edge.kill().await;
    world.nats.kill();
    let edge = Edge::start(&world.nats, folder).await;
    assert_eq!(edge.value("checkout").await, json!(true));
}

#[tokio::test]
async fn a_revoked_key_stays_revoked() {
    let mut world = World::new().await;
    let edge = world.ready_edge().await;
    let publisher = &world.publisher;
    publisher.put_key(2, "fg_srv_revoked", json!({})).await;
    publisher.put_key(2, "fg_srv_deleted", json!({})).await;
    publisher.put_environment(2).await;
    for key in ["fg_srv_revoked", "fg_srv_deleted"] {
        wait_for("the key opens", async || (edge.evaluate_as(key, "checkout").await.0 == StatusCode::OK).then_some(()))
            .await;
    }
    publisher.put_key(3, "fg_srv_revoked", json!({"revoked": true})).await;
    let tombstone = json!({"format": 1, "revision": 3, "deleted": true});
    publisher.put(environment(), Entity::SdkKey(key_id("fg_srv_deleted")), tombstone).await;
    publisher.put_environment(3).await;
    let are_refused = async |edge: &Edge| {
        for key in ["fg_srv_revoked", "fg_srv_deleted"] {
            wait_for("the key is refused", async || {
                (edge.evaluate_as(key, "checkout").await.0 == StatusCode::UNAUTHORIZED).then_some(())
            })
            .await;
        }
    };
    are_refused(&edge).await;

    // After a restart without NATS.
    let folder = edge.stop().await;
    world.nats.kill();
    let edge = Edge::start(&world.nats, folder).await;
    for key in ["fg_srv_revoked", "fg_srv_deleted"] {
        assert_eq!(edge.evaluate_as(key, "checkout").await.0, StatusCode::UNAUTHORIZED);
    }
    // After a bucket from before the revocation, published under newer numbers.
    world.nats.restart().await;
    publisher.put_key(9, "fg_srv_revoked", json!({})).await;
    publisher.put_key(9, "fg_srv_deleted", json!({})).await;
    publisher.change(9, &[boolean("checkout", false)]).await;
    edge.wait_for_value("checkout", json!(false)).await;
    are_refused(&edge).await;
    assert_eq!(edge.evaluate_as(SERVER_KEY, "checkout").await.0, StatusCode::OK);

    // And after another restart, on what that publication left on disk.
    let folder = edge.stop().await;
    world.nats.kill();
    let edge = Edge::start(&world.nats, folder).await;
    assert_eq!(edge.evaluate("checkout").await.1["value"], json!(false));
    for key in ["fg_srv_revoked", "fg_srv_deleted"] {
        assert_eq!(edge.evaluate_as(key, "checkout").await.0, StatusCode::UNAUTHORIZED, "{key}");
    }
    world.nats.restart().await;
    edge.wait_until_ready().await;
    are_refused(&edge).await;
}

#[tokio::test]
async fn a_start_that_cannot_work_is_refused_with_the_reason() {
    let world = World::new().await;
    let edge = world.edge().await;
    let url = world.publisher.url();
    let taken = refusal(&mut command(url, edge.folder()));
    assert!(taken.contains("/data") && taken.contains("another running edge"), "{taken}");

    let folder = tempfile::tempdir().expect("a folder");
    let busy = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = busy.local_addr().expect("an address").to_string();
    let port = refusal(command(url, folder.path()).env("EDGE_SERVER__LISTEN", &address));
    assert!(port.contains(&address) && port.contains("taken"), "{port}");
    let unknown = refusal(command(url, folder.path()).env("EDGE_CACHE__SIZE", "1"));
    assert!(unknown.contains("EDGE_CACHE__SIZE") && unknown.contains("EDGE_"), "{unknown}");
    let invalid = refusal(command(url, folder.path()).env("EDGE_COUNTS__INTERVAL_SECONDS", "soon"));
    assert!(invalid.contains("EDGE_COUNTS__INTERVAL_SECONDS=5") && invalid.contains("soon"), "{invalid}");
}
