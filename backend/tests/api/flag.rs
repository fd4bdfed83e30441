//! Flags and their configs.

use crate::support::new_id;
use serde_json::{Value, json};

use crate::support::{App, Person};

pub(crate) fn boolean(key: &str) -> Value {
    json!({
        "definition": {
            "key": key, "value_type": "boolean", "kind": "release", "client_visible": false,
            "variants": [{ "key": "on", "value": "true" }, { "key": "off", "value": "false" }]
        },
        "name": key
    })
}

pub(crate) fn on() -> Value {
    json!({ "enabled": true, "off_variant": "off", "default_serve": { "variant": "on" } })
}

async fn create(person: &Person, key: &str) {
    person.post("/projects/shop/flags", boolean(key)).await.expect(201);
}

const CHECKOUT: &str = "/projects/shop/flags/checkout/environments/production";

#[tokio::test]
async fn a_new_flag_is_off_everywhere_but_where_it_was_said_to_start() {
    let app = App::start().await;
    let ana = app.ana().await;
    let mut new = boolean("checkout");
    new["start"] = json!({ "production": { "enabled": true, "share": 10_000 } });
    let done = ana.post("/projects/shop/flags", new).await.expect(201);
    assert_eq!(done.body["environments"], json!(["development", "staging", "production"]));

    let flag = ana.get("/projects/shop/flags/checkout").await.expect(200).body;
    let states: Vec<(&str, bool)> = flag["environments"]
        .as_array()
        .expect("environments")
        .iter()
        .map(|e| (e["environment"].as_str().expect("a key"), e["config"]["enabled"].as_bool().expect("a state")))
        .collect();
    assert_eq!(states, [("development", false), ("staging", false), ("production", true)]);
    let ranges = &flag["environments"][2]["config"]["default_serve"]["split"]["ranges"];
    assert_eq!(
        *ranges,
        json!([{ "start": 0, "end": 10_000, "variant": "on" }, { "start": 10_000, "end": 100_000, "variant": "off" }])
    );

    let page = ana.get("/projects/shop/flags").await.expect(200).body;
    let briefs: Vec<&str> = page["items"][0]["states"]
        .as_array()
        .expect("states")
        .iter()
        .map(|s| s["brief"].as_str().expect("text"))
        .collect();
    assert_eq!(briefs, ["off", "off", "10 % on"]);
}

#[tokio::test]
async fn a_flag_that_is_wrong_is_refused_with_the_place_and_nothing_is_written() {
    let app = App::start().await;
    let ana = app.ana().await;
    create(&ana, "checkout").await;
    assert_eq!(ana.post("/projects/shop/flags", boolean("checkout")).await.expect(409).code(), "exists");
    for bad in ["/a", "a//b", "..", "is it on?", &"k".repeat(201)] {
        ana.post("/projects/shop/flags", boolean(bad)).await.expect(422);
    }
    let mut integer = boolean("limit");
    integer["definition"]["value_type"] = json!("integer");
    integer["definition"]["variants"] = json!([{ "key": "big", "value": "1234567890123456789" }]);
    let refused = ana.post("/projects/shop/flags", integer).await.expect(422);
    assert_eq!(refused.fields(), ["definition.variants[0].value"]);

    let mut config = on();
    config["rules"] = json!([{ "id": new_id(), "serve": { "variant": "purple" },
        "conditions": { "all": [{ "attribute": "plan", "operator": "equals", "values": [] }] } }]);
    let refused = ana.put(CHECKOUT, 1, json!({ "config": config })).await.expect(422);
    assert_eq!(refused.fields(), ["config.rules[0].conditions.all[0].values", "config.rules[0].serve.variant"]);
    config["rules"] = json!([{ "id": new_id(), "serve": { "variant": "on" },
        "conditions": { "all": [{ "operator": "in_segment", "values": ["nobody"] }] } }]);
    let refused = ana.put(CHECKOUT, 1, json!({ "config": config })).await.expect(422);
    assert_eq!(refused.fields(), ["config.rules[0].conditions.all[0].values[0]"]);
    assert_eq!(ana.get("/projects/shop/flags/checkout").await.body["environments"][2]["version"], 1);
}

#[tokio::test]
async fn the_second_of_two_writers_gets_412_and_nothing_is_lost() {
    let app = App::start().await;
    let ana = app.ana().await;
    create(&ana, "checkout").await;
    let first = ana.put(CHECKOUT, 1, json!({ "config": on(), "note": "launch" })).await.expect(200);
    assert_eq!(first.body["environments"], json!(["production"]));
    let second = ana.put(CHECKOUT, 1, json!({ "config": on() })).await.expect(412);
    assert_eq!(second.code(), "stale");
    let flag = ana.get("/projects/shop/flags/checkout").await.body;
    assert_eq!((&flag["environments"][2]["version"], &flag["environments"][2]["note"]), (&json!(2), &json!("launch")));
    let missing = ana.send(reqwest::Method::PUT, CHECKOUT, Some(json!({ "config": on() })), &[]).await.expect(428);
    assert_eq!(missing.code(), "if_match_missing");
}

