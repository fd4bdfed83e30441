//! The second of two saves: nothing that was typed is lost.

use serde_json::{Value, json};

use super::{Shop, turn_on};

const STAGING: &str = "/projects/shop/flags/checkout/environments/staging";

fn config(enabled: bool, serve: &str) -> Value {
    json!({ "enabled": enabled, "off_variant": "off", "default_serve": { "variant": serve } })
}

#[tokio::test]
async fn two_edits_that_do_not_overlap_come_back_put_together() {
    let shop = Shop::start().await;
    shop.ben.put(STAGING, 1, json!({ "config": config(true, "on"), "note": "launch" })).await.expect(200);
    let first = shop.ben.put(STAGING, 2, json!({ "config": config(false, "on") })).await.expect(200).body;
    let before = shop.state_of("staging").await;
    let late = shop.eve.put(STAGING, 2, json!({ "config": config(true, "off") })).await.expect(412);
    assert_eq!(
        (late.code(), late.headers["content-type"].to_str().expect("text")),
        ("stale", "application/problem+json")
    );
    let merge = &late.body["merge"];
    assert_eq!(
        (&merge["theirs_version"], &merge["theirs_revision"], &merge["by"]),
        (&json!(3), &first["revision"], &json!("Ben"))
    );
    assert_eq!(merge["base"]["enabled"], true);
    assert_eq!(
        (&merge["merged"]["enabled"], &merge["merged"]["default_serve"]),
        (&json!(false), &json!({ "variant": "off" }))
    );
    assert_eq!(merge["conflicts"], json!([]));
    assert_eq!(shop.state_of("staging").await, before, "nothing is written");
    shop.eve.put(STAGING, 3, json!({ "config": merge["merged"] })).await.expect(200);
}

#[tokio::test]
async fn what_both_changed_is_listed_with_all_three_and_a_save_without_a_change_is_theirs() {
    let shop = Shop::start().await;
    shop.ben.put(STAGING, 1, json!({ "config": config(true, "on") })).await.expect(200);
    let base = shop.ben.get("/projects/shop/flags/checkout").await.body["environments"][1]["config"].clone();
    shop.ben.put(STAGING, 2, json!({ "config": config(true, "off") })).await.expect(200);
    let mut mine = config(true, "on");
    mine["off_variant"] = json!("on");
    mine["default_serve"] = json!({ "split": { "bucket_by": "targetingKey", "algorithm": "murmur3", "seed": "s", "ranges": [
        { "start": 0, "end": 10, "variant": "on" }, { "start": 10, "end": 100_000, "variant": "off" }] } });
    let late = shop.eve.put(STAGING, 2, json!({ "config": mine })).await.expect(412);
    let conflicts = late.body["merge"]["conflicts"].as_array().expect("conflicts");
    assert_eq!((conflicts.len(), &conflicts[0]["field"]), (1, &json!("default_serve")));
    let said: Vec<&Value> = ["base", "theirs", "mine"].iter().map(|side| &conflicts[0][side]["sentence"]).collect();
    assert_eq!(said[..2], [&json!("on"), &json!("off")]);
    assert_eq!(conflicts[0]["mine"]["value"], mine["default_serve"]);
    assert_eq!(late.body["merge"]["merged"]["off_variant"], "on", "the rest of mine is kept");

    let same = shop.eve.put(STAGING, 2, json!({ "config": base })).await.expect(412);
    assert_eq!(same.body["merge"]["merged"], same.body["merge"]["theirs"]);
    assert_eq!(same.body["merge"]["conflicts"], json!([]));
}

#[tokio::test]
async fn other_stale_writes_say_so_without_a_merge() {
    let shop = Shop::start().await;
    let late = shop.eve.post(super::CHANGESETS, json!({ "changes": [turn_on("staging", 9)] })).await.expect(412);
    assert_eq!((late.code(), late.body.get("merge")), ("stale", None));
    let never = shop.eve.put(STAGING, 9, json!({ "config": config(true, "on") })).await.expect(412);
    assert_eq!((never.code(), never.body.get("merge")), ("stale", None), "nobody ever saw version 9");
}
