//! Only the backend's confirmation lets a batch go: neither the stream's word, nor an end, nor a lost store.

use serde_json::json;
use shared::model::id::ProcessId;
use shared::wire::count::CountBatch;
use shared::wire::edge::{GOODBYE_SUBJECT, Goodbye, HEARTBEAT_SUBJECT, Heartbeat, InheritedCounts};

use crate::support::edge::Edge;
use crate::support::load::Load;
use crate::support::nats::copy_folder;
use crate::support::publisher::{Publisher, boolean};
use crate::support::{World, wait_for};

const UNSENT: &str = "fluxgate_edge_analytics_unsent";

async fn ask(edge: &Edge, times: u64) {
    for _ in 0..times {
        edge.evaluate("checkout").await;
    }
}

async fn wait_for_unsent(edge: &Edge, expected: u32) {
    let what = format!("{expected} evaluations wait");
    wait_for(&what, async || (edge.metric(UNSENT).await == f64::from(expected)).then_some(())).await;
}

/// One at first: a gathering may come between any two of several, and what it leaves behind waits for a confirmation.
async fn wait_for_stream(publisher: &Publisher, expected: u64) {
    wait_for("they are in the stream", async || (publisher.counted().await >= expected).then_some(())).await;
}

fn sum(batches: &[CountBatch], process: Option<ProcessId>) -> u64 {
    let batches = batches.iter().filter(|batch| process.is_none_or(|process| batch.process == process));
    batches.flat_map(|batch| &batch.evaluations).map(|entry| entry.count).sum()
}

#[tokio::test]
async fn a_batch_in_the_stream_stays_until_it_is_confirmed() {
    let world = World::new().await;
    world.publisher.let_ingest(false);
    let edge = world.ready_edge().await;
    ask(&edge, 1).await;
    wait_for_stream(&world.publisher, 1).await;
    assert_eq!(edge.metric(UNSENT).await, 1.0);
    assert_eq!(edge.metric("fluxgate_edge_analytics_batches_unacked").await, 1.0);
    // Everything newer waits in one piece behind it.
    ask(&edge, 6).await;
    wait_for_unsent(&edge, 7).await;
    assert_eq!(world.publisher.counted().await, 1);
    world.publisher.let_ingest(true);
    wait_for_unsent(&edge, 0).await;
    assert_eq!(sum(&world.publisher.confirmed(), None), 7);
    edge.stop().await;
    assert_eq!(sum(&world.publisher.confirmed(), None), 7);
}

#[tokio::test]
async fn a_store_wiped_between_publication_and_confirmation_costs_nothing() {
    let mut world = World::new().await;
    world.publisher.let_ingest(false);
    let edge = world.ready_edge().await;
    ask(&edge, 1).await;
    wait_for_stream(&world.publisher, 1).await;
    world.nats.kill();
    world.nats.wipe();
    ask(&edge, 6).await;
    world.nats.restart().await;
    world.publisher.make_bucket().await;
    world.publisher.make_counts().await;
    world.publisher.put_all(1, &[boolean("checkout", true)]).await;
    world.publisher.let_ingest(true);
    wait_for("all are confirmed", async || (sum(&world.publisher.confirmed(), None) == 7).then_some(())).await;
    wait_for_unsent(&edge, 0).await;
}

#[tokio::test]
async fn a_stream_deleted_and_made_anew_gets_the_batch_again_without_a_reconnection() {
    let world = World::new().await;
    world.publisher.let_ingest(false);
    let edge = world.ready_edge().await;
    ask(&edge, 1).await;
    wait_for_stream(&world.publisher, 1).await;
    ask(&edge, 4).await;
    world.publisher.drop_counts().await;
    world.publisher.make_counts().await;
    world.publisher.let_ingest(true);
    wait_for_unsent(&edge, 0).await;
    assert_eq!(sum(&world.publisher.confirmed(), None), 5);
}

#[tokio::test]
async fn what_is_unconfirmed_at_the_end_is_said_and_the_successor_brings_it_home() {
    let world = World::new().await;
    let publisher = &world.publisher;
    let mut heartbeats = publisher.subscribe(HEARTBEAT_SUBJECT).await;
    let mut goodbyes = publisher.subscribe(GOODBYE_SUBJECT).await;
    publisher.let_ingest(false);
    let edge = world.ready_edge().await;
    ask(&edge, 1).await;
    wait_for_stream(publisher, 1).await;
    ask(&edge, 6).await;
    edge.evaluate("typo").await;
    let beat = publisher.hear(&mut heartbeats, |beat: &Heartbeat| beat.counted == 8).await;
    assert_eq!((beat.unsent, beat.lost, &beat.inherited), (8, 0, &Vec::new()));
    let folder = edge.stop().await;
    let goodbye = publisher.hear(&mut goodbyes, |_: &Goodbye| true).await;
    assert_eq!((goodbye.process, goodbye.counted), (beat.process, Some(8)));

    let edge = Edge::start(&world.nats, folder).await;
    assert!(edge.log().contains("2 batches wait in the spool"), "{}", edge.log());
    let left = InheritedCounts { process: beat.process, unsent: 8 };
    let next = publisher.hear(&mut heartbeats, |next: &Heartbeat| next.process != beat.process).await;
    assert_eq!((next.inherited.as_slice(), next.unsent), (&[left][..], 0));
    ask(&edge, 2).await;
    wait_for_unsent(&edge, 10).await;
    publisher.let_ingest(true);
    wait_for_unsent(&edge, 0).await;
    let last = publisher.hear(&mut heartbeats, |next: &Heartbeat| next.inherited.is_empty()).await;
    assert_eq!((last.counted, last.unsent), (2, 0));
    let batches = publisher.confirmed();
    assert_eq!((sum(&batches, Some(beat.process)), sum(&batches, Some(next.process))), (7, 2));
    edge.wait_for_value("checkout", json!(true)).await;
}