#[tokio::test]
async fn a_name_changes_no_environment_and_a_variant_in_use_cannot_go() {
    let app = App::start().await;
    let ana = app.ana().await;
    let theme = json!({
        "definition": { "key": "theme", "value_type": "string", "kind": "experiment", "client_visible": true,
            "variants": [{ "key": "blue", "value": "#00f" }, { "key": "red", "value": "#f00" }, { "key": "none", "value": "" }] },
        "name": "Theme"
    });
    ana.post("/projects/shop/flags", theme).await.expect(201);
    let renamed =
        ana.patch("/projects/shop/flags/theme", 1, json!({ "name": "Colours", "tags": ["web"] })).await.expect(200);
    assert_eq!(renamed.body["environments"], json!([]));
    let without_blue = json!([{ "key": "red", "value": "#f00" }, { "key": "none", "value": "" }]);
    let refused = ana.patch("/projects/shop/flags/theme", 2, json!({ "variants": without_blue })).await.expect(422);
    assert!(refused.fields().contains(&"environments.production.default_serve.variant"), "{}", refused.body);
    let brighter =
        json!([{ "key": "blue", "value": "#11f" }, { "key": "red", "value": "#f00" }, { "key": "none", "value": "" }]);
    let changed = ana.patch("/projects/shop/flags/theme", 2, json!({ "variants": brighter })).await.expect(200);
    assert_eq!(changed.body["environments"].as_array().map(Vec::len), Some(3), "a value is in every environment");
}

#[tokio::test]
async fn a_key_with_slashes_is_one_part_of_the_path() {
    let app = App::start().await;
    let ana = app.ana().await;
    create(&ana, "team:checkout/theme.v2").await;
    let flag = ana.get("/projects/shop/flags/team:checkout%2Ftheme.v2").await.expect(200);
    assert_eq!(flag.body["definition"]["key"], "team:checkout/theme.v2");
    assert_eq!(ana.get("/projects/shop/flags/a%2F%2Fb").await.expect(404).code(), "not_found");
}

#[tokio::test]
async fn a_list_pages_through_everything_once_in_both_orders() {
    let app = App::start().await;
    let ana = app.ana().await;
    for n in 0..7 {
        create(&ana, &format!("flag-{n}")).await;
    }
    for sort in ["changed", "key"] {
        let mut seen = Vec::new();
        let mut after = String::new();
        loop {
            let page = ana.get(&format!("/projects/shop/flags?limit=3&sort={sort}{after}")).await.expect(200).body;
            assert_eq!((&page["matching"], &page["total"]), (&json!(7), &json!(7)));
            seen.extend(
                page["items"].as_array().expect("items").iter().map(|f| f["key"].as_str().expect("a key").to_owned()),
            );
            match page["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => break,
            }
        }
        let mut expected: Vec<String> = (0..7).map(|n| format!("flag-{n}")).collect();
        if sort == "changed" {
            expected.reverse();
        }
        assert_eq!(seen, expected, "{sort}");
    }
    assert_eq!(ana.get("/projects/shop/flags?q=LAG-3").await.body["matching"], 1);
    ana.get("/projects/shop/flags?limit=101").await.expect(422);
    ana.get("/projects/shop/flags?after=nonsense").await.expect(422);
    ana.get("/projects/shop/flags?sort=key&after=a%00b").await.expect(422);
    ana.get("/projects/sh%00op/flags").await.expect(404);
    ana.get("/projects/%ff/flags").await.expect(400);
    ana.get("/projects/shop/flags/%ff").await.expect(400);
    ana.get("/projects/shop/flags?kind=zz").await.expect(400);

    // One document of a newer version hides nothing but itself.
    sqlx::query("update flags set format = 99 where key = 'flag-0'").execute(&app.state.pool).await.expect("a row");
    let page = ana.get("/projects/shop/flags?limit=3&sort=key").await.expect(200).body;
    assert_eq!((page["items"].as_array().map(Vec::len), page["next"].is_string()), (Some(2), true));
    ana.get("/projects/shop/flags/flag-0").await.expect(500);
    ana.put("/projects/shop/flags/flag-3/environments/staging", 1, json!({ "config": on() })).await.expect(200);
    assert_eq!(ana.get("/projects/shop/flags?state=on&env=staging").await.body["items"][0]["key"], "flag-3");
}

#[tokio::test]
async fn a_value_that_is_too_large_to_publish_is_refused_before_anything_is_written() {
    let app = App::start().await;
    let ana = app.ana().await;
    create(&ana, "checkout").await;
    let mut config = on();
    let keys: Vec<String> = (0..9_000).map(|n| format!("{n:060}")).collect();
    config["targets"] = json!([{ "variant": "on", "keys": keys }]);
    let refused = ana.put(CHECKOUT, 1, json!({ "config": config })).await.expect(422);
    assert!(refused.body["detail"].as_str().is_some_and(|text| text.contains("524288")), "{}", refused.body);
    let keys: Vec<String> = (0..10_001).map(|n| format!("u{n}")).collect();
    config["targets"] = json!([{ "variant": "on", "keys": keys }]);
    let refused = ana.put(CHECKOUT, 1, json!({ "config": config })).await.expect(422);
    assert_eq!(refused.fields(), ["config.targets[0].keys"]);
}
