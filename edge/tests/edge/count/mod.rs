//! Counts come home exactly once.

mod confirmation;
mod experiment;
mod track;
mod unknown;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reqwest::StatusCode;
use serde_json::json;
use shared::evaluation::Reason;
use shared::model::id::{FlagId, ProcessId};
use shared::wire::count::Mode;
use shared::wire::state::Entity;

use crate::support::edge::Edge;
use crate::support::load::Load;
use crate::support::publisher::{FlagBody, SERVER_KEY, boolean, environment, flag_id, key_id, text};
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
    assert_eq!(before[0], ("error FLAG_NOT_FOUND".into(), None, 1), "of the flag that a client key may not see");
    assert_eq!((before[1].0.as_str(), before[1].1.as_deref()), ("off", Some("off")));
    let keys = batches.iter().flat_map(|batch| &batch.keys).filter(|entry| entry.key == key_id("fg_cli_test"));
    assert_eq!(keys.map(|entry| entry.count).sum::<u64>(), 1);
    let reasons = batches.iter().flat_map(|batch| &batch.evaluations).map(|entry| (entry.place.as_str(), entry.reason));
    for (place, reason) in reasons {
        let expected = match place {
            "default" => Reason::Static,
            "off" => Reason::Disabled,
            _ => Reason::Error,
        };
        assert_eq!(reason, Some(expected), "{place}");
    }
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

/// The flag `checkout` as it is put the `revision`th time: variants in another order each time, rules that come and go,
/// and a default that is a split now and then; it always answers `on`.
fn restless(revision: u64) -> FlagBody {
    let mut flag = boolean("checkout", true);
    let split = json!({"split": {"bucket_by": "targetingKey", "seed": "s",
                                 "ranges": [{"start": 0, "end": 100_000, "variant": "on"}]}});
    let serve = |is_split: bool| if is_split { split.clone() } else { json!({"variant": "on"}) };
    let rules: Vec<_> = (0..revision % 3)
        .map(|n| json!({"id": uuid::Uuid::from_u128(u128::from(n + 1)), "serve": serve(revision % 5 < 2)}))
        .collect();
    flag.1["config"]["rules"] = json!(rules);
    flag.1["config"]["default_serve"] = serve(revision.is_multiple_of(4));
    if revision.is_multiple_of(2)
        && let Some(variants) = flag.1["flag"]["variants"].as_array_mut()
    {
        variants.reverse();
    }
    flag
}

#[tokio::test]
async fn a_thousand_updates_of_the_flag_being_counted_lose_and_mix_up_nothing() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let load = Load::on(&edge, 8);
    for revision in 2..1_002 {
        world.publisher.change(revision, &[restless(revision)]).await;
    }
    world.publisher.change(1_002, &[text("last", "seen")]).await;
    edge.wait_for_value("last", json!("seen")).await;
    let asked = load.end().await;
    edge.stop().await;
    let batches = world.publisher.batches().await;
    let entries = batches.iter().flat_map(|batch| &batch.evaluations).filter(|entry| entry.flag == flag_id("checkout"));
    let mut counted = 0;
    for entry in entries {
        assert_eq!(entry.variant.as_deref(), Some("on"), "{entry:?}");
        let fits = match entry.reason {
            Some(Reason::Split) => true,
            Some(Reason::TargetingMatch) => entry.place.starts_with("rule "),
            Some(Reason::Static) => entry.place == "default",
            _ => false,
        };
        assert!(fits, "{entry:?}");
        counted += entry.count;
    }
    assert_eq!(counted, asked);
}

#[tokio::test]
async fn a_flag_deleted_and_made_again_under_its_key_is_counted_exactly() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let (_, body) = boolean("checkout", true);
    let old = Entity::Flag(flag_id("checkout"));
    let new = Entity::Flag(flag_id("checkout again"));
    let stops = Arc::new(AtomicBool::new(false));
    let asking = tokio::spawn({
        let (http, url, stops) = (edge.http.clone(), format!("{}/evaluate", edge.address), Arc::clone(&stops));
        async move {
            let (mut found, mut missed) = (0_u64, 0_u64);
            while !stops.load(Ordering::Relaxed) {
                let request = http.post(&url).bearer_auth(SERVER_KEY).body(r#"{"flagKey":"checkout"}"#);
                match request.send().await.expect("an answer").status() {
                    StatusCode::OK => found += 1,
                    StatusCode::NOT_FOUND => missed += 1,
                    other => panic!("{other}"),
                }
            }
            (found, missed)
        }
    });
    for round in 0..50 {
        let (gone, made) = if round % 2 == 0 { (old, new) } else { (new, old) };
        let tombstone = json!({"format": 1, "revision": 2 + 2 * round, "deleted": true});
        world.publisher.put(environment(), gone, tombstone).await;
        world.publisher.put_environment(2 + 2 * round).await;
        let flag = json!({"format": 1, "revision": 3 + 2 * round, "body": body});
        world.publisher.put(environment(), made, flag).await;
        world.publisher.put_environment(3 + 2 * round).await;
    }
    world.publisher.change(200, &[text("last", "seen")]).await;
    edge.wait_for_value("last", json!("seen")).await;
    stops.store(true, Ordering::Relaxed);
    let (found, missed) = asking.await.expect("answers");
    edge.stop().await;
    let batches = world.publisher.batches().await;
    let of_flag = |id: FlagId| -> u64 {
        let entries = batches.iter().flat_map(|batch| &batch.evaluations).filter(|entry| entry.flag == id);
        entries.map(|entry| entry.count).sum()
    };
    let both = (of_flag(flag_id("checkout")), of_flag(flag_id("checkout again")));
    assert!(both.0 > 0 && both.1 > 0, "{both:?}");
    assert_eq!(both.0 + both.1, found);
    let unknown = batches.iter().flat_map(|batch| &batch.unknown);
    let of_key = unknown.filter(|entry| entry.flag.as_ref().is_some_and(|flag| flag.as_str() == "checkout"));
    assert_eq!(of_key.map(|entry| entry.count).sum::<u64>(), missed);
}

#[tokio::test]
async fn a_successor_sends_what_a_killed_process_left_under_its_name() {
    let mut world = World::new().await;
    let edge = world.ready_edge().await;
    for _ in 0..5 {
        edge.evaluate("checkout").await;
    }
    wait_for_count(&world, 5).await;
    let all_home = async || (edge.metric("fluxgate_edge_analytics_unsent").await == 0.0).then_some(());
    wait_for("they are confirmed", all_home).await;
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
