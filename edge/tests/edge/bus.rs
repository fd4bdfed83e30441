//! A NATS that comes and goes, loses what it had, or says odd things.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_nats::jetstream::{self, stream};
use futures::StreamExt;
use reqwest::StatusCode;
use serde_json::json;
use shared::wire::state::{ENVIRONMENT_BYTES_MAX, Entity, StateKey};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::support::edge::Edge;
use crate::support::load::Load;
use crate::support::nats::binaries;
use crate::support::publisher::{Publisher, boolean, environment, flag_id, text};
use crate::support::{World, is_long, wait_for};

const READS: &str = "fluxgate_edge_bucket_reads_total";

async fn bucket(publisher: &Publisher) -> stream::Stream {
    let context = jetstream::new(publisher.client().clone());
    context.get_stream("KV_fluxgate_state").await.expect("the bucket")
}

/// Waits until the edge answers by this revision, with nothing stale about it.
async fn wait_for_revision(edge: &Edge, revision: u64) {
    let metadata = json!({"flagSetId": "shop/production", "version": revision.to_string()});
    wait_for(&format!("revision {revision} arrives"), async || {
        (edge.evaluate("checkout").await.1["metadata"] == metadata).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_consumer_deleted_on_the_server_is_made_again_without_a_gap() {
    for binary in binaries() {
        let world = World::on(&binary).await;
        let edge = world.ready_edge().await;
        let stream = bucket(&world.publisher).await;
        for round in 0..3 {
            let reads = edge.metric(READS).await;
            let consumer = stream.consumer_names().next().await.expect("a consumer").expect("its name");
            stream.delete_consumer(&consumer).await.expect("deleted");
            let revision = 2 + round;
            let flag = text("said", &format!("after loss {round}"));
            world.publisher.change(revision, &[boolean("checkout", true), flag]).await;
            edge.wait_for_value("said", json!(format!("after loss {round}"))).await;
            wait_for_revision(&edge, revision).await;
            wait_for("the bucket is read again", async || (edge.metric(READS).await > reads).then_some(())).await;
        }
        edge.wait_until_ready().await;
    }
}

#[tokio::test]
async fn a_store_put_back_from_a_copy_takes_nothing_back_and_is_followed_on() {
    for binary in binaries() {
        let mut world = World::on(&binary).await;
        world.publisher.put_all(5, &[boolean("checkout", false), boolean("later", false)]).await;
        let edge = world.edge().await;
        edge.wait_until_ready().await;
        world.nats.kill();
        let copy = world.nats.copy_store();
        world.nats.restart().await;
        for revision in 6..=9 {
            world.publisher.change(revision, &[boolean("checkout", true)]).await;
        }
        wait_for_revision(&edge, 9).await;

        world.nats.kill();
        world.nats.put_store_back(copy.path());
        world.nats.restart().await;
        wait_for("the edge sees that the bucket is behind", async || {
            let (_, body) = edge.readiness().await;
            body["reason"].as_str()?.contains("does not hold everything").then_some(())
        })
        .await;
        let (_, body) = edge.evaluate("checkout").await;
        assert_eq!((&body["value"], &body["metadata"]["stale"]), (&json!(true), &json!(true)), "{binary}");
        // The publisher finds its bucket behind and puts what is missing.
        world.publisher.change(9, &[boolean("checkout", true)]).await;
        wait_for_revision(&edge, 9).await;
        world.publisher.change(10, &[boolean("later", true)]).await;
        edge.wait_for_value("later", json!(true)).await;
        edge.wait_until_ready().await;
    }
}

#[tokio::test]
async fn the_last_messages_lost_from_the_bucket_are_answered_on_until_they_come_again() {
    for binary in binaries() {
        let world = World::on(&binary).await;
        let edge = world.ready_edge().await;
        world.publisher.change(2, &[boolean("checkout", false)]).await;
        wait_for_revision(&edge, 2).await;
        // As after a crash of the server before it had them on disk.
        let stream = bucket(&world.publisher).await;
        for entity in [Entity::Flag(flag_id("checkout")), Entity::Environment] {
            let subject = format!("$KV.fluxgate_state.{}", StateKey { environment: environment(), entity });
            stream.purge().filter(subject).await.expect("lost");
        }
        assert_eq!(edge.value("checkout").await, json!(false));
        let folder = edge.stop().await;
        let edge = Edge::start(&world.nats, folder).await;
        wait_for("the bucket is read", async || (edge.metric(READS).await > 0.0).then_some(())).await;
        for _ in 0..20 {
            let (status, body) = edge.evaluate("checkout").await;
            assert_eq!((status, &body["value"]), (StatusCode::OK, &json!(false)), "{binary}");
            assert_eq!(body["metadata"]["stale"], json!(true), "{binary}");
        }
        world.publisher.put_all(2, &[boolean("checkout", false)]).await;
        wait_for_revision(&edge, 2).await;
        world.publisher.change(3, &[boolean("checkout", true)]).await;
        edge.wait_for_value("checkout", json!(true)).await;
        edge.wait_until_ready().await;
    }
}

#[tokio::test]
async fn a_server_restarted_again_and_again_under_changes_and_requests_loses_nothing() {
    let restarts = if is_long() { 60 } else { 6 };
    for binary in binaries() {
        let mut world = World::on(&binary).await;
        let edge = world.ready_edge().await;
        let mut load = Load::on(&edge, 4);
        let World { nats, publisher } = &mut world;
        let is_over = AtomicBool::new(false);
        let changing = async {
            let mut revision = 1;
            while !is_over.load(Ordering::Relaxed) || revision < 20 {
                revision += 1;
                let said = text("said", &revision.to_string());
                publisher.change(revision, &[boolean("checkout", revision % 2 == 0), said]).await;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            revision
        };
        let restarting = async {
            for _ in 0..restarts {
                tokio::time::sleep(Duration::from_millis(300)).await;
                nats.restart().await;
            }
            is_over.store(true, Ordering::Relaxed);
        };
        let (revision, ()) = tokio::join!(changing, restarting);
        wait_for_revision(&edge, revision).await;
        edge.wait_for_value("said", json!(revision.to_string())).await;
        edge.wait_until_ready().await;
        load.must_go_on();
        load.end().await;
        let evaluated = edge.evaluated().await;
        edge.stop().await;
        assert_eq!(world.publisher.counted().await, evaluated, "{binary}");
    }
}

#[tokio::test]
async fn times_in_messages_are_held_against_the_clock_of_the_edge_alone() {
    let world = World::new().await;
    let publisher = &world.publisher;
    let at = |seconds: i64| {
        // A publisher whose clock is a minute off writes times that are a minute off.
        let time = OffsetDateTime::from(std::time::UNIX_EPOCH + edge_time()) + time::Duration::seconds(seconds);
        time.format(&Rfc3339).expect("a time")
    };
    let since = |key: &str, seconds: i64| {
        let mut flag = boolean(key, true);
        flag.1["config"]["default_serve"] = json!({"variant": "off"});
        flag.1["config"]["rules"] = json!([{
            "id": uuid::Uuid::from_u128(9), "serve": {"variant": "on"},
            "conditions": {"attribute": "$now", "operator": "after", "values": [at(seconds)]},
        }]);
        flag
    };
    publisher.put_key(1, "fg_srv_expired", json!({"expires_at": at(-60)})).await;
    publisher.put_key(1, "fg_srv_expiring", json!({"expires_at": at(60)})).await;
    publisher.put_all(1, &[boolean("checkout", true), since("past", -60), since("future", 60)]).await;
    let edge = world.edge().await;
    edge.wait_until_ready().await;
    assert_eq!(edge.evaluate_as("fg_srv_expired", "checkout").await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(edge.evaluate_as("fg_srv_expiring", "checkout").await.0, StatusCode::OK);
    assert_eq!([edge.value("past").await, edge.value("future").await], [json!(true), json!(false)]);
}

/// Since 1970, by the clock that the edge, on the same machine, goes by.
fn edge_time() -> Duration {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let written = file.as_file().metadata().expect("its data").modified().expect("its time");
    written.duration_since(std::time::UNIX_EPOCH).expect("after 1970")
}

#[tokio::test]
async fn an_unreadable_flag_is_killed_by_a_server_that_was_away() {
    for binary in binaries() {
        let mut world = World::on(&binary).await;
        let edge = world.ready_edge().await;
        world.nats.kill();
        edge.wait_until_not_ready().await;
        world.nats.restart().await;
        let strange = json!({"format": 9, "revision": 2, "killed": true, "body": {"flag": {"key": "checkout"}}});
        world.publisher.put(environment(), Entity::Flag(flag_id("checkout")), strange).await;
        world.publisher.put_environment(2).await;
        wait_for("the kill is obeyed", async || {
            let (_, body) = edge.evaluate("checkout").await;
            (body["value"] == json!(false) && body["reason"] == "DISABLED").then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_large_environment_is_read_swapped_and_kept_while_answers_go_on() {
    // The most that a backend publishes, or a part of it that every run can afford.
    let bytes = if is_long() { ENVIRONMENT_BYTES_MAX } else { ENVIRONMENT_BYTES_MAX / 16 };
    const FLAG_BYTES: usize = 50_000;
    for binary in binaries() {
        let world = World::on(&binary).await;
        let publisher = &world.publisher;
        let filling = |letter: &str| -> Vec<_> {
            let keys = (0..bytes / FLAG_BYTES).map(|n| format!("filling-{n}"));
            keys.map(|key| text(&key, &letter.repeat(FLAG_BYTES))).collect()
        };
        let flags = |letter: &str, is_on: bool| [filling(letter), vec![boolean("checkout", is_on)]].concat();
        publisher.put_all(1, &flags("a", true)).await;
        let began = Instant::now();
        let edge = world.edge().await;
        edge.wait_until_ready().await;
        let ready = began.elapsed();

        let mut load = Load::on(&edge, 2);
        // Everything changes at once: a bucket made anew, as after a restored backup.
        publisher.drop_bucket().await;
        edge.wait_until_not_ready().await;
        publisher.make_bucket().await;
        publisher.put_all(2, &flags("b", false)).await;
        edge.wait_for_value("checkout", json!(false)).await;
        edge.wait_until_ready().await;
        load.must_go_on();
        let slowest = load.slowest();
        load.end().await;
        let last = format!("filling-{}", bytes / FLAG_BYTES - 1);
        assert_eq!(edge.value(&last).await, json!("b".repeat(FLAG_BYTES)));
        let memory = edge.metric("fluxgate_edge_resident_memory_bytes").await;
        assert!(memory < (256 * 1024 * 1024 + 10 * bytes) as f64, "{memory} bytes of memory for {bytes}");

        let folder = edge.stop().await;
        let began = Instant::now();
        let edge = Edge::start(&world.nats, folder).await;
        assert_eq!(edge.value(&last).await.as_str().map(str::len), Some(FLAG_BYTES));
        let restarted = began.elapsed();
        eprintln!(
            "{bytes} bytes on {binary}: ready after {ready:?}, from disk after {restarted:?}, {} MiB resident, \
             slowest answer during the change of everything {slowest:?}",
            memory as u64 / 1024 / 1024
        );
    }
}
