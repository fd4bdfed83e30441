//! Who gets what stays as it is, whatever is done to a flag that does not mean to change it.

use serde_json::{Value, json};
use shared::model::split::{BUCKETS, reallocate};

use crate::flag::boolean;
use crate::reference::config;
use crate::support::{App, Person, new_id};

const CHECKOUT: &str = "/projects/shop/flags/checkout";
const STAGING: &str = "/projects/shop/flags/checkout/environments/staging";

fn split(ranges: &Value) -> Value {
    json!({ "enabled": true, "off_variant": "off",
            "default_serve": { "split": { "bucket_by": "targetingKey", "seed": "s", "ranges": ranges } } })
}

fn share(on: u32) -> Value {
    split(&json!([{ "start": 0, "end": on, "variant": "on" }, { "start": on, "end": BUCKETS, "variant": "off" }]))
}

async fn checkout(app: &App, config: Value) -> Person {
    let ana = app.ana().await;
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    ana.put(STAGING, 1, json!({ "config": config })).await.expect(200);
    ana
}

async fn stored(ana: &Person) -> Value {
    ana.get(CHECKOUT).await.expect(200).body["environments"][1].clone()
}

/// G008.
#[tokio::test]
async fn one_percent_more_moves_one_percent() {
    let app = App::start().await;
    let ana = checkout(&app, share(50_000)).await;
    let before = app.answers("staging", "checkout", 10_000).await;
    let old =
        serde_json::from_value::<Vec<_>>(stored(&ana).await["config"]["default_serve"]["split"]["ranges"].clone());
    let key = |text: &str| text.parse().expect("a key");
    let new = reallocate(BUCKETS, &old.expect("ranges"), &[(key("on"), 49_000), (key("off"), 51_000)]);
    ana.put(STAGING, 2, json!({ "config": split(&json!(new)) })).await.expect(200);
    let after = app.answers("staging", "checkout", 10_000).await;
    let moved = before.iter().zip(&after).filter(|(before, after)| before != after).count();
    assert!((50..=150).contains(&moved), "{moved} of 10,000");
}

/// G011, G016.
#[tokio::test]
async fn saving_without_a_change_and_turning_off_and_on_move_nobody() {
    let app = App::start().await;
    let ana = checkout(&app, share(20_000)).await;
    let before = app.answers("staging", "checkout", 1_000).await;
    let config = stored(&ana).await["config"].clone();
    let saved = ana.put(STAGING, 2, json!({ "config": config })).await.expect(200);
    assert_eq!(saved.body["environments"], json!([]), "nothing to publish");
    assert_eq!(app.answers("staging", "checkout", 1_000).await, before);
    let mut off = config.clone();
    off["enabled"] = json!(false);
    ana.put(STAGING, 3, json!({ "config": off })).await.expect(200);
    assert_eq!(app.answers("staging", "checkout", 1).await, ["off DISABLED"]);
    ana.put(STAGING, 4, json!({ "config": config })).await.expect(200);
    assert_eq!(app.answers("staging", "checkout", 1_000).await, before);
}

/// G012.
#[tokio::test]
async fn of_two_rules_that_match_the_first_answers_every_time() {
    let app = App::start().await;
    let rule = |variant: &str| json!({ "id": new_id(), "serve": { "variant": variant } });
    let mut config = share(50_000);
    config["rules"] = json!([rule("on"), rule("off")]);
    let ana = checkout(&app, config.clone()).await;
    assert!(app.answers("staging", "checkout", 1_000).await.iter().all(|answer| answer == "on TARGETING_MATCH"));
    config["rules"] = json!([config["rules"][1], config["rules"][0]]);
    ana.put(STAGING, 2, json!({ "config": config })).await.expect(200);
    assert!(app.answers("staging", "checkout", 1_000).await.iter().all(|answer| answer == "off TARGETING_MATCH"));
}

/// G013.
#[tokio::test]
async fn another_name_moves_nobody_and_a_key_cannot_be_changed() {
    let app = App::start().await;
    let ana = checkout(&app, share(50_000)).await;
    let before = app.answers("staging", "checkout", 1_000).await;
    let done = ana.patch(CHECKOUT, 1, json!({ "name": "Another name" })).await.expect(200);
    assert_eq!(done.body["environments"], json!([]));
    assert_eq!(app.answers("staging", "checkout", 1_000).await, before);
    ana.patch(CHECKOUT, 2, json!({ "key": "checkout-2" })).await.expect(422);
}

/// G018.
#[tokio::test]
async fn a_rule_that_gives_nobody_anything_goes_on() {
    let app = App::start().await;
    let mut config = json!({ "enabled": true, "off_variant": "off", "default_serve": { "variant": "on" } });
    config["rules"] = json!([{ "id": new_id(), "serve": { "split":
        { "bucket_by": "targetingKey", "seed": "s", "ranges": [] } } }]);
    checkout(&app, config).await;
    assert_eq!(app.answers("staging", "checkout", 2).await, ["on DEFAULT", "on DEFAULT"]);
}

