//! Approvals: whose count, of what, and when.

use backend::app::changeset::review;
use backend::auth::permission::{Actor, InProject};
use backend::error::AppError;
use serde_json::json;
use shared::model::changeset::{Note, Via};

use super::{CHANGESETS, Shop, approve, approved, ask, request, set_policy, turn_on};

#[tokio::test]
async fn a_change_of_production_waits_and_the_approval_that_was_missing_applies_it_under_its_own_id() {
    let shop = Shop::start().await;
    let before = shop.state_of("production").await;
    let path = request(&shop.eve, vec![turn_on("production", 1)]).await;
    assert_eq!(shop.state_of("production").await, before);
    let waiting = shop.ben.get(&path).await.expect(200).body;
    assert_eq!((&waiting["fits"], &waiting["can"]["approve"]["may"]), (&json!(true), &json!(true)));
    assert_eq!(waiting["effects"][0]["sentences"], json!(["~ Turned on"]));

    let done = approved(&shop.ben, &path).await;
    assert_eq!((&done["state"], &done["via"]), (&json!("applied"), &json!("approval")));
    assert_eq!(done["effects"][0]["sentences"], json!(["~ Turned on"]), "what it did is still told");
    assert_ne!(shop.state_of("production").await, before);
    let author: String =
        sqlx::query_scalar("select users.name from changesets join users on users.id = author_id where revision = $1")
            .bind(done["revision"].as_i64().expect("a revision"))
            .fetch_one(&shop.app.state.pool)
            .await
            .expect("the changeset");
    assert_eq!(author, "Eve");
    assert_eq!(approve(&shop.chen, &path).await.expect(409).code(), "wrong_state");
}

#[tokio::test]
async fn nobody_approves_what_they_wrote_a_part_of_admins_included() {
    let shop = Shop::start().await;
    let path = request(&shop.ben, vec![turn_on("production", 1)]).await;
    assert_eq!(approve(&shop.ben, &path).await.expect(403).code(), "forbidden");
    let edit = json!({ "changes": [turn_on("production", 1)], "note": "better words" });
    shop.ana.put(&path, 1, edit).await.expect(200);
    let seen = shop.ana.get(&path).await.expect(200).body;
    let can = &seen["can"]["approve"];
    assert_eq!((&can["may"], can["why"].is_string()), (&json!(false), true));
    assert_eq!(approve(&shop.ana, &path).await.expect(403).code(), "forbidden", "she edited it");
    assert_eq!(approve(&shop.ben, &path).await.expect(403).code(), "forbidden", "it is still his");
    assert_eq!(approved(&shop.chen, &path).await["state"], "applied");
}

#[tokio::test]
async fn an_approval_needs_the_permission_there_and_a_person() {
    let shop = Shop::start().await;
    let path = request(&shop.eve, vec![turn_on("production", 1)]).await;
    let vic = shop.app.member("Vic", Some("viewer")).await;
    let eva = shop.app.member("Eva", Some("editor")).await;
    for person in [&vic, &eva] {
        approve(person, &path).await.expect(403);
    }
    // An approver everywhere but in production.
    let dee = shop.app.member("Dee", Some("approver")).await;
    shop.execute(
        "insert into member_environments (project_id, user_id, environment_id, role)
         select members.project_id, members.user_id, environments.id, 'editor' from members
         join users on users.id = members.user_id and users.name = 'Dee'
         join environments on environments.project_id = members.project_id and environments.key = 'production'",
    )
    .await;
    assert_eq!(approve(&dee, &path).await.expect(403).code(), "forbidden");

    // An admin of the installation who is no member may do much, but not this.
    shop.execute("delete from members where user_id = (select id from users where name = 'Ana')").await;
    assert_eq!(approve(&shop.ana, &path).await.expect(403).code(), "forbidden");

    // A token of Ben's acts for him, and never agrees for him.
    let ben = Actor { user: shop.id_of("Ben").await.into(), name: "Ben".into(), via: Via::Token };
    let mut db = shop.app.state.pool.acquire().await.expect("a connection");
    let token = InProject::find(&mut db, "shop", ben, false).await.expect("a project").expect("shop");
    drop(db);
    let id = path.rsplit('/').next().expect("an id").parse().expect("an id");
    let digest = shop.ben.get(&path).await.body["digest"].as_str().expect("a digest").to_owned();
    let refused = review::approve(&shop.app.state, &token, id, &digest, &Note::default()).await;
    assert!(matches!(refused, Err(AppError::Refused(_))), "{refused:?}");
    let refused = review::break_glass(&shop.app.state, &token, id, "in a hurry").await;
    assert!(matches!(refused, Err(AppError::Refused(_))), "{refused:?}");
    assert_eq!(shop.ben.get(&path).await.body["approvals"], json!([]));
}

