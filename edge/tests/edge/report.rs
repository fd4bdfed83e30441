//! What an edge tells of itself.

use serde_json::json;
use shared::wire::edge::{
    EnvironmentRevision, GOODBYE_SUBJECT, Goodbye, HEARTBEAT_SUBJECT, Heartbeat, RECEIPT_SUBJECT, Receipt,
};

use crate::support::World;
use crate::support::edge::Edge;
use crate::support::publisher::{boolean, environment};

#[tokio::test]
async fn every_swap_has_a_receipt_and_the_end_a_goodbye() {
    let world = World::new().await;
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
    assert_eq!((beat.process, beat.predecessor), (first.process, None));
    assert!(beat.memory_bytes > 1_000_000, "{beat:?}");
    publisher.hear(&mut heartbeats, |beat: &Heartbeat| beat.counted == 1 && beat.unsent == 0).await;

    let folder = edge.stop().await;
    let goodbye = publisher.hear(&mut goodbyes, |_: &Goodbye| true).await;
    assert_eq!(goodbye.process, first.process);

    // A successor on the folder names it; so does the one after a process that died unheard.
    let edge = Edge::start(&world.nats, folder).await;
    let next = publisher.hear(&mut heartbeats, |beat: &Heartbeat| beat.process != first.process).await;
    assert_eq!(next.predecessor, Some(first.process));
    edge.wait_for_value("checkout", json!(true)).await;
}

#[tokio::test]
async fn a_complete_read_is_answered_with_a_receipt_too() {
    let mut world = World::new().await;
    let edge = world.ready_edge().await;
    world.nats.kill();
    edge.wait_until_not_ready().await;
    world.nats.restart().await;
    let publisher = crate::support::publisher::Publisher::new(&world.nats).await;
    let mut receipts = publisher.subscribe(RECEIPT_SUBJECT).await;
    edge.wait_until_ready().await;
    // The first connection's receipt may have come before anyone listened; a second outage is surely heard.
    world.publisher.change(2, &[boolean("checkout", false)]).await;
    let receipt = publisher.hear(&mut receipts, |receipt: &Receipt| receipt.revision == 2).await;
    assert_eq!(receipt.environment, environment());
}
