//! Two environments side by side, and promoting flags from one to the other.

use serde_json::{Value, json};

use crate::flag::{boolean, on};
use crate::reference::{config, using};
use crate::support::{Answer, App, Person};

async fn create(ana: &Person, keys: &[&str]) {
    for key in keys {
        ana.post("/projects/shop/flags", boolean(key)).await.expect(201);
    }
}

async fn compare(person: &Person, query: &str) -> Value {
    let path = format!("/projects/shop/compare?from=staging&to=production{query}");
    person.get(&path).await.expect(200).body
}

async fn promote(person: &Person, flags: &[(&str, u64)]) -> Answer {
    let flags: Vec<Value> = flags.iter().map(|(key, version)| json!({ "key": key, "version": version })).collect();
    person.post("/projects/shop/promote", json!({ "from": "staging", "to": "production", "flags": flags })).await
}

async fn segment(ana: &Person, key: &str, uses: &[&str]) {
    let mut definition = json!({ "key": key, "included": ["u-1"] });
    if !uses.is_empty() {
        definition["conditions"] = using(uses);
    }
    ana.post("/projects/shop/segments", json!({ "definition": definition, "name": key })).await.expect(201);
}

#[tokio::test]
async fn a_comparison_says_what_differs_and_what_would_come_along() {
    let app = App::start().await;
    let ana = app.ana().await;
    segment(&ana, "inner", &[]).await;
    segment(&ana, "outer", &["inner"]).await;
    create(&ana, &["checkout", "payments", "same"]).await;
    let path = "/projects/shop/flags/checkout/environments/staging";
    ana.put(path, 1, json!({ "config": config(&["payments"], &["outer"]) })).await.expect(200);
    let page = compare(&ana, "").await;
    let items = page["items"].as_array().expect("items");
    let differing: Vec<(&Value, &Value)> = items.iter().map(|flag| (&flag["key"], &flag["differs"])).collect();
    let expected = [("checkout", true), ("payments", false), ("same", false)].map(|(key, d)| (json!(key), json!(d)));
    assert_eq!(differing, expected.iter().map(|(key, d)| (key, d)).collect::<Vec<_>>());
    let checkout = &items[0];
    assert_eq!(checkout["to"]["sentence"], "Off. Everyone gets off (false).");
    assert!(checkout["from"]["sentence"].as_str().is_some_and(|text| text.contains("payments answers on")));
    assert_eq!(checkout["changes"][0], "~ Turned on");
    assert_eq!((&checkout["segments"], &checkout["missing"]), (&json!(["inner", "outer"]), &json!([])));
    assert_eq!((&checkout["from"]["version"], &checkout["to"]["version"]), (&json!(2), &json!(1)));
    let page = compare(&ana, "&differs=true").await;
    assert_eq!((&page["matching"], &page["items"][0]["key"]), (&json!(1), &json!("checkout")));
    assert_eq!(compare(&ana, "&q=pay").await["matching"], 1);
    assert!(compare(&ana, "&limit=1").await["next"].is_string());

    ana.post("/projects/shop/environments", json!({ "key": "qa", "name": "QA" })).await.expect(201);
    let page = ana.get("/projects/shop/compare?from=staging&to=qa&q=checkout").await.expect(200).body;
    let checkout = &page["items"][0];
    assert_eq!((checkout.get("to"), &checkout["missing"]), (None, &json!(["payments"])));
}

#[tokio::test]
async fn a_comparison_of_one_environment_or_an_unknown_one_is_refused() {
    let app = App::start().await;
    let ana = app.ana().await;
    ana.get("/projects/shop/compare?from=staging&to=moon").await.expect(404);
    ana.get("/projects/shop/compare?from=staging").await.expect(400);
    let refused = ana.get("/projects/shop/compare?from=staging&to=staging").await.expect(422);
    assert_eq!(refused.fields(), ["to"]);
    let same = json!({ "from": "staging", "to": "staging", "flags": [{ "key": "a", "version": 1 }] });
    assert_eq!(ana.post("/projects/shop/promote", same).await.expect(422).fields(), ["to"]);
}

#[tokio::test]
async fn promoted_flags_give_the_same_users_the_same_and_bring_their_segments() {
    let app = App::start().await;
    let ana = app.ana().await;
    segment(&ana, "staff", &[]).await;
    create(&ana, &["checkout", "same"]).await;
    let mut divided = config(&[], &["staff"]);
    divided["default_serve"] = json!({ "split": { "bucket_by": "targetingKey", "seed": "s", "ranges": [
        { "start": 0, "end": 30_000, "variant": "on" }, { "start": 30_000, "end": 100_000, "variant": "off" }] } });
    ana.put("/projects/shop/flags/checkout/environments/staging", 1, json!({ "config": divided })).await.expect(200);
    let done = promote(&ana, &[("checkout", 1), ("same", 1)]).await.expect(200);
    assert_eq!(done.body["environments"], json!(["production"]));
    let answers = app.answers("production", "checkout", 200).await;
    assert_eq!(answers, app.answers("staging", "checkout", 200).await);
    assert_eq!(answers[1], "on TARGETING_MATCH", "the segment came along");
    assert_eq!(compare(&ana, "&differs=true").await["matching"], 0);
    let refused = promote(&ana, &[("checkout", 2)]).await.expect(422);
    assert_eq!(refused.fields(), ["flags"], "there is nothing left to promote");
}

#[tokio::test]
async fn a_promotion_of_what_changed_meanwhile_is_refused_with_its_places() {
    let app = App::start().await;
    let ana = app.ana().await;
    create(&ana, &["a", "b"]).await;
    ana.put("/projects/shop/flags/a/environments/staging", 1, json!({ "config": on() })).await.expect(200);
    ana.put("/projects/shop/flags/b/environments/staging", 1, json!({ "config": on() })).await.expect(200);
    let refused = promote(&ana, &[("a", 1), ("b", 5), ("nobody", 0), ("a", 1)]).await.expect(422);
    assert_eq!(refused.fields(), ["flags[1].version", "flags[2].key", "flags[3].key"]);
    let old = json!({ "from": "staging", "to": "production",
                      "flags": [{ "key": "a", "version": 1, "from_version": 1 }] });
    let refused = ana.post("/projects/shop/promote", old).await.expect(422);
    assert_eq!(refused.fields(), ["flags[0].from_version"]);
    assert_eq!(app.answers("production", "a", 1).await, ["off DISABLED"]);
    let many: Vec<Value> = (0..1_001).map(|n| json!({ "key": format!("f{n}"), "version": 1 })).collect();
    let body = json!({ "from": "staging", "to": "production", "flags": many });
    assert_eq!(ana.post("/projects/shop/promote", body).await.expect(422).fields(), ["flags"]);
}

#[tokio::test]
async fn promoting_into_a_protected_environment_waits() {
    let app = App::start().await;
    let ana = app.ana().await;
    create(&ana, &["a"]).await;
    ana.put("/projects/shop/flags/a/environments/staging", 1, json!({ "config": on() })).await.expect(200);
    app.protect_with_ben("production").await;
    assert_eq!(promote(&ana, &[("a", 1)]).await.expect(200).body["state"], "in_review");
    assert_eq!(app.answers("production", "a", 1).await, ["off DISABLED"]);
}
