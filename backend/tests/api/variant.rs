//! Variants: what comes, what goes, and that nobody is left with a match without a value.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::flag::boolean;
use crate::support::{App, Person, new_id};

const THEME: &str = "/projects/shop/flags/theme";

fn variants(keys: &[&str]) -> Value {
    keys.iter().map(|key| json!({ "key": key, "value": key })).collect()
}

/// A flag with three variants, half blue and half red in staging, where a rule serves red and a target blue.
async fn theme(ana: &Person) {
    let new = json!({ "definition": { "key": "theme", "value_type": "string", "kind": "experiment",
                                      "client_visible": false, "variants": variants(&["blue", "red", "none"]) },
                      "name": "Theme" });
    ana.post("/projects/shop/flags", new).await.expect(201);
    let halves = json!({ "split": { "bucket_by": "targetingKey", "seed": "s", "ranges": [
        { "start": 0, "end": 50_000, "variant": "blue" }, { "start": 50_000, "end": 100_000, "variant": "red" }] } });
    let rule = json!({ "id": new_id(), "name": "Beta", "serve": { "variant": "red" },
                       "conditions": { "all": [{ "attribute": "plan", "operator": "equals", "values": ["pro"] }] } });
    let config = json!({ "enabled": true, "off_variant": "red", "targets": [{ "variant": "red", "keys": ["u-3"] }],
                         "rules": [rule], "default_serve": halves });
    ana.put(&format!("{THEME}/environments/staging"), 1, json!({ "config": config })).await.expect(200);
}

/// A flag that needs the theme to be blue or red in staging.
async fn child(ana: &Person) {
    ana.post("/projects/shop/flags", boolean("child")).await.expect(201);
    let config = json!({ "enabled": true, "off_variant": "off", "default_serve": { "variant": "on" },
                         "prerequisites": [{ "flag": "theme", "variants": ["blue", "red"] }] });
    let path = "/projects/shop/flags/child/environments/staging";
    ana.put(path, 1, json!({ "config": config })).await.expect(200);
}

#[tokio::test]
async fn every_place_that_names_a_variant_is_told() {
    let app = App::start().await;
    let ana = app.ana().await;
    theme(&ana).await;
    child(&ana).await;
    let list = ana.get(&format!("{THEME}/variants")).await.expect(200).body;
    let red = &list["items"][1];
    let places: Vec<&str> = red["uses"]
        .as_array()
        .expect("uses")
        .iter()
        .filter(|place| place["environment"] == "staging")
        .map(|place| place["place"].as_str().expect("words"))
        .collect();
    assert_eq!(places, ["1 named key", "rule 1 Beta", "default, 50 %", "off variant"]);
    assert_eq!(red["needed_by"], json!([{ "flag": "child", "environment": "staging" }]));
    let none = &list["items"][2];
    let elsewhere = json!([
        { "environment": "development", "path": "off_variant", "place": "off variant" },
        { "environment": "production", "path": "off_variant", "place": "off variant" },
    ]);
    assert_eq!((&none["uses"], &list["version"]), (&elsewhere, &json!(1)));
}

/// G017.
#[tokio::test]
async fn a_variant_in_use_goes_only_with_a_replacement_and_everybody_else_keeps_theirs() {
    let app = App::start().await;
    let ana = app.ana().await;
    theme(&ana).await;
    child(&ana).await;
    let before = app.answers("staging", "theme", 400).await;
    let left = variants(&["blue", "none"]);
    let refused = ana.patch(THEME, 1, json!({ "variants": left })).await.expect(422);
    let fields = refused.fields();
    assert!(fields.contains(&"environments.staging.default_serve.split.ranges[1].variant"), "{fields:?}");
    assert!(fields.contains(&"environments.staging.targets[0].variant"), "{fields:?}");

    let done = ana.patch(THEME, 1, json!({ "variants": left, "replacement": { "red": "none" } })).await.expect(200);
    assert_eq!(done.body["environments"].as_array().map(Vec::len), Some(3), "the definition is everywhere");
    let after = app.answers("staging", "theme", 400).await;
    let expected: Vec<String> = before.iter().map(|answer| answer.replace("red", "none")).collect();
    assert_eq!(after, expected, "nobody else moved, and nobody matches without a value");
    assert_eq!(after.iter().collect::<BTreeSet<_>>().len(), 3, "blue, none by the split, none by the target");
    let flag = ana.get(THEME).await.expect(200).body;
    assert_eq!(flag["definition"]["variants"], left);
    let needed = &ana.get("/projects/shop/flags/child").await.body["environments"][1]["config"]["prerequisites"][0];
    assert_eq!(needed["variants"], json!(["blue", "none"]));
}

