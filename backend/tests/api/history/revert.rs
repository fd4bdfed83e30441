//! Going back is an ordinary changeset.

use serde_json::json;

use crate::flag::on;
use crate::history::{CHECKOUT, off, protect, revision, save, told};
use crate::support::App;

fn revert(number: u64) -> String {
    format!("/projects/shop/history/{number}/revert")
}

async fn bodies(app: &App) -> Vec<String> {
    let values: Vec<String> = sqlx::query_scalar("select value from state where key like '%.flag.%' order by key")
        .fetch_all(&app.state.pool)
        .await
        .expect("state");
    let body = |value: &String| {
        let value: serde_json::Value = serde_json::from_str(value).expect("JSON");
        value["body"].to_string()
    };
    values.iter().map(body).collect()
}

#[tokio::test]
async fn a_revision_is_undone_as_a_changeset_like_any_other() {
    let (app, ana, [_, turned, renamed, _]) = told().await;
    let before = bodies(&app).await;
    let saved = revision(&save(&ana, 2, off(), "").await);
    let done = ana.post(&revert(saved), json!({ "note": "it was wrong" })).await.expect(200).body;
    assert_eq!((&done["changeset"]["state"], &done["left_out"]), (&json!("applied"), &json!([])));
    assert_eq!(bodies(&app).await, before, "byte for byte");
    let undone = ana.get("/projects/shop/history?limit=1").await.body["items"][0].clone();
    assert_eq!((&undone["note"], &undone["who"]), (&json!("it was wrong"), &json!("Ana")));

    // A revert is a revision, and undone itself.
    let number = revision(&done["changeset"]);
    ana.post(&revert(number), json!({})).await.expect(200);
    assert_eq!(ana.get(CHECKOUT).await.body["environments"][2]["config"], ana_config());

    ana.post(&revert(renamed), json!({})).await.expect(200);
    let flag = ana.get(CHECKOUT).await.body;
    assert_eq!((&flag["name"], &flag["tags"]), (&json!("checkout"), &json!([])));
    assert!(turned < renamed);
}

/// What `off` becomes when it is stored.
fn ana_config() -> serde_json::Value {
    let config: shared::model::flag::FlagConfig = serde_json::from_value(off()).expect("a config");
    serde_json::to_value(config).expect("JSON")
}

#[tokio::test]
async fn what_was_changed_again_is_named_and_undone_only_when_forced() {
    let (_app, ana, [_, turned, ..]) = told().await;
    let later = revision(&save(&ana, 2, off(), "").await);
    let refused = ana.post(&revert(turned), json!({})).await.expect(409);
    assert_eq!((refused.code(), refused.fields()), ("changed", vec!["config[checkout]"]));
    let message = refused.body["errors"][0]["message"].as_str().expect("a sentence");
    assert_eq!(message, format!("config 'checkout' in production was changed again by r{later} by Ana"));
    ana.post(&revert(turned), json!({ "force": true })).await.expect(200);
    assert_eq!(ana.get(CHECKOUT).await.body["environments"][2]["config"]["enabled"], false);
}

#[tokio::test]
async fn what_cannot_be_undone_says_so() {
    let (_app, ana, [made, _, _, killed]) = told().await;
    let refused = ana.post(&revert(killed), json!({})).await.expect(422);
    assert!(refused.body["detail"].as_str().expect("a sentence").contains("kills and their ends are not undone"));
    let refused = ana.post(&revert(made), json!({ "force": true })).await.expect(422);
    assert!(refused.body["detail"].as_str().expect("a sentence").contains("nothing is left to undo"));
    ana.post(&revert(99_999), json!({})).await.expect(404);
    ana.post(&revert(made), json!({ "mood": 1 })).await.expect(422);
}

#[tokio::test]
async fn segments_come_back_with_those_who_used_them() {
    let (_app, ana, _) = told().await;
    let segment = |keys: &[&str]| json!({ "definition": { "key": "staff", "included": keys }, "name": "Staff" });
    let born = revision(&ana.post("/projects/shop/segments", segment(&["ana"])).await.expect(201).body);
    let gone = revision(&ana.delete("/projects/shop/segments/staff").await.expect(200).body);
    assert_eq!(ana.post(&revert(born), json!({})).await.expect(409).code(), "changed");
    ana.post(&revert(gone), json!({})).await.expect(200);
    let body = json!({ "name": "Staff", "included": ["ana", "ben"] });
    let changed = revision(&ana.put("/projects/shop/segments/staff", 1, body).await.expect(200).body);
    ana.post(&revert(changed), json!({})).await.expect(200);
    let now = ana.get("/projects/shop/segments/staff").await.expect(200).body;
    assert_eq!(now["definition"]["included"], json!(["ana"]));
}

#[tokio::test]
async fn a_flag_goes_back_to_how_it_was_in_chosen_environments() {
    let (_app, ana, [made, turned, ..]) = told().await;
    let path = format!("{CHECKOUT}/revert");
    let body = json!({ "revision": made, "environments": ["production"], "note": "back" });
    let done = ana.post(&path, body).await.expect(200).body;
    assert_eq!(done["changeset"]["environments"], json!(["production"]));
    let flag = ana.get(CHECKOUT).await.body;
    assert_eq!(flag["environments"][2]["config"]["enabled"], false);
    assert_eq!(flag["name"], "Checkout page", "what is the same everywhere stays unless asked for");
    assert_eq!(flag["environments"][2]["kill"]["reason"], "payments fail", "a kill stays");
    ana.post(&path, json!({ "revision": turned, "definition": true })).await.expect(200);
    let flag = ana.get(CHECKOUT).await.body;
    assert_eq!((&flag["name"], &flag["environments"][2]["config"]["enabled"]), (&json!("checkout"), &json!(true)));
    let nothing = ana.post(&path, json!({ "revision": turned, "definition": true })).await.expect(422);
    assert_eq!(nothing.fields(), ["revision"]);
    ana.post(&path, json!({ "revision": made, "environments": ["nowhere"] })).await.expect(404);
    ana.post(&path, json!({ "revision": made - 1 })).await.expect(404);
}

#[tokio::test]
async fn a_revert_waits_for_approval_where_a_change_would() {
    let (app, ana, [_, turned, ..]) = told().await;
    app.member("Ben", Some("approver")).await;
    protect(&app).await;
    let chen = app.member("Chen", Some("editor")).await;
    let done = chen.post(&revert(turned), json!({})).await.expect(200).body;
    assert_eq!((&done["changeset"]["state"], done["changeset"].get("revision")), (&json!("in_review"), None));
    assert_eq!(ana.get(CHECKOUT).await.body["environments"][2]["config"]["default_serve"], on()["default_serve"]);
    app.member("Vic", Some("viewer")).await.post(&revert(turned), json!({})).await.expect(403);
}
