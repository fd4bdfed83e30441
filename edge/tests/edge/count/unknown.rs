//! Flags that nobody knows are counted by who asked for them.

use std::collections::BTreeMap;

use serde_json::json;
use shared::model::id::SdkKeyId;
use shared::wire::edge::{HEARTBEAT_SUBJECT, Heartbeat};

use crate::support::World;
use crate::support::publisher::{CLIENT_KEY, SERVER_KEY, boolean, environment, key_id};

type Counts = BTreeMap<(SdkKeyId, Option<String>), u64>;

async fn counts(world: &World) -> Counts {
    let mut counts = Counts::new();
    for entry in world.publisher.batches().await.iter().flat_map(|batch| &batch.unknown) {
        assert_eq!(entry.environment, environment());
        *counts.entry((entry.key, entry.flag.as_ref().map(ToString::to_string))).or_default() += entry.count;
    }
    counts
}

#[tokio::test]
async fn each_key_has_its_own_unknown_flags_and_what_can_be_no_key_is_counted_together() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let mut heartbeats = world.publisher.subscribe(HEARTBEAT_SUBJECT).await;
    for _ in 0..3 {
        edge.evaluate("chekout").await;
    }
    edge.evaluate_as(CLIENT_KEY, "chekout").await;
    for bad in ["", "no spaces", "kéy", "a//b"] {
        edge.evaluate(bad).await;
    }
    edge.evaluate("checkout").await;
    let ofrep = edge.http.post(format!("{}/ofrep/v1/evaluate/flags/by%2Fofrep", edge.address)).bearer_auth(SERVER_KEY);
    ofrep.body("{}").send().await.expect("an answer");
    // Refused before a flag is looked for, so not counted as one.
    edge.evaluate_as("fg_srv_unknown", "chekout").await;
    world.publisher.hear(&mut heartbeats, |beat: &Heartbeat| beat.counted == 10).await;
    edge.stop().await;
    let (server, client) = (key_id(SERVER_KEY), key_id(CLIENT_KEY));
    let named = |flag: &str| Some(flag.to_owned());
    let expected = [
        ((server, None), 4),
        ((server, named("by/ofrep")), 1),
        ((server, named("chekout")), 3),
        ((client, named("chekout")), 1),
    ];
    assert_eq!(counts(&world).await, Counts::from(expected));
}

#[tokio::test]
async fn an_unknown_flag_that_is_made_is_unknown_no_more() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    edge.evaluate("new").await;
    world.publisher.change(2, &[boolean("new", true)]).await;
    let mut asked = 1;
    while edge.value("new").await != json!(true) {
        asked += 1;
    }
    edge.stop().await;
    assert_eq!(counts(&world).await, Counts::from([((key_id(SERVER_KEY), Some("new".into())), asked)]));
}

#[tokio::test]
async fn made_up_flags_without_end_take_a_bounded_place() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    for number in 0..250 {
        edge.evaluate(&format!("made-up-{number}")).await;
    }
    edge.stop().await;
    let counts = counts(&world).await;
    assert_eq!(counts.values().sum::<u64>(), 250);
    // Within one interval a hundred are told apart; the machine may have taken two for all of them.
    assert!((101..=201).contains(&counts.len()), "{}", counts.len());
}
