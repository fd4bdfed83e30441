//! Flags that need other flags.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use backend::error::AppError;
use backend::store;
use serde_json::{Value, json};
use shared::model::change::Change;

use crate::flag::boolean;
use crate::reference::{config, new_flag};
use crate::support::{Answer, App, Person};

async fn create(ana: &Person, keys: &[&str]) {
    for key in keys {
        ana.post("/projects/shop/flags", boolean(key)).await.expect(201);
    }
}

/// Lets a flag need others in staging.
async fn need(ana: &Person, flag: &str, version: u64, parents: &[&str]) -> Answer {
    let path = format!("/projects/shop/flags/{flag}/environments/staging");
    ana.put(&path, version, json!({ "config": config(parents, &[]) })).await
}

/// A change that gives a flag its first or next config.
fn save(flag: &str, environment: &str, version: u64, parents: &[&str]) -> Change {
    Change::SaveConfig {
        flag: flag.parse().expect("a key"),
        environment: environment.parse().expect("a key"),
        version,
        config: serde_json::from_value(config(parents, &[])).expect("a config"),
    }
}

fn theme(variants: &[&str]) -> Value {
    let variants: Vec<Value> = variants.iter().map(|key| json!({ "key": key, "value": key })).collect();
    json!({ "definition": { "key": "theme", "value_type": "string", "kind": "release", "client_visible": false,
                            "variants": variants }, "name": "Theme" })
}

/// Fields of a changeset that was refused.
fn fields_of(refused: AppError) -> Vec<String> {
    let AppError::Invalid(problems) = refused else { panic!("refused, but otherwise: {refused}") };
    problems.into_iter().map(|problem| problem.field).collect()
}

#[tokio::test]
async fn a_prerequisite_is_part_of_what_edges_hold_and_makes_the_answer_depend() {
    let app = App::start().await;
    let ana = app.ana().await;
    create(&ana, &["checkout", "payments"]).await;
    let saved = need(&ana, "checkout", 1, &["payments"]).await.expect(200);
    assert_eq!(saved.body["environments"], json!(["staging"]));
    let values: Vec<String> = sqlx::query_scalar("select value from state where value like '%prerequisites%'")
        .fetch_all(&app.state.pool)
        .await
        .expect("state");
    let value: Value = serde_json::from_str(&values[0]).expect("JSON");
    let needed = json!([{ "flag": "payments", "variants": ["on"] }]);
    assert_eq!((values.len(), &value["body"]["config"]["prerequisites"]), (1, &needed));
    let flag = ana.get("/projects/shop/flags/checkout").await.expect(200).body;
    assert_eq!(flag["environments"][1]["config"]["prerequisites"], needed);
    let list = ana.get("/projects/shop/flags?state=part&env=staging").await.expect(200).body;
    assert_eq!((&list["matching"], &list["items"][0]["states"][1]["shape"]), (&json!(1), &json!("part")));
    need(&ana, "checkout", 1, &[]).await.expect(412);
    // A child that may not be saved any more says so before anything about its parents.
    need(&ana, "checkout", 1, &["nobody"]).await.expect(412);
}

