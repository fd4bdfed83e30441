//! Exposures: who got which variant of an experiment, told once.

use std::collections::BTreeSet;

use edge::count::unit;
use serde_json::{Value, json};
use shared::model::id::FlagId;

use crate::support::World;
use crate::support::edge::Edge;
use crate::support::publisher::{SERVER_KEY, boolean, environment, flag_id, halves, unit_key};

/// One exposure: flag, place, variant, unit.
type Told = (FlagId, String, String, u64);

/// All that was told, in order and with repetitions.
async fn told(world: &World) -> Vec<Told> {
    let batches = world.publisher.batches().await;
    let groups = batches.iter().flat_map(|batch| &batch.exposures);
    let told = groups.flat_map(|group| {
        assert_eq!(group.environment, environment());
        let one = |unit: &u64| (group.flag, group.place.clone(), group.variant.to_string(), *unit);
        group.units.iter().map(one).collect::<Vec<_>>()
    });
    let mut told: Vec<_> = told.collect();
    told.sort();
    told
}

/// An edge with flags of all sorts: an experiment by user, one by company through a rule, and two that are none.
async fn edge(world: &World, settings: &[(&str, &str)]) -> Edge {
    let mut company = halves("company", "experiment", "targetingKey");
    company.1["config"]["rules"] = json!([{
        "id": "00000000-0000-0000-0000-000000000007",
        "conditions": {"attribute": "plan", "operator": "equals", "values": ["pro"]},
        "serve": {"split": {"bucket_by": "company.id", "seed": "s",
                            "ranges": [{"start": 0, "end": 100_000, "variant": "on"}]}},
    }]);
    company.1["config"]["targets"] = json!([{"variant": "off", "keys": ["chosen"]}]);
    let mut plain = boolean("plain", true);
    plain.1["flag"]["kind"] = json!("experiment");
    let flags =
        [halves("user", "experiment", "targetingKey"), company, plain, halves("rollout", "release", "targetingKey")];
    world.publisher.put_all(1, &flags).await;
    world.publisher.put_environment_with_units(2).await;
    let edge = world.edge_with(settings).await;
    edge.wait_until_ready().await;
    edge
}

async fn variant(edge: &Edge, flag: &str, context: Value) -> String {
    let (_, body) = edge.evaluate_for(SERVER_KEY, flag, context).await;
    body["variant"].as_str().expect("a variant").to_owned()
}

#[tokio::test]
async fn a_unit_is_told_once_and_only_where_chance_decided() {
    let world = World::new().await;
    let edge = edge(&world, &[]).await;
    let mut expected = BTreeSet::new();
    for user in ["u1", "u2", "u1", "u3", "u1"] {
        let got = variant(&edge, "user", json!({"targetingKey": user})).await;
        expected.insert((flag_id("user"), "default".to_owned(), got, unit(&unit_key(), "targetingKey", user)));
    }
    // A number is the same user as its text.
    let got = variant(&edge, "user", json!({"targetingKey": 42})).await;
    assert_eq!(variant(&edge, "user", json!({"targetingKey": "42"})).await, got);
    expected.insert((flag_id("user"), "default".into(), got, unit(&unit_key(), "targetingKey", "42")));
    let pro = json!({"targetingKey": "u1", "plan": "pro", "company": {"id": "c-1"}});
    let rule = "rule 00000000-0000-0000-0000-000000000007".to_owned();
    let got = variant(&edge, "company", pro.clone()).await;
    expected.insert((flag_id("company"), rule, got, unit(&unit_key(), "company.id", "c-1")));
    // Not by chance, not an experiment, or not alone.
    variant(&edge, "company", json!({"targetingKey": "chosen"})).await;
    variant(&edge, "plain", pro.clone()).await;
    variant(&edge, "rollout", pro.clone()).await;
    let bulk = edge.http.post(format!("{}/ofrep/v1/evaluate/flags", edge.address)).bearer_auth(SERVER_KEY);
    bulk.body(json!({"context": {"targetingKey": "bulk"}}).to_string()).send().await.expect("an answer");
    for (figure, value) in [("hits", 3.0), ("misses", 5.0)] {
        assert_eq!(edge.metric(&format!("fluxgate_edge_assignment_cache_{figure}_total")).await, value, "{figure}");
    }
    let folder = edge.stop().await;
    let all: Vec<Told> = expected.into_iter().collect();
    assert_eq!(told(&world).await, all);

    // The next process does not know what was told, and tells it again.
    let edge = Edge::start(&world.nats, folder).await;
    edge.wait_until_ready().await;
    variant(&edge, "user", json!({"targetingKey": "u1"})).await;
    edge.stop().await;
    assert_eq!(told(&world).await.len(), all.len() + 1);
}

#[tokio::test]
async fn a_cache_that_is_off_or_too_small_changes_no_answer_and_tells_more() {
    let world = World::new().await;
    let usual = edge(&world, &[]).await;
    let mut answers = Vec::new();
    for settings in ["0", "1"] {
        let edge = edge(&world, &[("EDGE_CACHE__ASSIGNMENT_MAX_CAPACITY", settings)]).await;
        let mut variants = Vec::new();
        for user in ["a", "b", "a", "b", "a", "b"] {
            let context = json!({"targetingKey": user});
            variants.push(variant(&edge, "user", context.clone()).await);
            assert_eq!(variant(&usual, "user", context).await, variants[variants.len() - 1]);
        }
        assert_eq!(edge.metric("fluxgate_edge_assignment_cache_misses_total").await, 6.0, "{settings}");
        edge.stop().await;
        answers.push(variants);
    }
    usual.stop().await;
    assert_eq!(answers[0], answers[1]);
    let units: BTreeSet<u64> = told(&world).await.into_iter().map(|told| told.3).collect();
    assert_eq!(units, ["a", "b"].map(|user| unit(&unit_key(), "targetingKey", user)).into());
}

#[tokio::test]
async fn without_a_key_to_hash_by_nobody_is_told() {
    let world = World::new().await;
    world.publisher.put_all(1, &[halves("user", "experiment", "targetingKey")]).await;
    let edge = world.edge().await;
    edge.wait_until_ready().await;
    variant(&edge, "user", json!({"targetingKey": "u1"})).await;
    assert_eq!(edge.metric("fluxgate_edge_assignment_cache_misses_total").await, 0.0);
    edge.stop().await;
    assert_eq!(told(&world).await, []);
    assert_eq!(world.publisher.counted().await, 1);
}

#[tokio::test]
async fn exposures_outlive_a_kill_once_they_are_in_the_spool() {
    let world = World::new().await;
    world.publisher.let_ingest(false);
    let edge = edge(&world, &[]).await;
    variant(&edge, "user", json!({"targetingKey": "u1"})).await;
    let in_stream = async || (!told(&world).await.is_empty()).then_some(());
    crate::support::wait_for("the first is in the stream", in_stream).await;
    variant(&edge, "user", json!({"targetingKey": "u2"})).await;
    let in_spool = async || (edge.metric("fluxgate_edge_analytics_unsent").await == 2.0).then_some(());
    crate::support::wait_for("the second is in the spool", in_spool).await;
    let folder = edge.kill().await;
    world.publisher.let_ingest(true);
    let _edge = Edge::start(&world.nats, folder).await;
    let both = async || (told(&world).await.len() == 2).then_some(());
    crate::support::wait_for("both are told", both).await;
    let expected: BTreeSet<u64> = ["u1", "u2"].map(|user| unit(&unit_key(), "targetingKey", user)).into();
    assert_eq!(told(&world).await.into_iter().map(|told| told.3).collect::<BTreeSet<_>>(), expected);
}
