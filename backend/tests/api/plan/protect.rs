//! Plans where a policy protects an environment: one approval covers all of a plan, and is counted at every step.

use serde_json::json;
use shared::model::change::Change;
use shared::model::policy::Policy;
use time::Duration;

use super::{PLANS, applied, later, make, ramp, read, ready, share, share_on, states, steer, tick};
use crate::changeset::CHANGESETS;
use crate::support::{App, Person};

/// Production needs Ben's approval; Eve asks.
async fn protected() -> (App, Person, Person, Person) {
    let (app, ana) = ready().await;
    let ben = app.member("Ben", Some("approver")).await;
    let eve = app.member("Eve", Some("editor")).await;
    let policy = Policy { approvals: 1, people: Vec::new(), roles: Vec::new(), note_required: true };
    let environment = "production".parse().expect("a key");
    app.apply(vec![Change::SetPolicy { environment, version: 0, policy: Some(policy) }]).await.expect("a policy");
    (app, ana, ben, eve)
}

/// Somebody agrees to all of the plan as it stands.
async fn approve(person: &Person, id: &str) {
    let path = format!("{CHANGESETS}/{id}");
    let review = person.get(&path).await.expect(200).body;
    assert_eq!((&review["fits"], review["plan"]["steps"].as_array().map(Vec::len)), (&json!(true), Some(3)));
    assert_eq!(review["effects"].as_array().map(Vec::len), Some(3), "what each step does");
    person.post(&format!("{path}/approve"), json!({ "digest": review["digest"] })).await.expect(200);
}

#[tokio::test]
async fn a_plan_waits_for_approval_and_one_covers_all_of_it() {
    let (app, ana, ben, eve) = protected().await;
    let mut silent = ramp();
    silent["note"] = json!("");
    assert_eq!(eve.post(PLANS, silent).await.expect(422).fields(), ["note"]);
    let made = eve.post(CHANGESETS, ramp()).await.expect(201).body;
    assert_eq!((&made["state"], &made["environments"]), (&json!("in_review"), &json!(["production"])));
    let id = made["id"].as_str().expect("an id").to_owned();
    later(&app, Duration::hours(3)).await;
    let waiting = read(&eve, &id).await;
    assert_eq!((&waiting["state"], &waiting["environments"]), (&json!("in_review"), &json!(["production"])));
    assert_eq!((states(&waiting), applied(&app).await), (vec!["waiting"; 3], 0));
    assert_eq!(steer(&eve, &id, "next", json!({})).await.expect(409).code(), "wrong_state");
    let break_glass = json!({ "reason": "hurry" });
    ana.post(&format!("{CHANGESETS}/{id}/break-glass"), break_glass).await.expect(409);
    approve(&ben, &id).await;
    tick(&app).await;
    for _ in 0..2 {
        later(&app, Duration::hours(1)).await;
    }
    assert_eq!((share_on(&ana).await, applied(&app).await), (100_000, 3));
}

#[tokio::test]
async fn approvals_are_counted_again_at_every_step() {
    let (app, ana, ben, eve) = protected().await;
    let id = make(&eve, ramp()).await;
    approve(&ben, &id).await;
    tick(&app).await;
    assert_eq!(share_on(&ana).await, 10_000);
    sqlx::query("update members set role = 'editor' where user_id = (select id from users where name = 'Ben')")
        .execute(&app.state.pool)
        .await
        .expect("a role");
    later(&app, Duration::hours(1)).await;
    let suspended = read(&ana, &id).await;
    assert_eq!((&suspended["state"], share_on(&ana).await), (&json!("suspended"), 10_000));
    assert!(suspended["problem"].as_str().expect("a reason").contains("1 approvals in production, and 0 count now"));
}

#[tokio::test]
async fn only_somebody_whose_approval_counts_brings_a_step_forward_that_people_agreed_to() {
    let (app, ana, ben, eve) = protected().await;
    let id = make(&eve, ramp()).await;
    approve(&ben, &id).await;
    tick(&app).await;
    assert_eq!(steer(&eve, &id, "next", json!({})).await.expect(403).code(), "forbidden");
    steer(&ben, &id, "next", json!({})).await.expect(200);
    assert_eq!(share_on(&ana).await, 50_000);
}

#[tokio::test]
async fn going_back_needs_approval_too_unless_nothing_was_done() {
    let (app, ana, ben, eve) = protected().await;
    let id = make(&eve, ramp()).await;
    approve(&ben, &id).await;
    tick(&app).await;
    let refused = steer(&eve, &id, "stop", json!({ "go_back": true })).await.expect(422);
    assert_eq!(refused.fields(), ["note"]);
    let stopped = steer(&eve, &id, "stop", json!({ "go_back": true, "note": "too slow" })).await.expect(200).body;
    assert_eq!((&stopped["state"], &stopped["went_back"]["state"]), (&json!("cancelled"), &json!("in_review")));
    assert_eq!(share_on(&ana).await, 10_000, "until somebody agrees");
    let mut other = ramp();
    other["plan"]["steps"][0]["when"] = json!({ "kind": "after", "seconds": 600 });
    let id = make(&eve, other).await;
    approve(&ben, &id).await;
    let stopped = steer(&eve, &id, "stop", json!({ "go_back": true })).await.expect(200).body;
    assert_eq!((&stopped["state"], &stopped["went_back"]), (&json!("cancelled"), &serde_json::Value::Null));
}

#[tokio::test]
async fn a_plan_is_neither_a_draft_nor_beside_other_changes_nor_edited() {
    let (app, ana, _ben, eve) = protected().await;
    for (field, value) in [("draft", json!(true)), ("break_glass", json!("hurry")), ("changes", json!([share(10)]))] {
        let mut bad = ramp();
        bad[field] = value;
        assert_eq!(ana.post(CHANGESETS, bad).await.expect(422).fields(), [field]);
    }
    let id = make(&eve, ramp()).await;
    let edit = json!({ "changes": [share(10)] });
    assert_eq!(eve.put(&format!("{CHANGESETS}/{id}"), 1, edit).await.expect(409).code(), "wrong_state");
    eve.post(&format!("{CHANGESETS}/{id}/cancel"), json!({})).await.expect(200);
    later(&app, Duration::hours(3)).await;
    assert_eq!(share_on(&ana).await, 0);
}
