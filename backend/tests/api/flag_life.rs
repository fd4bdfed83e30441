//! Owners, lifetimes and tags of flags; archiving, restoring, deleting and copying them.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};

use crate::flag::{boolean, on};
use crate::reference::config;
use crate::support::{Answer, App, Person, new_id};

async fn create(person: &Person, keys: &[&str]) {
    for key in keys {
        person.post("/projects/shop/flags", boolean(key)).await.expect(201);
    }
}

/// `archive` or `unarchive`.
async fn act(person: &Person, flag: &str, action: &str, version: u64) -> Answer {
    let path = format!("/projects/shop/flags/{flag}/{action}");
    person.send(Method::POST, &path, Some(json!({})), &[("if-match", &version.to_string())]).await
}

async fn delete(person: &Person, flag: &str, typed: &str, version: u64) -> Answer {
    let path = format!("/projects/shop/flags/{flag}");
    person.send(Method::DELETE, &path, Some(json!({ "key": typed })), &[("if-match", &version.to_string())]).await
}

/// Lets a flag need others, and use segments, in staging.
async fn need(person: &Person, flag: &str, version: u64, parents: &[&str], segments: &[&str]) -> Answer {
    let path = format!("/projects/shop/flags/{flag}/environments/staging");
    person.put(&path, version, json!({ "config": config(parents, segments) })).await
}

async fn segment(person: &Person, key: &str) {
    let new = json!({ "definition": { "key": key, "included": ["u-1"] }, "name": key });
    person.post("/projects/shop/segments", new).await.expect(201);
}

async fn keys(person: &Person, query: &str) -> Vec<String> {
    let page = person.get(&format!("/projects/shop/flags?sort=key&{query}")).await.expect(200).body;
    let items = page["items"].as_array().expect("items");
    items.iter().map(|flag| flag["key"].as_str().expect("a key").to_owned()).collect()
}

#[tokio::test]
async fn owner_and_lifetime_are_kept_and_alter_no_answer() {
    let app = App::start().await;
    let ana = app.ana().await;
    app.member("Eve", Some("editor")).await;
    let eve = user_id(&app, "Eve").await;
    create(&ana, &["checkout"]).await;
    let flag = ana.get("/projects/shop/flags/checkout").await.expect(200).body;
    assert_eq!((&flag["owner"]["name"], &flag["lifetime"]), (&json!("Ana"), &json!("usual")));
    assert!(flag["ends_at"].is_string(), "a release has an end");
    let change = json!({ "owner": eve, "lifetime": { "days": 7 }, "tags": ["web"] });
    let done = ana.patch("/projects/shop/flags/checkout", 1, change).await.expect(200);
    assert_eq!(done.body["environments"], json!([]), "nobody gets another answer");
    let row = ana.get("/projects/shop/flags").await.expect(200).body["items"][0].clone();
    assert_eq!((&row["owner"]["name"], &row["version"]), (&json!("Eve"), &json!(2)));
    ana.patch("/projects/shop/flags/checkout", 2, json!({ "lifetime": "permanent" })).await.expect(200);
    let flag = ana.get("/projects/shop/flags/checkout").await.expect(200).body;
    assert_eq!((&flag["lifetime"], flag.get("ends_at")), (&json!("permanent"), None));
}

#[tokio::test]
async fn an_owner_is_a_member_and_a_lifetime_has_days() {
    let app = App::start().await;
    let ana = app.ana().await;
    app.member("Sam", None).await;
    let sam = user_id(&app, "Sam").await;
    create(&ana, &["checkout"]).await;
    let refused = ana.patch("/projects/shop/flags/checkout", 1, json!({ "owner": sam })).await.expect(422);
    assert_eq!(refused.fields(), ["owner"]);
    let refused = ana.patch("/projects/shop/flags/checkout", 1, json!({ "owner": new_id() })).await.expect(422);
    assert_eq!(refused.fields(), ["owner"]);
    for days in [0, 3_651] {
        let wrong = json!({ "lifetime": { "days": days } });
        let refused = ana.patch("/projects/shop/flags/checkout", 1, wrong).await.expect(422);
        assert_eq!(refused.fields(), ["lifetime"]);
    }
    let mut new = boolean("search");
    new["tags"] = json!(["a,b"]);
    assert_eq!(ana.post("/projects/shop/flags", new).await.expect(422).fields(), ["tags[0]"]);
}