#[tokio::test]
async fn a_confirmation_that_nobody_heard_costs_a_repetition_and_nothing_else() {
    let world = World::new().await;
    let publisher = &world.publisher;
    publisher.let_ingest(false);
    let edge = world.ready_edge().await;
    ask(&edge, 1).await;
    wait_for_stream(publisher, 1).await;
    let folder = edge.kill().await;
    publisher.let_ingest(true);
    wait_for("it is confirmed to nobody", async || (!publisher.confirmed().is_empty()).then_some(())).await;
    let edge = Edge::start(&world.nats, folder).await;
    wait_for_unsent(&edge, 0).await;
    ask(&edge, 1).await;
    wait_for("the next is confirmed", async || (sum(&publisher.confirmed(), None) == 2).then_some(())).await;
}

#[tokio::test]
async fn a_copy_of_the_folder_of_an_edge_that_goes_on_running_adds_nothing_twice() {
    let world = World::new().await;
    let publisher = &world.publisher;
    publisher.let_ingest(false);
    let edge = world.ready_edge().await;
    ask(&edge, 1).await;
    wait_for_stream(publisher, 1).await;
    // One batch is in flight, these lie open beside it, and some are only in the original.
    ask(&edge, 6).await;
    wait_for_unsent(&edge, 7).await;
    let copied = tempfile::tempdir().expect("a folder");
    copy_folder(edge.folder(), copied.path());
    ask(&edge, 5).await;
    wait_for_unsent(&edge, 12).await;
    let copy = Edge::start(&world.nats, copied).await;
    copy.wait_until_ready().await;
    ask(&copy, 2).await;
    wait_for_unsent(&copy, 9).await;

    publisher.let_ingest(true);
    wait_for_unsent(&edge, 0).await;
    wait_for_unsent(&copy, 0).await;
    let batches = publisher.confirmed();
    let original = batches[0].process;
    // Either the range that the copy knows, or the one with all that came after it.
    let of_original = sum(&batches, Some(original));
    assert!([1 + 6, 1 + 6 + 5].contains(&of_original), "{of_original}");
    assert_eq!(sum(&batches, None) - of_original, 2, "{batches:?}");
}

#[tokio::test]
async fn an_ingester_that_is_away_for_long_gets_everything() {
    let world = World::new().await;
    world.publisher.let_ingest(false);
    let edge = world.ready_edge().await;
    let mut asked = 0;
    for round in 1..=5 {
        ask(&edge, round).await;
        edge.evaluate(&format!("typo-{round}")).await;
        asked += round;
        wait_for_unsent(&edge, u32::try_from(asked + round).expect("few")).await;
    }
    world.publisher.let_ingest(true);
    wait_for_unsent(&edge, 0).await;
    let batches = world.publisher.confirmed();
    assert_eq!(sum(&batches, None), asked);
    assert_eq!(batches.iter().flat_map(|batch| &batch.unknown).map(|entry| entry.count).sum::<u64>(), 5);
}

#[tokio::test]
async fn under_load_while_everything_behind_the_edge_comes_and_goes_the_sum_is_what_was_answered() {
    let mut world = World::new().await;
    let edge = world.ready_edge().await;
    let mut load = Load::on(&edge, 8);
    for round in 1..=4 {
        load.reaches(round * 500).await;
        world.publisher.let_ingest(round % 2 == 0);
        if round == 3 {
            world.nats.kill();
            load.reaches(round * 500 + 250).await;
        }
        world.nats.restart().await;
        if round == 2 {
            world.publisher.drop_counts().await;
            load.reaches(round * 500 + 250).await;
            world.publisher.make_counts().await;
        }
        load.must_go_on();
    }
    // In the middle of the last round of sending, and with requests on their way.
    edge.begin_to_stop();
    let mut answered = load.end().await;
    let folder = edge.ended().await;
    world.publisher.let_ingest(true);
    let edge = Edge::start(&world.nats, folder).await;
    ask(&edge, 1).await;
    answered += 1;
    let are_home = async || (sum(&world.publisher.confirmed(), None) >= answered).then_some(());
    wait_for("all are confirmed", are_home).await;
    wait_for_unsent(&edge, 0).await;
    edge.stop().await;
    assert_eq!(sum(&world.publisher.confirmed(), None), answered);
}
