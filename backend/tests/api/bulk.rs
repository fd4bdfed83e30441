//! One action on many flags: one changeset, a result for each, and nothing when anything is wrong.

use serde_json::{Value, json};

use crate::flag::{boolean, on};
use crate::flag_life::user_id;
use crate::reference::config;
use crate::support::{Answer, App, Person, new_id};

async fn create(ana: &Person, keys: &[&str]) {
    for key in keys {
        ana.post("/projects/shop/flags", boolean(key)).await.expect(201);
    }
}

async fn act(person: &Person, flags: &[(&str, u64)], action: Value) -> Answer {
    let flags: Vec<Value> = flags.iter().map(|(key, version)| json!({ "key": key, "version": version })).collect();
    person.post("/projects/shop/flag-actions", json!({ "flags": flags, "action": action, "note": "bulk" })).await
}

/// Outcome and sentence of each flag.
fn results(answer: &Answer) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let results = answer.body["results"].as_array().expect("results");
    results.iter().map(|result| (text(&result["outcome"]), text(&result["sentence"]))).collect()
}

fn told(lines: &[(&str, &str)]) -> Vec<(String, String)> {
    lines.iter().map(|(outcome, sentence)| ((*outcome).into(), (*sentence).into())).collect()
}

async fn revisions(app: &App) -> i64 {
    let count = sqlx::query_scalar("select count(*) from changesets where note = 'bulk'");
    count.fetch_one(&app.state.pool).await.expect("changesets")
}

#[tokio::test]
async fn many_are_turned_on_as_one_changeset_and_those_that_are_on_are_skipped() {
    let app = App::start().await;
    let ana = app.ana().await;
    create(&ana, &["a", "b", "c"]).await;
    ana.put("/projects/shop/flags/b/environments/staging", 1, json!({ "config": on() })).await.expect(200);
    let kill = json!({ "environments": ["staging"], "reason": "payments fail" });
    ana.post("/projects/shop/flags/c/kill", kill).await.expect(200);
    let action = json!({ "kind": "turn_on", "environments": ["staging"] });
    let done = act(&ana, &[("a", 1), ("b", 1), ("c", 1)], action.clone()).await.expect(200);
    let expected = told(&[
        ("applied", "turned on in staging"),
        ("skipped", "on already in staging"),
        ("applied", "turned on in staging, where it is killed until somebody lifts that"),
    ]);
    assert_eq!(results(&done), expected);
    assert_eq!(revisions(&app).await, 1);
    for (key, answer) in [("a", "on STATIC"), ("b", "on STATIC"), ("c", "off DISABLED")] {
        assert_eq!(app.answers("staging", key, 1).await, [answer], "{key}");
    }
    let again = act(&ana, &[("a", 1)], action).await.expect(200);
    assert_eq!((&again.body["changeset"], revisions(&app).await), (&Value::Null, 1), "nothing to do is no changeset");
    let off = json!({ "kind": "turn_off", "environments": ["staging", "production"] });
    let done = act(&ana, &[("a", 1)], off).await.expect(200);
    assert_eq!(results(&done), told(&[("applied", "turned off in staging; off already in production")]));
}

#[tokio::test]
async fn nothing_is_done_when_one_of_them_is_wrong_and_every_fault_has_its_place() {
    let app = App::start().await;
    let ana = app.ana().await;
    create(&ana, &["a", "b", "gone"]).await;
    act(&ana, &[("gone", 1)], json!({ "kind": "archive" })).await.expect(200);
    let action = json!({ "kind": "turn_on", "environments": ["staging"] });
    let refused = act(&ana, &[("a", 1), ("b", 9), ("nobody", 1), ("a", 1), ("gone", 2)], action).await.expect(422);
    assert_eq!(refused.fields(), ["flags[1].version", "flags[2].key", "flags[3].key", "flags[4].key"]);
    assert_eq!(app.answers("staging", "a", 1).await, ["off DISABLED"]);
    let seen = json!({ "flags": [{ "key": "a", "version": 1, "configs": { "staging": 7 } }],
                       "action": { "kind": "turn_on", "environments": ["staging"] } });
    let refused = ana.post("/projects/shop/flag-actions", seen).await.expect(422);
    assert_eq!(refused.fields(), ["flags[0].configs.staging"]);
    for (action, field) in [
        (json!({ "kind": "turn_on", "environments": [] }), "action.environments"),
        (json!({ "kind": "turn_on", "environments": ["staging", "moon"] }), "action.environments[1]"),
        (json!({ "kind": "add_tags", "tags": [] }), "action.tags"),
        (json!({ "kind": "copy_config", "from": "staging", "to": "staging" }), "action.to"),
    ] {
        assert_eq!(act(&ana, &[("a", 1)], action).await.expect(422).fields(), [field]);
    }
    assert_eq!(act(&ana, &[], json!({ "kind": "archive" })).await.expect(422).fields(), ["flags"]);
    let owner = json!({ "kind": "set_owner", "owner": new_id() });
    assert_eq!(act(&ana, &[("a", 1)], owner).await.expect(422).fields(), ["owner"]);
}