#[tokio::test]
async fn tags_are_listed_with_how_many_flags_have_them() {
    let app = App::start().await;
    let ana = app.ana().await;
    for (key, tags) in [("a", json!(["web"])), ("b", json!(["web", "api"])), ("c", json!([])), ("d", json!(["api"]))] {
        let mut new = boolean(key);
        new["tags"] = tags;
        ana.post("/projects/shop/flags", new).await.expect(201);
    }
    act(&ana, "d", "archive", 1).await.expect(200);
    let tags = ana.get("/projects/shop/tags").await.expect(200).body;
    assert_eq!(tags["items"], json!([{ "tag": "web", "flags": 2 }, { "tag": "api", "flags": 1 }]));
}

/// G094, as far as the database: edges remove what is a tombstone.
#[tokio::test]
async fn an_archived_flag_answers_nowhere_and_comes_back_as_it_was() {
    let app = App::start().await;
    let ana = app.ana().await;
    create(&ana, &["checkout"]).await;
    ana.put("/projects/shop/flags/checkout/environments/staging", 1, json!({ "config": on() })).await.expect(200);
    let before = app.answers("staging", "checkout", 3).await;
    assert_eq!(before, ["on STATIC", "on STATIC", "on STATIC"]);
    let done = act(&ana, "checkout", "archive", 1).await.expect(200);
    assert_eq!(done.body["environments"], json!(["development", "staging", "production"]));
    assert_eq!(app.answers("staging", "checkout", 1).await, ["FLAG_NOT_FOUND"]);
    assert_eq!(keys(&ana, "").await, Vec::<String>::new());
    assert_eq!(keys(&ana, "state=archived").await, ["checkout"]);
    let taken = ana.post("/projects/shop/flags", boolean("checkout")).await.expect(409);
    assert_eq!(taken.code(), "exists", "its key stays taken");
    let path = "/projects/shop/flags/checkout/environments/staging";
    ana.put(path, 2, json!({ "config": on() })).await.expect(404);
    let flag = ana.get("/projects/shop/flags/checkout").await.expect(200).body;
    assert!(flag["archived_at"].is_string(), "{flag}");

    assert_eq!(act(&ana, "checkout", "unarchive", 1).await.expect(412).code(), "stale");
    let done = act(&ana, "checkout", "unarchive", 2).await.expect(200);
    assert_eq!(done.body["environments"], json!(["development", "staging", "production"]));
    assert_eq!(app.answers("staging", "checkout", 3).await, before);
    assert_eq!(keys(&ana, "").await, ["checkout"]);
}

/// G081.
#[tokio::test]
async fn a_flag_is_archived_unless_another_one_needs_it_whatever_it_needs_itself() {
    let app = App::start().await;
    let ana = app.ana().await;
    create(&ana, &["child", "parent"]).await;
    need(&ana, "child", 1, &["parent"], &[]).await.expect(200);
    let refused = act(&ana, "parent", "archive", 1).await.expect(409);
    assert_eq!(refused.code(), "in_use");
    let text = refused.body["detail"].as_str().unwrap_or_default();
    assert!(text.contains("flag 'child' (staging)"), "{text}");
    assert_eq!(app.answers("staging", "parent", 1).await, ["off DISABLED"], "nothing was written");
    act(&ana, "child", "archive", 1).await.expect(200);
    act(&ana, "parent", "archive", 1).await.expect(200);
    // What a flag needs must be there before it is.
    let refused = act(&ana, "child", "unarchive", 2).await.expect(422);
    assert_eq!(refused.fields(), ["environments.staging.prerequisites[0].flag"]);
    act(&ana, "parent", "unarchive", 2).await.expect(200);
    act(&ana, "child", "unarchive", 2).await.expect(200);
}

#[tokio::test]
async fn two_that_need_each_other_go_together_in_any_order() {
    let app = App::start().await;
    let ana = app.ana().await;
    create(&ana, &["child", "parent"]).await;
    need(&ana, "child", 1, &["parent"], &[]).await.expect(200);
    let both = json!({ "flags": [{ "key": "parent", "version": 1 }, { "key": "child", "version": 1 }],
                       "action": { "kind": "archive" } });
    let done = ana.post("/projects/shop/flag-actions", both).await.expect(200);
    assert_eq!(done.body["results"][0]["outcome"], "applied");
    assert_eq!(keys(&ana, "state=archived").await, ["child", "parent"]);
}

