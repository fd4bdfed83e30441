//! Buckets that are absent, deleted, made anew, put back, or whose server hangs.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::json;

use crate::support::edge::Edge;
use crate::support::nats::binaries;
use crate::support::publisher::{boolean, text};
use crate::support::{World, wait_for};

/// Asks without pause until `until` is done; every answer must be the flag's.
async fn answers_throughout<T>(edge: &Edge, until: impl Future<Output = T>) -> T {
    let asking = async {
        loop {
            let (status, body) = edge.evaluate("checkout").await;
            assert_eq!(status, StatusCode::OK, "{body}");
            assert!(body["value"].is_boolean(), "{body}");
        }
    };
    tokio::select! {
        never = asking => never,
        done = until => done,
    }
}

#[tokio::test]
async fn a_store_that_was_deleted_is_read_anew_and_answered_throughout() {
    for binary in binaries() {
        let mut world = World::on(&binary).await;
        let publisher = &world.publisher;
        // So many revisions that the new bucket's sequences stay below the old one's.
        for revision in 1..60 {
            publisher.put_all(revision, &[boolean("checkout", true), boolean("gone", true)]).await;
        }
        let edge = world.edge().await;
        edge.wait_until_ready().await;
        let refill = async {
            world.nats.kill();
            world.nats.wipe();
            world.nats.restart().await;
            publisher.make_bucket().await;
            publisher.put_all(59, &[boolean("checkout", true)]).await;
            publisher.change(60, &[boolean("checkout", false)]).await;
            edge.wait_for_value("checkout", json!(false)).await;
            publisher.change(61, &[boolean("checkout", true)]).await;
            edge.wait_for_value("checkout", json!(true)).await;
        };
        answers_throughout(&edge, refill).await;
        // A complete read replaces: what the new bucket does not have is gone.
        assert_eq!(edge.evaluate("gone").await.0, StatusCode::NOT_FOUND, "{binary}");
        edge.wait_until_ready().await;
    }
}

#[tokio::test]
async fn a_bucket_made_anew_over_a_standing_connection_is_noticed() {
    for binary in binaries() {
        let world = World::on(&binary).await;
        let publisher = &world.publisher;
        for revision in 1..60 {
            publisher.put_all(revision, &[boolean("checkout", true)]).await;
        }
        let edge = world.edge().await;
        edge.wait_until_ready().await;
        let refill = async {
            publisher.drop_bucket().await;
            publisher.make_bucket().await;
            publisher.put_all(60, &[boolean("checkout", false)]).await;
            edge.wait_for_value("checkout", json!(false)).await;
            publisher.change(61, &[boolean("checkout", true)]).await;
            edge.wait_for_value("checkout", json!(true)).await;
        };
        answers_throughout(&edge, refill).await;
        edge.wait_until_ready().await;
    }
}

#[tokio::test]
async fn a_bucket_put_back_from_an_older_copy_takes_nothing_back() {
    for binary in binaries() {
        let world = World::on(&binary).await;
        let publisher = &world.publisher;
        publisher.put_all(10, &[boolean("checkout", true)]).await;
        let edge = world.edge().await;
        edge.wait_until_ready().await;
        publisher.drop_bucket().await;
        publisher.make_bucket().await;
        publisher.put_all(8, &[boolean("checkout", false)]).await;
        wait_for("the edge sees that the bucket is behind", async || {
            let (_, body) = edge.readiness().await;
            let reads = edge.metric("fluxgate_edge_bucket_reads_total").await;
            (reads >= 2.0 && body["reason"].as_str()?.contains("does not hold everything")).then_some(())
        })
        .await;
        let (_, body) = edge.evaluate("checkout").await;
        assert_eq!((&body["value"], &body["metadata"]["version"]), (&json!(true), &json!("10")), "{binary}");
        // The leader raises its counter and publishes everything again.
        publisher.put_all(11, &[boolean("checkout", false)]).await;
        edge.wait_for_value("checkout", json!(false)).await;
        edge.wait_until_ready().await;
    }
}

#[tokio::test]
async fn an_edge_waits_for_a_bucket_that_does_not_exist_yet() {
    for binary in binaries() {
        let world = World::on(&binary).await;
        world.publisher.drop_bucket().await;
        let edge = world.edge().await;
        wait_for("NATS is connected", async || (edge.metric("fluxgate_edge_nats_connected").await > 0.0).then_some(()))
            .await;
        assert_eq!(edge.evaluate("checkout").await.0, StatusCode::SERVICE_UNAVAILABLE);
        world.publisher.make_bucket().await;
        world.publisher.put_all(1, &[boolean("checkout", true)]).await;
        edge.wait_for_value("checkout", json!(true)).await;
    }
}

#[tokio::test]
async fn a_bucket_whose_last_message_was_taken_out_is_not_read_for_ever() {
    let world = World::new().await;
    world.publisher.put_all(1, &[boolean("checkout", true)]).await;
    world.publisher.put_raw("stranger", "x").await;
    let context = async_nats::jetstream::new(world.publisher.client().clone());
    let stream = context.get_stream("KV_fluxgate_state").await.expect("the bucket");
    stream.purge().filter("$KV.fluxgate_state.stranger").await.expect("taken out");
    let edge = world.edge().await;
    edge.wait_until_ready().await;
    // It would be read again every four seconds; a busy machine may cause it once or twice.
    for turn in 2..6 {
        let reads = edge.metric("fluxgate_edge_bucket_reads_total").await;
        world.publisher.change(turn, &[text("turn", &turn.to_string())]).await;
        edge.wait_for_value("turn", json!(turn.to_string())).await;
        tokio::time::sleep(Duration::from_secs(6)).await;
        if edge.metric("fluxgate_edge_bucket_reads_total").await == reads {
            return;
        }
    }
    panic!("the bucket is read again and again");
}

#[tokio::test]
async fn a_server_that_hangs_is_noticed_and_followed_again_when_it_wakes() {
    for binary in binaries() {
        let world = World::on(&binary).await;
        let edge = world.ready_edge().await;
        world.nats.pause();
        answers_throughout(&edge, edge.wait_until_not_ready()).await;
        world.nats.wake();
        edge.wait_until_ready().await;
        world.publisher.change(2, &[boolean("checkout", false)]).await;
        edge.wait_for_value("checkout", json!(false)).await;
    }
}
