//! The register of context attributes, and what rules name without it.

use serde_json::{Value, json};

use crate::flag::boolean;
use crate::support::{App, Person, new_id};

const ATTRIBUTES: &str = "/projects/shop/attributes";

fn rule(attribute: &str) -> Value {
    let leaf = json!({ "attribute": attribute, "operator": "equals", "values": ["x", "y"] });
    json!({ "id": new_id(), "serve": { "variant": "on" }, "conditions": { "any": [{ "all": [leaf] }] } })
}

async fn save(ana: &Person, flag: &str, environment: &str, version: u64, attributes: &[&str]) {
    let rules: Vec<Value> = attributes.iter().map(|name| rule(name)).collect();
    let config = json!({ "enabled": true, "rules": rules, "default_serve": { "variant": "off" } });
    let path = format!("/projects/shop/flags/{flag}/environments/{environment}");
    ana.put(&path, version, json!({ "config": config })).await.expect(200);
}

#[tokio::test]
async fn an_attribute_is_registered_changed_and_taken_out_and_each_is_audited() {
    let app = App::start().await;
    let ana = app.ana().await;
    let plan =
        json!({ "name": "user.plan", "type": "text", "suggestions": ["pro", "free"], "description": "What they pay" });
    let made = ana.post(ATTRIBUTES, plan.clone()).await.expect(201).body;
    assert_eq!((&made["attribute"], &made["version"], &made["flags"]), (&plan, &json!(1), &json!(0)));
    assert_eq!(ana.post(ATTRIBUTES, plan).await.expect(409).code(), "exists");
    let path = format!("{ATTRIBUTES}/user.plan");
    let changed = ana.put(&path, 1, json!({ "type": "list", "suggestions": ["team"] })).await.expect(200).body;
    assert_eq!((&changed["attribute"]["type"], &changed["version"]), (&json!("list"), &json!(2)));
    ana.put(&path, 1, json!({ "type": "text" })).await.expect(412);
    ana.put(&format!("{ATTRIBUTES}/none"), 1, json!({ "type": "text" })).await.expect(404);
    for (wrong, field) in [
        (json!({ "name": "$x", "type": "text" }), "name"),
        (json!({ "name": "", "type": "text" }), "name"),
        (json!({ "name": "x", "type": "date" }), "type"),
        (json!({ "name": "x", "type": "text", "suggestions": ["a", "a"] }), "suggestions[1]"),
    ] {
        assert_eq!(ana.post(ATTRIBUTES, wrong).await.expect(422).fields(), [field]);
    }
    ana.delete(&path).await.expect(204);
    ana.delete(&path).await.expect(404);
    let kinds: Vec<String> = sqlx::query_scalar(
        "select kind || ' ' || subject from audit_events where kind like 'attribute.%' order by number",
    )
    .fetch_all(&app.state.pool)
    .await
    .expect("events");
    assert_eq!(kinds, ["attribute.created user.plan", "attribute.updated user.plan", "attribute.deleted user.plan"]);
}