#[tokio::test]
async fn an_archived_flag_holds_no_segment_and_comes_back_only_with_it() {
    let app = App::start().await;
    let ana = app.ana().await;
    segment(&ana, "staff").await;
    create(&ana, &["checkout"]).await;
    need(&ana, "checkout", 1, &[], &["staff"]).await.expect(200);
    assert_eq!(app.answers("staging", "checkout", 2).await, ["off DEFAULT", "on TARGETING_MATCH"]);
    ana.delete("/projects/shop/segments/staff").await.expect(409);
    act(&ana, "checkout", "archive", 1).await.expect(200);
    let live: i64 = sqlx::query_scalar("select count(*) from state where key like '%.segment.%' and not deleted")
        .fetch_one(&app.state.pool)
        .await
        .expect("state");
    assert_eq!(live, 0, "no flag reaches it any more");
    ana.delete("/projects/shop/segments/staff").await.expect(200);
    let refused = act(&ana, "checkout", "unarchive", 2).await.expect(422);
    assert_eq!(refused.fields(), ["environments.staging.rules[0].conditions.all[0].values[0]"]);
    segment(&ana, "staff").await;
    act(&ana, "checkout", "unarchive", 2).await.expect(200);
    assert_eq!(app.answers("staging", "checkout", 2).await, ["off DEFAULT", "on TARGETING_MATCH"]);
}

#[tokio::test]
async fn a_killed_flag_is_killed_when_it_comes_back() {
    let app = App::start().await;
    let ana = app.ana().await;
    create(&ana, &["checkout"]).await;
    ana.put("/projects/shop/flags/checkout/environments/staging", 1, json!({ "config": on() })).await.expect(200);
    let kill = json!({ "environments": ["staging"], "reason": "payments fail" });
    ana.post("/projects/shop/flags/checkout/kill", kill.clone()).await.expect(200);
    act(&ana, "checkout", "archive", 1).await.expect(200);
    ana.post("/projects/shop/flags/checkout/kill", kill).await.expect(404);
    act(&ana, "checkout", "unarchive", 2).await.expect(200);
    assert_eq!(app.answers("staging", "checkout", 1).await, ["off DISABLED"]);
}

#[tokio::test]
async fn only_an_archived_flag_is_deleted_and_the_next_of_its_key_is_another_one() {
    let app = App::start().await;
    let ana = app.ana().await;
    create(&ana, &["checkout"]).await;
    let id = ana.get("/projects/shop/flags/checkout").await.body["id"].clone();
    delete(&ana, "checkout", "checkout", 1).await.expect(404);
    act(&ana, "checkout", "archive", 1).await.expect(200);
    assert_eq!(delete(&ana, "checkout", "chekout", 2).await.expect(422).fields(), ["key"]);
    assert_eq!(delete(&ana, "checkout", "checkout", 1).await.expect(412).code(), "stale");
    let done = delete(&ana, "checkout", "checkout", 2).await.expect(200);
    assert_eq!(done.body["environments"], json!([]));
    ana.get("/projects/shop/flags/checkout").await.expect(404);
    create(&ana, &["checkout"]).await;
    let flag = ana.get("/projects/shop/flags/checkout").await.expect(200).body;
    assert_ne!(flag["id"], id);
    let history: i64 = sqlx::query_scalar("select count(*) from revision_entries where entity_id = $1::uuid")
        .bind(id.as_str())
        .fetch_one(&app.state.pool)
        .await
        .expect("history");
    assert!(history >= 5, "what became of the old one is still known");
}

#[tokio::test]
async fn archiving_waits_where_an_environment_is_protected() {
    let app = App::start().await;
    let ana = app.ana().await;
    create(&ana, &["checkout"]).await;
    app.protect_with_ben("production").await;
    let asked = act(&ana, "checkout", "archive", 1).await.expect(200);
    assert_eq!(asked.body["state"], "in_review");
    assert_eq!(app.answers("production", "checkout", 1).await, ["off DISABLED"]);
    assert_eq!(keys(&ana, "state=waiting").await, ["checkout"]);
}

#[tokio::test]
async fn an_editor_of_another_environment_cannot_archive() {
    let app = App::start().await;
    let ana = app.ana().await;
    create(&ana, &["checkout"]).await;
    let eve = app.member("Eve", Some("editor")).await;
    sqlx::query(
        "insert into member_environments (project_id, user_id, environment_id, role)
         select environments.project_id, users.id, environments.id, 'viewer'
         from environments cross join users where environments.key = 'production' and users.name = 'Eve'",
    )
    .execute(&app.state.pool)
    .await
    .expect("a role");
    assert_eq!(act(&eve, "checkout", "archive", 1).await.expect(403).code(), "forbidden");
    assert_eq!(keys(&ana, "").await, ["checkout"]);
}