#[tokio::test]
async fn an_approval_is_of_what_was_read_and_an_edit_voids_it() {
    let shop = Shop::with_policy(json!({ "approvals": 2 })).await;
    let path = request(&shop.eve, vec![turn_on("production", 1)]).await;
    let seen = shop.ben.get(&path).await.expect(200).body;
    assert_eq!(approved(&shop.chen, &path).await["policies"][0]["given"], 1);

    let mut other = turn_on("production", 1);
    other["config"]["default_serve"]["variant"] = json!("off");
    let version = shop.eve.get(&path).await.body["version"].as_u64().expect("a version");
    let stale = shop.eve.put(&path, version - 1, json!({ "changes": [other] })).await.expect(412);
    assert_eq!(stale.code(), "stale");
    let edited = shop.eve.put(&path, version, json!({ "changes": [other] })).await.expect(200).body;
    assert_eq!((&edited["policies"][0]["given"], &edited["approvals"]), (&json!(0), &json!([])));
    assert_ne!(edited["digest"], seen["digest"]);
    let refused = shop.ben.post(&format!("{path}/approve"), json!({ "digest": seen["digest"] })).await.expect(409);
    assert_eq!(refused.code(), "changed");

    // Back to what it was: nobody agreed to it since.
    let back = json!({ "changes": [turn_on("production", 1)], "note": "because" });
    let again = shop.eve.put(&path, version + 1, back).await.expect(200).body;
    assert_eq!((&again["digest"], &again["policies"][0]["given"]), (&seen["digest"], &json!(0)));
    let voided: i64 = sqlx::query_scalar("select count(*) from audit_events where kind = 'changeset.edited'")
        .fetch_one(&shop.app.state.pool)
        .await
        .expect("a count");
    assert_eq!(voided, 2, "who edited what was agreed to is written down");
    approved(&shop.ben, &path).await;
    assert_eq!(approved(&shop.chen, &path).await["state"], "applied");
}

#[tokio::test]
async fn two_of_three_must_agree_and_one_person_counts_once() {
    let shop = Shop::with_policy(json!({ "approvals": 2 })).await;
    let path = request(&shop.eve, vec![turn_on("production", 1)]).await;
    for _ in 0..2 {
        let once = approved(&shop.ben, &path).await;
        assert_eq!((&once["state"], &once["policies"][0]["given"]), (&json!("in_review"), &json!(1)));
    }
    assert_eq!(approved(&shop.chen, &path).await["state"], "applied");
}

