//! Counts come home exactly once.

use serde_json::json;
use shared::model::id::ProcessId;
use shared::wire::count::Mode;

use crate::support::edge::Edge;
use crate::support::load::Load;
use crate::support::publisher::{boolean, environment, flag_id, key_id, text};
use crate::support::{World, wait_for};

async fn wait_for_count(world: &World, expected: u64) {
    wait_for(&format!("{expected} evaluations are in the stream"), async || {
        (world.publisher.counted().await >= expected).then_some(())
    })
    .await;
    assert_eq!(world.publisher.counted().await, expected);
}

#[tokio::test]
async fn every_place_and_variant_is_counted_as_it_answered() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    for _ in 0..3 {
        edge.evaluate("checkout").await;
    }
    edge.evaluate("nowhere").await;
    edge.evaluate_as("fg_cli_test", "checkout").await;
    world.publisher.change(2, &[boolean("checkout", false)]).await;
    edge.wait_for_value("checkout", json!(false)).await;
    edge.stop().await;
    let batches = world.publisher.batches().await;
    let mut counts: Vec<(String, Option<String>, u64)> = Vec::new();
    for entry in batches.iter().flat_map(|batch| &batch.evaluations) {
        assert_eq!((entry.environment, entry.flag, entry.mode), (environment(), flag_id("checkout"), Mode::Single));
        match counts.iter_mut().find(|known| known.0 == entry.place && known.1 == entry.variant) {
            Some(known) => known.2 += entry.count,
            None => counts.push((entry.place.clone(), entry.variant.clone(), entry.count)),
        }
    }
    counts.sort();
    let (before, after): (Vec<_>, Vec<_>) = counts.into_iter().partition(|count| count.0 != "default");
    let on = after.iter().map(|count| count.2).sum::<u64>();
    assert!(on >= 3 && after.iter().all(|count| count.1.as_deref() == Some("on")), "{after:?}");
    assert_eq!(before[0], ("error FLAG_NOT_FOUND".into(), None, 1));
    assert_eq!((before[1].0.as_str(), before[1].1.as_deref()), ("off", Some("off")));
    let keys = batches.iter().flat_map(|batch| &batch.keys).filter(|entry| entry.key == key_id("fg_cli_test"));
    assert_eq!(keys.map(|entry| entry.count).sum::<u64>(), 1);
}

#[tokio::test]
async fn a_stop_under_load_loses_and_invents_nothing() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let load = Load::on(&edge, 16);
    load.reaches(2_000).await;
    edge.begin_to_stop();
    let answered = load.end().await;
    edge.ended().await;
    assert_eq!(world.publisher.counted().await, answered);
}

#[tokio::test]
async fn a_thousand_updates_of_the_flag_being_counted_lose_nothing() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let load = Load::on(&edge, 8);
    for revision in 2..1_002 {
        // Its rules come and go, so that its cells are retired again and again.
        let mut flag = boolean("checkout", true);
        let rules: Vec<_> = (0..revision % 3)
            .map(|n| json!({"id": uuid::Uuid::from_u128(u128::from(n + revision)), "serve": {"variant": "on"}}))
            .collect();
        flag.1["config"]["rules"] = json!(rules);
        world.publisher.change(revision, &[flag]).await;
    }
    world.publisher.change(1_002, &[text("last", "seen")]).await;
    edge.wait_for_value("last", json!("seen")).await;
    let asked = load.end().await;
    edge.stop().await;
    let batches = world.publisher.batches().await;
    let checkout =
        batches.iter().flat_map(|batch| &batch.evaluations).filter(|entry| entry.flag == flag_id("checkout"));
    assert_eq!(checkout.map(|entry| entry.count).sum::<u64>(), asked);
}

#[tokio::test]
async fn a_successor_sends_what_a_killed_process_left_under_its_name() {
    let mut world = World::new().await;
    let edge = world.ready_edge().await;
    for _ in 0..5 {
        edge.evaluate("checkout").await;
    }
    wait_for_count(&world, 5).await;
    let first = world.publisher.batches().await[0].process;
    // With NATS away, everything newer stays in the spool.
    world.nats.kill();
    edge.wait_until_not_ready().await;
    for _ in 0..7 {
        edge.evaluate("checkout").await;
    }
    let gathered = async || (edge.metric("fluxgate_edge_analytics_unsent").await == 7.0).then_some(());
    wait_for("the counts are in the spool", gathered).await;
    let folder = edge.kill().await;
    world.nats.restart().await;

    let edge = Edge::start(&world.nats, folder).await;
    wait_for_count(&world, 12).await;
    edge.evaluate("checkout").await;
    wait_for_count(&world, 13).await;
    let batches = world.publisher.batches().await;
    let of_first: Vec<u64> =
        batches.iter().filter(|batch| batch.process == first).map(|batch| batch.sequence).collect();
    assert_eq!(of_first, (1..=of_first.len() as u64).collect::<Vec<_>>(), "without gaps");
    let sum = |is_first: bool| -> u64 {
        let batches = batches.iter().filter(|batch| (batch.process == first) == is_first);
        batches.flat_map(|batch| &batch.evaluations).map(|entry| entry.count).sum()
    };
    assert_eq!((sum(true), sum(false)), (12, 1));
}

#[tokio::test]
async fn a_stream_that_is_absent_or_full_gets_everything_once_it_is_back() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    world.publisher.drop_counts().await;
    let mut asked = 0;
    let mut ask = async |times: u64| {
        for _ in 0..times {
            edge.evaluate("checkout").await;
        }
        asked += times;
        asked
    };
    ask(4).await;
    let is_waiting = async || (edge.metric("fluxgate_edge_analytics_batches_unacked").await == 1.0).then_some(());
    wait_for("a batch waits", is_waiting).await;
    let expected = ask(4).await;
    // Room for one batch: the first fits, the next does not.
    world.publisher.make_counts_of(1).await;
    wait_for("the first batch fits", async || (!world.publisher.batches().await.is_empty()).then_some(())).await;
    let expected = expected.max(ask(4).await);
    wait_for("the next batch waits", is_waiting).await;
    world.publisher.make_counts().await;
    wait_for_count(&world, expected).await;
    let processes: Vec<ProcessId> = world.publisher.batches().await.iter().map(|batch| batch.process).collect();
    assert!(processes.iter().all(|process| *process == processes[0]));
    assert_eq!(edge.metric("fluxgate_edge_analytics_dropped_total{why=\"full\"}").await, 0.0);
    edge.stop().await;
    assert_eq!(world.publisher.counted().await, expected);
}