fn split(seed: &str) -> Value {
    json!({ "split": { "bucket_by": "targetingKey", "seed": seed, "ranges": [
        { "start": 0, "end": 50_000, "variant": "on" }, { "start": 50_000, "end": 100_000, "variant": "off" }] } })
}

/// A flag with the same rule and the same split in staging and production.
async fn divided(ana: &Person) {
    create(ana, &["checkout"]).await;
    let rule = json!({ "id": new_id(), "name": "Beta", "serve": split("beta"),
                       "conditions": { "all": [{ "attribute": "plan", "operator": "equals", "values": ["pro"] }] } });
    let config = json!({ "enabled": true, "off_variant": "off", "rules": [rule], "default_serve": split("all") });
    for environment in ["staging", "production"] {
        let path = format!("/projects/shop/flags/checkout/environments/{environment}");
        ana.put(&path, 1, json!({ "config": config })).await.expect(200);
    }
}

#[tokio::test]
async fn a_copy_has_rules_and_seeds_of_its_own_which_agree_among_its_environments() {
    let app = App::start().await;
    let ana = app.ana().await;
    divided(&ana).await;
    let body = json!({ "key": "checkout-2", "name": "Second", "note": "try again" });
    let done = ana.post("/projects/shop/flags/checkout/copy", body).await.expect(201);
    assert_eq!(done.body["environments"].as_array().map(Vec::len), Some(3));
    let source = ana.get("/projects/shop/flags/checkout").await.body;
    let copy = ana.get("/projects/shop/flags/checkout-2").await.expect(200).body;
    let places = |flag: &Value| {
        let rule = |at: usize| flag["environments"][at]["config"]["rules"][0].clone();
        let seed = |at: usize| flag["environments"][at]["config"]["default_serve"]["split"]["seed"].clone();
        (rule(1)["id"].clone(), rule(2)["id"].clone(), seed(1), seed(2), rule(1)["serve"]["split"]["seed"].clone())
    };
    let (rule, same_rule, seed, same_seed, rule_seed) = places(&copy);
    assert_eq!((&rule, &seed), (&same_rule, &same_seed));
    let (old_rule, _, old_seed, _, old_rule_seed) = places(&source);
    assert!(rule != old_rule && seed != old_seed && rule_seed != old_rule_seed && rule_seed != seed, "{copy}");
    assert_eq!(copy["environments"][1]["config"]["rules"][0]["name"], "Beta");
    assert_ne!(
        app.answers("staging", "checkout", 200).await,
        app.answers("staging", "checkout-2", 200).await,
        "users are divided anew"
    );
}

#[tokio::test]
async fn a_copy_that_keeps_seeds_gives_everybody_the_same() {
    let app = App::start().await;
    let ana = app.ana().await;
    divided(&ana).await;
    let body = json!({ "key": "twin", "name": "Twin", "keep_seeds": true, "environments": ["staging"] });
    ana.post("/projects/shop/flags/checkout/copy", body).await.expect(201);
    let answers = app.answers("staging", "checkout", 200).await;
    assert_eq!(answers.iter().collect::<BTreeSet<_>>().len(), 2, "a split");
    assert_eq!(app.answers("staging", "twin", 200).await, answers);
    assert_eq!(app.answers("production", "twin", 1).await, ["off DISABLED"], "production was not asked for");
}

#[tokio::test]
async fn a_copy_is_refused_with_its_place_and_waits_where_others_must_agree() {
    let app = App::start().await;
    let ana = app.ana().await;
    divided(&ana).await;
    let path = "/projects/shop/flags/checkout/copy";
    let taken = ana.post(path, json!({ "key": "checkout", "name": "X" })).await.expect(409);
    assert_eq!(taken.code(), "exists");
    let wrong = json!({ "key": "x", "name": "X", "environments": ["staging", "nowhere"] });
    assert_eq!(ana.post(path, wrong).await.expect(422).fields(), ["environments[1]"]);
    app.protect_with_ben("production").await;
    let done = ana.post(path, json!({ "key": "x", "name": "X" })).await.expect(201);
    assert_eq!(done.body["requested"]["environments"], json!(["production"]));
    assert_eq!(app.answers("production", "x", 1).await, ["FLAG_NOT_FOUND"]);
    assert_eq!(keys(&ana, "state=waiting:production").await, ["x"]);
    assert_eq!(keys(&ana, "state=waiting:staging").await, Vec::<String>::new());
}

/// The id of a person.
pub(crate) async fn user_id(app: &App, name: &str) -> uuid::Uuid {
    let id = sqlx::query_scalar("select id from users where name = $1").bind(name);
    id.fetch_one(&app.state.pool).await.expect("a person")
}