#[tokio::test]
async fn what_a_flag_needs_exists_in_its_environment_and_has_the_variant() {
    let app = App::start().await;
    let ana = app.ana().await;
    create(&ana, &["checkout", "payments"]).await;
    let refused = need(&ana, "checkout", 1, &["payments", "nobody"]).await.expect(422);
    assert_eq!(refused.fields(), ["config.prerequisites[1].flag"]);
    let mut wrong = config(&["payments"], &[]);
    wrong["prerequisites"][0]["variants"] = json!(["on", "blue"]);
    let path = "/projects/shop/flags/checkout/environments/staging";
    let refused = ana.put(path, 1, json!({ "config": wrong })).await.expect(422);
    assert_eq!(refused.fields(), ["config.prerequisites[0].variants[1]"]);

    ana.post("/projects/shop/environments", json!({ "key": "qa", "name": "QA" })).await.expect(201);
    let path = "/projects/shop/flags/checkout/environments/qa";
    let refused = ana.put(path, 0, json!({ "config": config(&["payments"], &[]) })).await.expect(422);
    assert_eq!(refused.fields(), ["config.prerequisites[0].flag"], "payments has no config in qa");
    let flag = ana.get("/projects/shop/flags/checkout").await.body;
    assert_eq!(flag["environments"].as_array().map(Vec::len), Some(3), "nothing was written");

    // In one changeset the child may come before the config of its parent.
    let done = app.apply(vec![save("checkout", "qa", 0, &["payments"]), save("payments", "qa", 0, &[])]).await;
    assert_eq!(done.expect("applied").environments, ["qa".parse().expect("a key")]);
}

#[tokio::test]
async fn no_flag_comes_to_need_itself_and_a_diamond_is_fine() {
    let app = App::start().await;
    let ana = app.ana().await;
    create(&ana, &["a", "b", "c", "d"]).await;
    need(&ana, "b", 1, &["d"]).await.expect(200);
    need(&ana, "c", 1, &["d"]).await.expect(200);
    need(&ana, "a", 1, &["b", "c"]).await.expect(200);
    let itself = need(&ana, "d", 1, &["d"]).await.expect(422);
    assert_eq!(itself.fields(), ["config.prerequisites[0].flag"]);
    let refused = need(&ana, "d", 1, &["a"]).await.expect(422);
    assert_eq!(refused.fields(), ["config.prerequisites[0].flag"]);
    let text = refused.body["detail"].as_str().unwrap_or_default();
    assert!(text.contains("'d' would need itself: d needs a, which needs b, which needs d"), "{text}");
    // Each environment has its own prerequisites.
    let path = "/projects/shop/flags/d/environments/production";
    ana.put(path, 1, json!({ "config": config(&["a"], &[]) })).await.expect(200);

    let refused = app.apply(vec![save("a", "development", 1, &["b"]), save("b", "development", 1, &["a"])]).await;
    let places = ["a", "b"].map(|key| format!("flags[{key}].environments.development.prerequisites[0].flag"));
    assert_eq!(fields_of(refused.expect_err("a cycle")), places);
    let turned = vec![save("d", "staging", 1, &["b"]), save("b", "staging", 2, &[])];
    app.apply(turned).await.expect("only in between would b and d need each other");
    let flag = ana.get("/projects/shop/flags/a").await.body;
    assert_eq!(flag["environments"][0]["version"], 1, "a refused changeset leaves nothing");
}