#[tokio::test]
async fn what_was_needed_twice_after_a_replacement_is_needed_once() {
    let app = App::start().await;
    let ana = app.ana().await;
    theme(&ana).await;
    child(&ana).await;
    let change = json!({ "variants": variants(&["blue", "none"]), "replacement": { "red": "blue" } });
    ana.patch(THEME, 1, change).await.expect(200);
    let needed = &ana.get("/projects/shop/flags/child").await.body["environments"][1]["config"]["prerequisites"][0];
    assert_eq!(needed["variants"], json!(["blue"]));
    let ranges = &ana.get(THEME).await.body["environments"][1]["config"]["default_serve"]["split"]["ranges"];
    let owners: Vec<&Value> = ranges.as_array().expect("ranges").iter().map(|range| &range["variant"]).collect();
    assert_eq!(owners, ["blue", "blue"]);
}

#[tokio::test]
async fn a_replacement_may_be_a_new_variant_but_not_one_that_is_not_there() {
    let app = App::start().await;
    let ana = app.ana().await;
    theme(&ana).await;
    let wrong = json!({ "variants": variants(&["blue", "none"]), "replacement": { "red": "purple" } });
    assert_eq!(ana.patch(THEME, 1, wrong).await.expect(422).fields(), ["replacement.red"]);
    let wrong = json!({ "variants": variants(&["blue", "red", "none"]), "replacement": { "red": "blue" } });
    assert_eq!(ana.patch(THEME, 1, wrong).await.expect(422).fields(), ["replacement.red"]);
    assert_eq!(ana.get(THEME).await.body["version"], 1, "nothing was written");
    let wrong = json!({ "replacement": { "purple": "blue" } });
    assert_eq!(ana.patch(THEME, 1, wrong).await.expect(422).fields(), ["replacement.purple"]);
    let change = json!({ "variants": variants(&["blue", "purple", "none"]), "replacement": { "red": "purple" } });
    ana.patch(THEME, 1, change).await.expect(200);
    let answers = app.answers("staging", "theme", 50).await;
    assert!(answers.contains(&"purple SPLIT".to_owned()), "{answers:?}");
}

/// G009.
#[tokio::test]
async fn a_new_variant_gets_nobody_until_somebody_gives_it_a_share() {
    let app = App::start().await;
    let ana = app.ana().await;
    theme(&ana).await;
    let before = app.answers("staging", "theme", 400).await;
    ana.patch(THEME, 1, json!({ "variants": variants(&["green", "blue", "red", "none"]) })).await.expect(200);
    assert_eq!(app.answers("staging", "theme", 400).await, before);
    let gap = json!({ "enabled": true, "default_serve": { "split": { "bucket_by": "targetingKey", "seed": "s", "ranges": [
        { "start": 0, "end": 50_000, "variant": "blue" }, { "start": 60_000, "end": 100_000, "variant": "red" }] } } });
    let path = format!("{THEME}/environments/staging");
    let refused = ana.put(&path, 2, json!({ "config": gap })).await.expect(422);
    assert_eq!(refused.fields(), ["config.default_serve.split.ranges"], "shares are always complete");
}

#[tokio::test]
async fn a_boolean_flag_keeps_both_its_variants() {
    let app = App::start().await;
    let ana = app.ana().await;
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    let change = json!({ "variants": [{ "key": "on", "value": "true" }], "replacement": { "off": "on" } });
    let refused = ana.patch("/projects/shop/flags/checkout", 1, change).await.expect(422);
    assert_eq!(refused.fields(), ["variants"]);
}
