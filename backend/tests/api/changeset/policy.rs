//! Policies change only under the policy in force, and can always be met.

use serde_json::json;

use super::{Shop, approve, approved, ask, request, set_policy, turn_on};

#[tokio::test]
async fn the_policy_itself_changes_only_under_the_policy_in_force() {
    let shop = Shop::start().await;
    let ends = json!({ "kind": "set_policy", "environment": "production", "version": 1 });
    let path = request(&shop.ana, vec![ends.clone()]).await;
    // Also when it is to be gone before what it protects is changed.
    request(&shop.ana, vec![ends.clone(), turn_on("production", 1)]).await;
    request(&shop.ana, vec![set_policy(1, &json!({ "approvals": 1, "people": [shop.id_of("Ben").await] }))]).await;
    let stored: bool = sqlx::query_scalar("select document is not null from policies")
        .fetch_one(&shop.app.state.pool)
        .await
        .expect("a policy");
    assert!(stored, "it is still there");
    assert_eq!(approve(&shop.ana, &path).await.expect(403).code(), "forbidden");
    assert_eq!(approved(&shop.ben, &path).await["state"], "applied");
    assert_eq!(ask(&shop.eve, vec![turn_on("production", 1)]).await.expect(201).body["state"], "applied");
}

#[tokio::test]
async fn who_may_approve_is_changed_under_the_policy_in_force_too() {
    let shop = Shop::start().await;
    let eve = json!({ "kind": "set_member", "person": shop.id_of("Eve").await, "version": 0, "role": "approver" });
    // Eve would agree to it herself as soon as she may.
    let path = request(&shop.ana, vec![eve, turn_on("production", 1)]).await;
    assert_eq!(approve(&shop.eve, &path).await.expect(403).code(), "forbidden");
    assert_eq!(approved(&shop.ben, &path).await["state"], "applied");
    let mut off = turn_on("production", 2);
    off["config"]["enabled"] = json!(false);
    let own = request(&shop.ben, vec![off]).await;
    assert_eq!(approved(&shop.eve, &own).await["state"], "applied", "now she may");
}

#[tokio::test]
async fn somebody_who_does_not_manage_environments_cannot_ask_for_a_policy() {
    let shop = Shop::start().await;
    let refused = ask(&shop.ben, vec![set_policy(1, &json!({ "approvals": 2 }))]).await.expect(403);
    assert_eq!(refused.code(), "forbidden");
}

#[tokio::test]
async fn a_policy_that_nobody_could_ever_meet_is_refused_and_names_who_there_is() {
    let shop = Shop::start().await;
    let many = ask(&shop.ana, vec![set_policy(1, &json!({ "approvals": 3 }))]).await.expect(201);
    assert_eq!(many.body["state"], "in_review", "Ana, Ben and Chen are enough for Eve");
    let refused = ask(&shop.ana, vec![set_policy(1, &json!({ "approvals": 4 }))]).await.expect(422);
    assert_eq!(refused.fields(), ["changes[0].policy.approvals"]);
    assert!(refused.body["detail"].as_str().is_some_and(|text| text.contains("Ben")), "{}", refused.body);
    let nobody = json!({ "approvals": 1, "roles": ["lead"] });
    ask(&shop.ana, vec![set_policy(1, &nobody)]).await.expect(422);
    for approvals in [0, 11] {
        ask(&shop.ana, vec![set_policy(1, &json!({ "approvals": approvals }))]).await.expect(422);
    }
}

#[tokio::test]
async fn a_note_is_demanded_where_the_policy_demands_one() {
    let shop = Shop::with_policy(json!({ "approvals": 1, "note_required": true })).await;
    let body = json!({ "changes": [turn_on("production", 1)], "note": "  " });
    let refused = shop.eve.post(super::CHANGESETS, body.clone()).await.expect(422);
    assert_eq!(refused.fields(), ["note"]);
    let dry = shop.eve.post("/projects/shop/changesets/dry-run", body).await.expect(200).body;
    assert_eq!(
        (&dry["outcome"]["state"], &dry["environments"][0]["note_required"]),
        (&json!("needs_note"), &json!(true))
    );
    request(&shop.eve, vec![turn_on("production", 1)]).await;
}