#[tokio::test]
async fn two_saves_that_together_would_make_a_cycle_come_one_after_the_other() {
    let app = App::start().await;
    let ana = app.ana().await;
    create(&ana, &["a", "b"]).await;
    // Whoever holds the project lets both come past the door and their first reads.
    let mut held = app.state.pool.begin().await.expect("a transaction");
    store::project::lock(&mut held, app.project().await).await.expect("the project");
    let saves = [("a", "b"), ("b", "a")].map(|(flag, parent)| {
        let ana = ana.clone();
        tokio::spawn(async move { need(&ana, flag, 1, &[parent]).await })
    });
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let waiting: i64 = sqlx::query_scalar(
            "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        )
        .fetch_one(&app.state.pool)
        .await
        .expect("activity");
        if waiting == 2 {
            break;
        }
        assert!(Instant::now() < deadline, "{waiting} of 2 saves wait for the project");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    held.rollback().await.expect("the end");
    let mut statuses = BTreeSet::new();
    for save in saves {
        statuses.insert(save.await.expect("an answer").status);
    }
    assert_eq!(statuses, BTreeSet::from([200, 422]));
    let references: i64 =
        sqlx::query_scalar("select count(*) from reference").fetch_one(&app.state.pool).await.expect("references");
    assert_eq!(references, 1);
}

#[tokio::test]
async fn a_variant_that_another_flag_needs_cannot_go() {
    let app = App::start().await;
    let ana = app.ana().await;
    create(&ana, &["checkout", "banner"]).await;
    ana.post("/projects/shop/flags", theme(&["blue", "red", "none"])).await.expect(201);
    for (child, environment) in [("checkout", "staging"), ("banner", "production")] {
        let mut child_config = config(&["theme"], &[]);
        child_config["prerequisites"][0]["variants"] = json!(["red", "blue"]);
        let path = format!("/projects/shop/flags/{child}/environments/{environment}");
        ana.put(&path, 1, json!({ "config": child_config })).await.expect(200);
    }
    // Nothing else in the flag's way: its own configs give other variants.
    for environment in ["development", "staging", "production"] {
        let own = json!({ "enabled": true, "off_variant": "none", "default_serve": { "variant": "red" } });
        let path = format!("/projects/shop/flags/theme/environments/{environment}");
        ana.put(&path, 1, json!({ "config": own })).await.expect(200);
    }
    let variants = theme(&["red", "none", "green"])["definition"]["variants"].clone();
    let refused = ana.patch("/projects/shop/flags/theme", 1, json!({ "variants": variants })).await.expect(422);
    let mut fields = refused.fields();
    fields.sort_unstable();
    let places = ["flags[banner].environments.production", "flags[checkout].environments.staging"];
    assert_eq!(fields, places.map(|place| format!("{place}.prerequisites[0].variants[1]")));
    let messages = refused.body["errors"].to_string();
    assert!(messages.contains("flag 'checkout' in staging: 'blue' is not a variant of theme"), "{messages}");
    ana.patch("/projects/shop/flags/theme", 1, json!({ "name": "Colours" })).await.expect(200);
    let more = theme(&["blue", "red", "none", "green"])["definition"]["variants"].clone();
    ana.patch("/projects/shop/flags/theme", 2, json!({ "variants": more })).await.expect(200);

    // Once its children do not name it any more, in the same changeset or before, it can.
    let path = "/projects/shop/flags/banner/environments/production";
    ana.put(path, 2, json!({ "config": config(&[], &[]) })).await.expect(200);
    let update = serde_json::from_value(json!({ "variants": variants })).expect("an update");
    let update = Change::UpdateFlag { flag: "theme".parse().expect("a key"), version: 3, update };
    app.apply(vec![update, save("checkout", "staging", 2, &[])]).await.expect("nobody needs blue");
}

#[tokio::test]
async fn sixty_four_flags_can_be_needed_and_no_more_wherever_one_is_added() {
    let app = App::start().await;
    let ana = app.ana().await;
    let environment = "staging";
    let keys: Vec<String> = (0..=65).map(|n| format!("f{n:02}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    // Each needs the next, but for the last two: f00 reaches 64.
    let chain = (0..=65).map(|n| new_flag(keys[n], environment, if n < 64 { &keys[n + 1..n + 2] } else { &[] }, &[]));
    app.apply(chain.collect()).await.expect("64 flags in a chain");
    let refused = need(&ana, "f64", 1, &["f65"]).await.expect(422);
    assert_eq!(refused.fields(), ["flags[f00].environments.staging.prerequisites"]);
    let text = refused.body["detail"].as_str().unwrap_or_default();
    assert!(text.contains("flag 'f00' in staging: reaches 65 flags"), "{text}");

    let refused = app.apply(vec![new_flag("more", environment, &["f00"], &[])]).await.expect_err("65 flags");
    assert_eq!(fields_of(refused), ["config.prerequisites"]);
    app.apply(vec![new_flag("many", environment, &keys[1..65], &[])]).await.expect("64 flags, most of them twice");
    let refused = app.apply(vec![new_flag("more", environment, &keys[1..66], &[])]).await.expect_err("65 flags");
    assert_eq!(fields_of(refused), ["config.prerequisites"]);
}
