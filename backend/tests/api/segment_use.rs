//! Who uses a segment, what a change of it would do, and the list of segments.

use serde_json::{Value, json};
use shared::evaluation::{Context, Query, State, evaluate};
use shared::model::sdk_key::SdkKeyKind;

use crate::flag::boolean;
use crate::reference::{config, new_flag, using};
use crate::support::{App, Person, new_id};

async fn create(ana: &Person, key: &str, uses: &[&str]) {
    let conditions = if uses.is_empty() { json!({ "all": [] }) } else { using(uses) };
    let definition = json!({ "key": key, "included": ["ana", "ben"], "conditions": conditions });
    ana.post("/projects/shop/segments", json!({ "definition": definition, "name": key })).await.expect(201);
}

/// Segments `staff` inside `vip`; `checkout` asks for both in staging and for `vip` in production.
async fn set_up(app: &App) -> Person {
    let ana = app.ana().await;
    create(&ana, "staff", &[]).await;
    create(&ana, "vip", &["staff"]).await;
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    let path = "/projects/shop/flags/checkout/environments";
    let mut staging = config(&[], &["staff", "vip"]);
    staging["rules"][0]["name"] = json!("Beta");
    staging["rules"][1]["paused"] = json!(true);
    ana.put(&format!("{path}/staging"), 1, json!({ "config": staging })).await.expect(200);
    let production = config(&[], &["vip"]);
    ana.put(&format!("{path}/production"), 1, json!({ "config": production })).await.expect(200);
    ana
}