#[tokio::test]
async fn only_named_people_and_roles_count() {
    let shop = Shop::start().await;
    let ben = shop.id_of("Ben").await;
    let policy = json!({ "approvals": 1, "people": [ben], "roles": ["admin"] });
    let changed = request(&shop.ana, vec![set_policy(1, &policy)]).await;
    assert_eq!(approved(&shop.ben, &changed).await["state"], "applied");
    let path = request(&shop.eve, vec![turn_on("production", 1)]).await;
    let seen = shop.chen.get(&path).await.body;
    let names: Vec<&str> = seen["policies"][0]["approvers"]
        .as_array()
        .expect("approvers")
        .iter()
        .map(|approver| approver["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["Ana", "Ben"]);
    assert_eq!(approve(&shop.chen, &path).await.expect(403).code(), "forbidden");
    assert_eq!(approved(&shop.ana, &path).await["state"], "applied", "her role is named");
}

#[tokio::test]
async fn approvals_are_counted_again_under_the_roles_and_policies_of_the_moment() {
    for taken in [
        "update users set disabled_at = now() where name = 'Ben'",
        "update members set role = 'editor' where user_id = (select id from users where name = 'Ben')",
        "delete from members where user_id = (select id from users where name = 'Ben')",
        "update policies set document = jsonb_set(document, '{approvals}', '3')",
        "update policies set document = jsonb_set(document, '{roles}', '[\"admin\"]')",
    ] {
        let shop = Shop::with_policy(json!({ "approvals": 2 })).await;
        let path = request(&shop.eve, vec![turn_on("production", 1)]).await;
        assert_eq!(approved(&shop.ben, &path).await["policies"][0]["given"], 1);
        let before = shop.state_of("production").await;
        shop.execute(taken).await;
        let answer = approve(&shop.chen, &path).await;
        if answer.status == 200 {
            assert_eq!(answer.body["state"], "in_review", "{taken}: {}", answer.body);
        } else {
            assert_eq!(answer.code(), "forbidden", "{taken}: {}", answer.body);
        }
        let refused = shop.eve.post(&format!("{path}/apply"), json!({})).await.expect(409);
        assert_eq!(refused.code(), "needs_approval", "{taken}");
        assert_eq!(shop.state_of("production").await, before, "{taken}");
    }
}

#[tokio::test]
async fn a_policy_that_asks_for_fewer_lets_what_has_enough_be_applied() {
    let shop = Shop::with_policy(json!({ "approvals": 2 })).await;
    let path = request(&shop.eve, vec![turn_on("production", 1)]).await;
    approved(&shop.ben, &path).await;
    let fewer = request(&shop.ana, vec![set_policy(1, &json!({ "approvals": 1 }))]).await;
    approved(&shop.ben, &fewer).await;
    assert_eq!(approved(&shop.chen, &fewer).await["state"], "applied");
    let done = shop.eve.post(&format!("{path}/apply"), json!({})).await.expect(200).body;
    assert_eq!(done["state"], "applied");
}

#[tokio::test]
async fn what_does_not_fit_any_more_is_suspended_and_says_what_to_do() {
    let shop = Shop::start().await;
    let first = request(&shop.eve, vec![turn_on("production", 1)]).await;
    let mut other = turn_on("production", 1);
    other["config"]["default_serve"]["variant"] = json!("off");
    let second = request(&shop.ben, vec![other.clone()]).await;
    assert_eq!(approved(&shop.chen, &second).await["state"], "applied");

    let seen = shop.chen.get(&first).await.expect(200).body;
    assert_eq!((&seen["fits"], &seen["can"]["approve"]["may"]), (&json!(false), &json!(false)));
    let suspended = approved(&shop.chen, &first).await;
    assert_eq!(suspended["state"], "suspended");
    let problem = suspended["problem"].as_str().expect("a problem");
    assert!(problem.contains("version 1") && problem.contains("edit it"), "{problem}");

    let version = suspended["version"].as_u64().expect("a version");
    let edited = shop.eve.put(&first, version, json!({ "changes": [turn_on("production", 2)] })).await.expect(200).body;
    assert_eq!((&edited["state"], &edited["fits"]), (&json!("in_review"), &json!(true)));
    assert_eq!(approved(&shop.chen, &first).await["state"], "applied");
}

#[tokio::test]
async fn nothing_is_applied_for_an_author_who_could_not_do_it_now() {
    for (taken, word) in [
        ("update users set disabled_at = now() where name = 'Eve'", "no member any more"),
        ("delete from members where user_id = (select id from users where name = 'Eve')", "no member any more"),
        (
            "update members set role = 'viewer' where user_id = (select id from users where name = 'Eve')",
            "may no longer",
        ),
    ] {
        let shop = Shop::start().await;
        let path = request(&shop.eve, vec![turn_on("production", 1)]).await;
        let before = shop.state_of("production").await;
        shop.execute(taken).await;
        let suspended = approved(&shop.ben, &path).await;
        assert_eq!(suspended["state"], "suspended", "{taken}");
        assert!(suspended["problem"].as_str().is_some_and(|text| text.contains(word)), "{suspended}");
        assert_eq!(shop.state_of("production").await, before, "{taken}");
    }
}

#[tokio::test]
async fn a_changeset_that_would_touch_more_than_was_signed_is_suspended() {
    let shop = Shop::start().await;
    let staff = json!({ "definition": { "key": "staff", "included": ["ana"] }, "name": "Staff" });
    shop.ana.post("/projects/shop/segments", staff).await.expect(201);
    // Used in production alone, so that is all that an edit of it touches.
    let mut rules = turn_on("production", 1);
    rules["config"]["rules"] = json!([{ "id": crate::support::new_id(), "serve": { "variant": "off" },
        "conditions": { "all": [{ "operator": "in_segment", "values": ["staff"] }] } }]);
    let used = request(&shop.eve, vec![rules.clone()]).await;
    approved(&shop.ben, &used).await;
    let grown = json!({ "kind": "update_segment", "version": 1, "name": "Staff",
                        "definition": { "key": "staff", "included": ["ana", "ben"] } });
    let path = request(&shop.eve, vec![grown]).await;
    rules["environment"] = json!("staging");
    assert_eq!(ask(&shop.eve, vec![rules]).await.expect(201).body["state"], "applied");
    let suspended = approved(&shop.ben, &path).await;
    assert_eq!(suspended["state"], "suspended");
    assert!(suspended["problem"].as_str().is_some_and(|text| text.contains("staging")), "{suspended}");
    let version = suspended["version"].as_u64().expect("a version");
    let same = json!({ "changes": suspended["changes"], "note": suspended["note"] });
    let edited = shop.eve.put(&path, version, same).await.expect(200).body;
    assert_eq!(edited["environments"], json!(["staging", "production"]));
    assert_eq!(approved(&shop.ben, &path).await["state"], "applied");
    assert_eq!(shop.ben.get(&format!("{CHANGESETS}?state=done")).await.body["counts"]["done"], 2);
}