/// G019, G020.
#[tokio::test]
async fn thirds_are_stored_as_they_are_and_cover_everybody() {
    let app = App::start().await;
    let thirds = json!([{ "start": 0, "end": 33_333, "variant": "on" }, { "start": 33_333, "end": 66_666, "variant": "off" },
                        { "start": 66_666, "end": 100_000, "variant": "on" }]);
    let ana = checkout(&app, split(&thirds)).await;
    assert_eq!(stored(&ana).await["config"]["default_serve"]["split"]["ranges"], thirds);
    let answers = app.answers("staging", "checkout", 1_000).await;
    assert!(answers.iter().all(|answer| answer.ends_with(" SPLIT")), "nobody is left over");
}

/// G021, G022, as far as a save: what a plan holds is checked like it.
#[tokio::test]
async fn shares_above_everybody_or_turned_around_are_refused_when_saved() {
    let app = App::start().await;
    let ana = checkout(&app, share(50_000)).await;
    let above = json!([{ "start": 0, "end": 150_000, "variant": "on" }]);
    let around = json!([{ "start": 0, "end": 120_000, "variant": "on" }, { "start": 120_000, "end": 100_000, "variant": "off" }]);
    let twice =
        json!([{ "start": 0, "end": 60_000, "variant": "on" }, { "start": 50_000, "end": 100_000, "variant": "off" }]);
    for wrong in [above, around, twice] {
        let refused = ana.put(STAGING, 2, json!({ "config": split(&wrong) })).await.expect(422);
        assert!(refused.fields()[0].starts_with("config.default_serve.split.ranges"), "{:?}", refused.fields());
    }
    let mut new = boolean("search");
    new["start"] = json!({ "staging": { "enabled": true, "share": 150_000 } });
    ana.post("/projects/shop/flags", new).await.expect(422);
}

/// G092, G093.
#[tokio::test]
async fn a_flag_that_is_off_answers_and_only_a_kill_beats_targets() {
    let app = App::start().await;
    let targets = json!([{ "variant": "on", "keys": ["u-0"] }]);
    let mut config = json!({ "enabled": false, "default_serve": { "variant": "on" }, "targets": targets });
    let ana = checkout(&app, config.clone()).await;
    assert_eq!(app.answers("staging", "checkout", 1).await, ["code default DISABLED"]);
    config["enabled"] = json!(true);
    config["off_variant"] = json!("off");
    config["default_serve"] = json!({ "variant": "off" });
    ana.put(STAGING, 2, json!({ "config": config })).await.expect(200);
    assert_eq!(app.answers("staging", "checkout", 2).await, ["on TARGETING_MATCH", "off DEFAULT"]);
    let kill = json!({ "environments": ["staging"], "reason": "payments fail" });
    ana.post(&format!("{CHECKOUT}/kill"), kill).await.expect(200);
    assert_eq!(app.answers("staging", "checkout", 2).await, ["off DISABLED", "off DISABLED"]);
}

/// G095, G096, G097.
#[tokio::test]
async fn a_second_save_is_told_and_edits_of_different_parts_are_both_kept() {
    let app = App::start().await;
    let ana = checkout(&app, share(50_000)).await;
    let ben = app.member("Ben", Some("editor")).await;
    ben.put(STAGING, 2, json!({ "config": share(60_000) })).await.expect(200);
    let refused = ana.put(STAGING, 2, json!({ "config": share(10_000) })).await.expect(412);
    assert!(refused.body["detail"].as_str().is_some_and(|text| text.contains("you saw version 2, now it is 3")));
    // The flag itself has a version of its own, so its description is no conflict with a share.
    ana.patch(CHECKOUT, 1, json!({ "description": "The new one" })).await.expect(200);
    let mine = stored(&ana).await;
    assert_eq!(mine["config"]["default_serve"]["split"]["ranges"][0]["end"], 60_000);
    ana.put(STAGING, 3, json!({ "config": mine["config"] })).await.expect(200);
}

/// G080, G082, G083.
#[tokio::test]
async fn a_prerequisite_alone_is_a_change_and_a_shared_one_is_no_cycle() {
    let app = App::start().await;
    let ana = checkout(&app, config(&[], &[])).await;
    for key in ["a", "b", "parent"] {
        ana.post("/projects/shop/flags", boolean(key)).await.expect(201);
    }
    let save = async |key: &str, version, parents: &[&str]| {
        let path = format!("/projects/shop/flags/{key}/environments/staging");
        ana.put(&path, version, json!({ "config": config(parents, &[]) })).await
    };
    let before = app.answers("staging", "checkout", 1).await;
    assert_eq!(before, ["off STATIC"]);
    let done = save("checkout", 2, &["parent"]).await.expect(200);
    assert_eq!(done.body["environments"], json!(["staging"]), "edges are told");
    assert_eq!(app.answers("staging", "checkout", 1).await, ["off DISABLED"]);
    save("a", 1, &["parent"]).await.expect(200);
    save("b", 1, &["parent"]).await.expect(200);
    save("checkout", 3, &["a", "b"]).await.expect(200);
    save("parent", 1, &["checkout"]).await.expect(422);
    save("checkout", 4, &["nope"]).await.expect(422);
}