#[tokio::test]
async fn who_uses_a_segment_is_told_by_flag_environment_and_rule_also_through_other_segments() {
    let app = App::start().await;
    let ana = set_up(&app).await;
    let uses = ana.get("/projects/shop/segments/staff/uses").await.expect(200).body;
    let told: Vec<(&str, &str)> = uses["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|item| (item["environment"].as_str().expect("a key"), item["sentence"].as_str().expect("text")))
        .collect();
    let expected = [("staging", "rule 1 Beta; rule 2, through vip, paused"), ("production", "rule 1, through vip")];
    assert_eq!(told, expected);
    assert_eq!((&uses["flags"], &uses["segments"]), (&json!(1), &json!(["vip"])));
    let where_used = json!([
        { "environment": "staging", "flags": 1, "is_protected": false },
        { "environment": "production", "flags": 1, "is_protected": false },
    ]);
    assert_eq!(uses["environments"], where_used);
    assert_eq!(ana.get("/projects/shop/segments/vip/uses").await.body["segments"], json!([]));
    ana.get("/projects/shop/segments/none/uses").await.expect(404);
}

#[tokio::test]
async fn uses_come_in_pages_of_whole_flags() {
    let app = App::start().await;
    let ana = app.ana().await;
    create(&ana, "staff", &[]).await;
    app.apply((0..205).map(|n| new_flag(&format!("f{n:03}"), "staging", &[], &["staff"])).collect())
        .await
        .expect("205 flags");
    let first = ana.get("/projects/shop/segments/staff/uses").await.expect(200).body;
    assert_eq!((first["items"].as_array().map(Vec::len), &first["next"]), (Some(200), &json!("f199")));
    assert_eq!(first["flags"], 205);
    let rest = ana.get("/projects/shop/segments/staff/uses?after=f199").await.expect(200).body;
    assert_eq!((rest["items"].as_array().map(Vec::len), &rest["next"]), (Some(5), &Value::Null));
}

#[tokio::test]
async fn the_effect_of_an_edit_is_told_before_it_is_made() {
    let app = App::start().await;
    let ana = set_up(&app).await;
    let path = "/projects/shop/segments/staff/effect";
    let pro = json!({ "attribute": "plan", "operator": "equals", "values": ["pro"] });
    let body = json!({ "name": "Staff", "included": ["ben", "chen", "dee"], "excluded": ["eve"], "conditions": pro });
    let effect = ana.post(path, body).await.expect(200).body;
    let changes = json!([
        "− 1 included key: ana",
        "+ 2 included keys: chen and dee",
        "+ 1 excluded key: eve",
        "~ Conditions: none → plan is pro",
        "~ Name: staff → Staff",
    ]);
    assert_eq!(effect["changes"], changes);
    let counts = ["included_added", "included_removed", "excluded_added", "excluded_removed"].map(|name| &effect[name]);
    assert_eq!(counts, [2, 1, 1, 0].map(Value::from).each_ref());
    assert_eq!(effect["uses"]["items"].as_array().map(Vec::len), Some(2));
    assert_eq!(effect["version"], 1);
    assert_eq!(ana.get("/projects/shop/segments/staff").await.body["version"], 1, "nothing is written");

    let renamed = ana.post(path, json!({ "name": "Staff", "included": ["ana", "ben"] })).await.expect(200).body;
    assert_eq!((&renamed["changes"], &renamed["uses"]["items"]), (&json!(["~ Name: staff → Staff"]), &json!([])));
    let wrong = json!({ "name": "Staff", "conditions": { "attribute": "plan", "operator": "equals", "values": [] } });
    assert_eq!(ana.post(path, wrong).await.expect(422).fields(), ["conditions.values"]);
}

#[tokio::test]
async fn segments_are_listed_in_pages_with_their_rule_in_words() {
    let app = App::start().await;
    let ana = set_up(&app).await;
    create(&ana, "beta", &[]).await;
    let first = ana.get("/projects/shop/segments?limit=2").await.expect(200).body;
    let keys = |body: &Value| -> Vec<String> {
        let items = body["items"].as_array().expect("items");
        items.iter().map(|item| item["key"].as_str().expect("a key").to_owned()).collect()
    };
    assert_eq!(
        (keys(&first), &first["next"], &first["matching"]),
        (vec!["beta".into(), "staff".into()], &json!("staff"), &json!(3))
    );
    let rest = ana.get("/projects/shop/segments?limit=2&after=staff").await.expect(200).body;
    assert_eq!((keys(&rest), &rest["next"]), (vec!["vip".to_owned()], &Value::Null));
    assert_eq!(rest["items"][0]["conditions"], "in segment staff");
    let found = ana.get("/projects/shop/segments?q=TAF").await.expect(200).body;
    assert_eq!((keys(&found), &found["matching"]), (vec!["staff".to_owned()], &json!(1)));
    assert_eq!(ana.get("/projects/shop/segments?limit=0").await.expect(422).fields(), ["limit"]);
}

#[tokio::test]
async fn a_segment_in_two_rules_is_no_cycle_and_one_that_nobody_is_in_turns_nothing_on() {
    let app = App::start().await;
    let ana = app.ana().await;
    create(&ana, "staff", &[]).await;
    let empty = json!({ "definition": { "key": "empty", "conditions": { "any": [] } }, "name": "Empty" });
    ana.post("/projects/shop/segments", empty).await.expect(201);
    for flag in ["twice", "off", "nobody"] {
        ana.post("/projects/shop/flags", boolean(flag)).await.expect(201);
    }
    let save = async |flag: &str, config: Value| {
        let path = format!("/projects/shop/flags/{flag}/environments/staging");
        ana.put(&path, 1, json!({ "config": config })).await.expect(200);
    };
    save("twice", config(&[], &["staff", "staff"])).await;
    let mut disabled = config(&[], &["empty"]);
    disabled["enabled"] = json!(false);
    save("off", disabled).await;
    let rule = json!({ "id": new_id(), "serve": { "variant": "on" }, "conditions": using(&["empty"]) });
    save(
        "nobody",
        json!({ "enabled": true, "off_variant": "off", "rules": [rule], "default_serve": { "variant": "off" } }),
    )
    .await;
    let state = State::compile(&app.published("staging").await);
    let context: Context<'_> = serde_json::from_str(r#"{"targetingKey":"ana"}"#).expect("a context");
    let query = Query { context: &context, now_ms: 0, asker: SdkKeyKind::Server };
    let said = |flag: &str| {
        let outcome = evaluate(&state, flag, &query);
        (outcome.value, format!("{:?}", outcome.reason))
    };
    assert_eq!(said("twice"), (Some("true"), "TargetingMatch".into()));
    assert_eq!(said("off"), (Some("false"), "Disabled".into()));
    assert_eq!(said("nobody"), (Some("false"), "Default".into()), "no segment matched, so none is in the answer");
}

#[tokio::test]
async fn of_two_who_let_segments_use_each_other_at_once_one_is_refused() {
    let app = App::start().await;
    let ana = app.ana().await;
    create(&ana, "a", &[]).await;
    create(&ana, "b", &[]).await;
    let save = async |key: &str, uses: &str| {
        let body = json!({ "name": key, "conditions": using(&[uses]) });
        ana.put(&format!("/projects/shop/segments/{key}"), 1, body).await
    };
    let (first, second) = tokio::join!(save("a", "b"), save("b", "a"));
    let mut statuses = [first.status, second.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 422]);
    let refused = if first.status == 422 { first } else { second };
    assert!(refused.body["detail"].as_str().is_some_and(|text| text.contains("would use itself")), "{}", refused.body);
}