#[tokio::test]
async fn tags_and_owners_change_where_they_differ() {
    let app = App::start().await;
    let ana = app.ana().await;
    app.member("Eve", Some("editor")).await;
    create(&ana, &["a", "b"]).await;
    ana.patch("/projects/shop/flags/b", 1, json!({ "tags": ["web", "old"] })).await.expect(200);
    let done = act(&ana, &[("a", 1), ("b", 2)], json!({ "kind": "add_tags", "tags": ["web"] })).await.expect(200);
    assert_eq!(results(&done), told(&[("applied", "tagged web"), ("skipped", "has them already")]));
    let done = act(&ana, &[("a", 2), ("b", 2)], json!({ "kind": "remove_tags", "tags": ["old"] })).await.expect(200);
    assert_eq!(results(&done), told(&[("skipped", "has none of them"), ("applied", "no longer tagged old")]));
    let owner = json!({ "kind": "set_owner", "owner": user_id(&app, "Eve").await });
    let done = act(&ana, &[("a", 2), ("b", 3)], owner.clone()).await.expect(200);
    assert_eq!(results(&done)[0], ("applied".into(), "has another owner".into()));
    let done = act(&ana, &[("a", 3)], owner).await.expect(200);
    assert_eq!(results(&done), told(&[("skipped", "Eve owns it already")]));
    let page = ana.get("/projects/shop/flags?sort=key").await.expect(200).body;
    assert_eq!((&page["items"][0]["tags"], &page["items"][1]["tags"]), (&json!(["web"]), &json!(["web"])));
}

#[tokio::test]
async fn configs_are_copied_with_their_seeds_and_a_missing_prerequisite_has_its_place() {
    let app = App::start().await;
    let ana = app.ana().await;
    create(&ana, &["a", "b", "parent"]).await;
    let halves = json!({ "enabled": true, "off_variant": "off", "default_serve": { "split": {
        "bucket_by": "targetingKey", "seed": "s", "ranges": [
            { "start": 0, "end": 50_000, "variant": "on" }, { "start": 50_000, "end": 100_000, "variant": "off" }] } } });
    ana.put("/projects/shop/flags/a/environments/staging", 1, json!({ "config": halves })).await.expect(200);
    let copy = json!({ "kind": "copy_config", "from": "staging", "to": "production" });
    let done = act(&ana, &[("a", 1), ("b", 1)], copy.clone()).await.expect(200);
    let expected = [("applied", "set up in production as in staging"), ("skipped", "the same already in production")];
    assert_eq!(results(&done), told(&expected));
    assert_eq!(app.answers("production", "a", 100).await, app.answers("staging", "a", 100).await);

    ana.post("/projects/shop/environments", json!({ "key": "qa", "name": "QA" })).await.expect(201);
    let needing = json!({ "config": config(&["parent"], &[]) });
    ana.put("/projects/shop/flags/b/environments/staging", 1, needing).await.expect(200);
    let copy = json!({ "kind": "copy_config", "from": "staging", "to": "qa" });
    let refused = act(&ana, &[("a", 1), ("b", 1)], copy.clone()).await.expect(422);
    assert_eq!(refused.fields(), ["flags[b].environments.qa.prerequisites[0].flag"]);
    assert_eq!(app.answers("qa", "a", 1).await, ["FLAG_NOT_FOUND"], "all or nothing");
    act(&ana, &[("b", 1), ("parent", 1)], copy).await.expect(200);
    assert_eq!(app.answers("qa", "b", 1).await, ["off DISABLED"], "blocked by its parent, which is off");
}

#[tokio::test]
async fn an_action_waits_as_a_whole_where_one_environment_is_protected() {
    let app = App::start().await;
    let ana = app.ana().await;
    create(&ana, &["a"]).await;
    app.protect_with_ben("production").await;
    let action = json!({ "kind": "turn_on", "environments": ["staging", "production"] });
    let asked = act(&ana, &[("a", 1)], action).await.expect(200);
    assert_eq!(asked.body["changeset"]["state"], "in_review");
    let sentence = "waits for people to agree: turned on in staging; turned on in production";
    assert_eq!(results(&asked), told(&[("requested", sentence)]));
    assert_eq!(app.answers("staging", "a", 1).await, ["off DISABLED"]);
}
