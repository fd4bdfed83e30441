//! What an edge tells of itself.

use serde_json::json;
use shared::wire::edge::{
    EnvironmentRevision, GOODBYE_SUBJECT, Goodbye, HEARTBEAT_SUBJECT, Heartbeat, RECEIPT_SUBJECT, Receipt,
};

use crate::support::World;
use crate::support::edge::Edge;
use crate::support::publisher::{Publisher, boolean, environment};

#[tokio::test]
async fn every_swap_has_a_receipt_and_the_end_a_goodbye() {
    let mut world = World::new().await;
    let publisher = &world.publisher;
    let mut receipts = publisher.subscribe(RECEIPT_SUBJECT).await;
    let mut heartbeats = publisher.subscribe(HEARTBEAT_SUBJECT).await;
    let mut goodbyes = publisher.subscribe(GOODBYE_SUBJECT).await;
    let edge = world.ready_edge().await;
    let first = publisher.hear(&mut receipts, |_: &Receipt| true).await;
    assert_eq!((first.environment, first.revision, first.name.as_str()), (environment(), 1, "edge-1"));
    for revision in 2..5 {
        publisher.change(revision, &[boolean("checkout", revision % 2 == 0)]).await;
        let receipt = publisher.hear(&mut receipts, |receipt: &Receipt| receipt.revision == revision).await;
        assert_eq!(receipt.process, first.process);
    }
    edge.evaluate("checkout").await;
    let beat = publisher.hear(&mut heartbeats, |beat: &Heartbeat| beat.counted == 1).await;
    assert_eq!(beat.environments, [EnvironmentRevision { environment: environment(), revision: 4 }]);
    assert_eq!((beat.process, &beat.predecessors), (first.process, &Vec::new()));
    assert!(beat.memory_bytes > 1_000_000, "{beat:?}");
    publisher.hear(&mut heartbeats, |beat: &Heartbeat| beat.counted == 1 && beat.unsent == 0).await;

    let folder = edge.stop().await;
    let goodbye = publisher.hear(&mut goodbyes, |_: &Goodbye| true).await;
    assert_eq!(goodbye.process, first.process);

    // A process that dies unheard leaves the place to the one before it, which the successor on the folder names.
    world.nats.kill();
    let unheard = Edge::start(&world.nats, folder).await;
    assert_eq!(unheard.value("checkout").await, json!(true));
    let folder = unheard.kill().await;
    world.nats.restart().await;
    let publisher = &Publisher::new(&world.nats).await;
    let mut heartbeats = publisher.subscribe(HEARTBEAT_SUBJECT).await;
    let edge = Edge::start(&world.nats, folder).await;
    let next = publisher.hear(&mut heartbeats, |beat: &Heartbeat| beat.process != first.process).await;
    assert_eq!(next.predecessors, [first.process]);
    // The next one names both: nobody may have listened while this one lived.
    let folder = edge.kill().await;
    let edge = Edge::start(&world.nats, folder).await;
    let last = publisher.hear(&mut heartbeats, |beat: &Heartbeat| beat.predecessors.len() == 2).await;
    assert_eq!(last.predecessors, [next.process, first.process]);
    edge.wait_for_value("checkout", json!(true)).await;
}

#[tokio::test]
async fn a_complete_read_is_answered_with_a_receipt_too() {
    let world = World::new().await;
    let publisher = &world.publisher;
    let mut receipts = publisher.subscribe(RECEIPT_SUBJECT).await;
    let edge = world.ready_edge().await;
    let first = publisher.hear(&mut receipts, |_: &Receipt| true).await;
    assert_eq!((first.environment, first.revision), (environment(), 1));
    // The outage is the bucket's alone: who listens stays connected.
    publisher.drop_bucket().await;
    edge.wait_until_not_ready().await;
    publisher.make_bucket().await;
    publisher.put_all(1, &[boolean("checkout", true)]).await;
    let again = publisher.hear(&mut receipts, |_: &Receipt| true).await;
    assert_eq!(again, first);
    edge.wait_until_ready().await;
}