#[tokio::test]
async fn who_looks_at_an_attribute_follows_what_is_saved() {
    let app = App::start().await;
    let ana = app.ana().await;
    for flag in ["checkout", "search"] {
        ana.post("/projects/shop/flags", boolean(flag)).await.expect(201);
    }
    save(&ana, "checkout", "staging", 1, &["plan", "plan"]).await;
    save(&ana, "checkout", "production", 1, &["plan", "country"]).await;
    let split = json!({ "split": { "bucket_by": "company", "seed": "s", "ranges": [
        { "start": 0, "end": 100_000, "variant": "on" }] } });
    let config = json!({ "enabled": true, "default_serve": split });
    ana.put("/projects/shop/flags/search/environments/staging", 1, json!({ "config": config })).await.expect(200);
    let conditions = json!({ "attribute": "plan", "operator": "exists" });
    let segment = json!({ "definition": { "key": "paying", "conditions": conditions }, "name": "Paying" });
    ana.post("/projects/shop/segments", segment).await.expect(201);

    let plan = ana.get(&format!("{ATTRIBUTES}/plan")).await.expect(200).body;
    let flags = json!([{ "flag": "checkout", "name": "checkout", "environments": ["staging", "production"] }]);
    assert_eq!((&plan["flags"], &plan["segments"], &plan["registered"]), (&flags, &json!(["paying"]), &Value::Null));
    assert_eq!(ana.get(&format!("{ATTRIBUTES}/company")).await.expect(200).body["flags"][0]["flag"], "search");
    ana.get(&format!("{ATTRIBUTES}/nothing")).await.expect(404);
    let list = ana.get(ATTRIBUTES).await.expect(200).body;
    let names: Vec<(&str, u64, u64)> = list["unregistered"]
        .as_array()
        .expect("names")
        .iter()
        .map(|item| {
            let count = |name: &str| item[name].as_u64().expect("a count");
            (item["name"].as_str().expect("a name"), count("flags"), count("segments"))
        })
        .collect();
    assert_eq!(names, [("plan", 1, 1), ("company", 1, 0), ("country", 1, 0)]);

    save(&ana, "checkout", "staging", 2, &[]).await;
    save(&ana, "checkout", "production", 2, &["country"]).await;
    let plan = ana.get(&format!("{ATTRIBUTES}/plan")).await.expect(200).body;
    assert_eq!((&plan["flags"], &plan["segments"]), (&json!([]), &json!(["paying"])));
    ana.delete("/projects/shop/segments/paying").await.expect(200);
    ana.get(&format!("{ATTRIBUTES}/plan")).await.expect(404);
}

#[tokio::test]
async fn a_name_that_looks_like_another_is_told_in_words() {
    let app = App::start().await;
    let ana = app.ana().await;
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    for name in ["country", "app_version"] {
        ana.post(ATTRIBUTES, json!({ "name": name, "type": "text" })).await.expect(201);
    }
    save(&ana, "checkout", "staging", 1, &["contry", "appVersion", "email", "country", "targetingKey"]).await;
    let list = ana.get(ATTRIBUTES).await.expect(200).body;
    let told: Vec<(&str, Option<&str>)> = list["unregistered"]
        .as_array()
        .expect("names")
        .iter()
        .map(|item| (item["name"].as_str().expect("a name"), item["near"]["sentence"].as_str()))
        .collect();
    let expected = [
        ("appVersion", Some("appVersion and app_version differ only in case or in how their words are joined")),
        ("contry", Some("contry looks like country")),
        ("email", None),
    ];
    assert_eq!(told, expected, "country is registered, and everybody has a targetingKey");
    assert_eq!(list["items"][1]["near"]["sentence"], "country looks like contry");
    assert_eq!((&list["items"][1]["flags"], &list["items"][0]["flags"]), (&json!(1), &json!(0)));
}

#[tokio::test]
async fn the_migration_finds_what_was_saved_before() {
    let app = App::start().await;
    let ana = app.ana().await;
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    save(&ana, "checkout", "staging", 1, &["plan"]).await;
    let conditions = json!({ "attribute": "company", "operator": "exists" });
    let segment = json!({ "definition": { "key": "paying", "conditions": conditions }, "name": "Paying" });
    ana.post("/projects/shop/segments", segment).await.expect(201);
    let undo = "drop table attributes; drop table attribute_uses;
         drop function attribute_uses_follow_config cascade; drop function attribute_uses_follow_segment cascade;
         drop function attributes_of_config; drop function attributes_of_segment";
    sqlx::raw_sql(undo).execute(&app.state.pool).await.expect("the schema before");
    sqlx::raw_sql(include_str!("../../../migrations/20261201135000_create_attributes.sql"))
        .execute(&app.state.pool)
        .await
        .expect("the migration");
    let list = ana.get(ATTRIBUTES).await.expect(200).body;
    let names: Vec<&str> =
        list["unregistered"].as_array().expect("names").iter().filter_map(|item| item["name"].as_str()).collect();
    assert_eq!(names, ["company", "plan"]);
}
