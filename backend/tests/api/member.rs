//! Members: who belongs to a project, and with which roles.

use serde_json::{Value, json};

use crate::support::{App, Person};

/// Ana's project with Ben, who approves what touches production.
async fn protected(app: &App) -> Person {
    let ana = app.ana().await;
    app.member("Ben", Some("approver")).await;
    app.protect("production", &[]).await;
    ana
}

fn named<'a>(list: &'a Value, name: &str) -> &'a Value {
    let items = list["items"].as_array().expect("a list");
    items.iter().find(|item| item["person"]["name"] == name).expect("a member")
}

#[tokio::test]
async fn a_member_gets_a_role_everywhere_and_others_in_single_environments() {
    let app = App::start().await;
    let ana = app.ana().await;
    let ben = app.member("Ben", None).await;
    let id = app.id_of("Ben").await;
    assert_eq!(ben.get("/projects/shop").await.code(), "not_found");
    let body = json!({ "role": "viewer", "environments": { "staging": "editor" } });
    let done = ana.put(&format!("/projects/shop/members/{id}"), 0, body).await.expect(200).body;
    assert_eq!(done["state"], "applied");
    let list = ben.get("/projects/shop/members").await.expect(200).body;
    assert_eq!(list["can_manage"], false);
    let own = named(&list, "Ben");
    assert_eq!((&own["role"], &own["environments"]), (&json!("viewer"), &json!({ "staging": "editor" })));
    assert_eq!((&own["version"], &own["disabled"]), (&json!(1), &json!(false)));
    let environments = ben.get("/projects/shop").await.expect(200).body["environments"].clone();
    assert_eq!(environments[1]["permissions"], json!(["edit", "kill"]));
    assert_eq!(environments[2]["permissions"], json!([]));

    let stale = json!({ "role": "editor" });
    assert_eq!(ana.put(&format!("/projects/shop/members/{id}"), 0, stale).await.expect(412).code(), "stale");
    let path = format!("/projects/shop/members/{id}");
    ana.send(reqwest::Method::DELETE, &path, None, &[("if-match", "1")]).await.expect(200);
    assert_eq!(ben.get("/projects/shop").await.code(), "not_found");
    let again = ana.send(reqwest::Method::DELETE, &path, None, &[("if-match", "2")]).await.expect(404);
    assert_eq!(again.code(), "not_found");
}

#[tokio::test]
async fn a_role_or_person_that_is_none_is_named() {
    let app = App::start().await;
    let ana = app.ana().await;
    app.member("Ben", None).await;
    let path = format!("/projects/shop/members/{}", app.id_of("Ben").await);
    let unknown = ana.put(&path, 0, json!({ "role": "chief" })).await.expect(422);
    assert_eq!(unknown.fields(), ["role"]);
    let unknown =
        ana.put(&path, 0, json!({ "role": "viewer", "environments": { "staging": "chief" } })).await.expect(422);
    assert_eq!(unknown.fields(), ["environments.staging"]);
    let nowhere = json!({ "role": "viewer", "environments": { "moon": "viewer" } });
    assert_eq!(ana.put(&path, 0, nowhere).await.expect(404).code(), "not_found");
    let nobody = "/projects/shop/members/00000000-0000-0000-0000-000000000000";
    ana.put(nobody, 0, json!({ "role": "viewer" })).await.expect(404);
    let unseen = ana.send(reqwest::Method::PUT, &path, Some(json!({ "role": "viewer" })), &[]).await.expect(428);
    assert_eq!(unseen.code(), "if_match_missing");
}

#[tokio::test]
async fn who_is_to_approve_in_a_protected_environment_waits_for_those_who_do() {
    let app = App::start().await;
    let ana = protected(&app).await;
    let eve = app.member("Eve", Some("editor")).await;
    let path = format!("/projects/shop/members/{}", app.id_of("Eve").await);
    let waiting = ana.put(&path, 0, json!({ "role": "approver", "note": "she knows the shop" })).await.expect(200).body;
    assert_eq!((&waiting["state"], &waiting["environments"]), (&json!("in_review"), &json!(["production"])));
    assert_eq!(named(&eve.get("/projects/shop/members").await.body, "Eve")["role"], "editor");
    let elsewhere = json!({ "role": "editor", "environments": { "staging": "approver" } });
    assert_eq!(ana.put(&path, 0, elsewhere).await.expect(200).body["state"], "applied");
    let less = json!({ "role": "viewer" });
    assert_eq!(ana.put(&path, 1, less).await.expect(200).body["state"], "applied");
}

#[tokio::test]
async fn the_last_who_manages_members_cannot_go_until_somebody_else_does() {
    let app = App::start().await;
    let ana = app.ana().await;
    app.member("Ben", Some("viewer")).await;
    let own = format!("/projects/shop/members/{}", app.id_of("Ana").await);
    let leave = || ana.send(reqwest::Method::DELETE, &own, None, &[("if-match", "1")]);
    assert_eq!(leave().await.expect(409).code(), "last_manager");
    assert_eq!(ana.put(&own, 1, json!({ "role": "editor" })).await.expect(409).code(), "last_manager");
    let ben = format!("/projects/shop/members/{}", app.id_of("Ben").await);
    ana.put(&ben, 0, json!({ "role": "viewer", "environments": { "staging": "admin" } })).await.expect(200);
    assert_eq!(leave().await.expect(409).code(), "last_manager", "in one environment is not in the project");
    ana.put(&ben, 1, json!({ "role": "admin" })).await.expect(200);
    leave().await.expect(200);
}

#[tokio::test]
async fn who_manages_members_in_one_environment_alone_gives_nobody_a_role() {
    let app = App::start().await;
    let ana = app.ana().await;
    let ben = app.member("Ben", Some("viewer")).await;
    let path = format!("/projects/shop/members/{}", app.id_of("Ben").await);
    ana.put(&path, 0, json!({ "role": "viewer", "environments": { "staging": "admin" } })).await.expect(200);
    assert_eq!(ben.put(&path, 1, json!({ "role": "admin" })).await.expect(403).code(), "forbidden");
}

#[tokio::test]
async fn people_who_could_be_added_are_found_by_name_or_address() {
    let app = App::start().await;
    let ana = app.ana().await;
    app.member("Ben", None).await;
    app.member("Benita", Some("viewer")).await;
    for at in 0..25 {
        app.member(&format!("Zoe{at}"), None).await;
    }
    let found = ana.get("/projects/shop/candidates?search=BEN").await.expect(200).body;
    assert_eq!(found["items"].as_array().map(Vec::len), Some(1), "members are left out: {found}");
    assert_eq!((&found["items"][0]["email"], &found["has_more"]), (&json!("ben@example.com"), &json!(false)));
    let many = ana.get("/projects/shop/candidates?search=zoe").await.expect(200).body;
    assert_eq!((many["items"].as_array().map(Vec::len), &many["has_more"]), (Some(20), &json!(true)));
    let wild = ana.get("/projects/shop/candidates?search=%25").await.expect(200).body;
    assert_eq!(wild["items"], json!([]), "% is no wildcard");
}

#[tokio::test]
async fn a_role_that_the_policy_names_waits_also_for_somebody_who_may_approve_already() {
    let app = App::start().await;
    let ana = app.ana().await;
    ana.post("/roles", json!({ "key": "lead", "name": "Lead", "permissions": ["edit", "approve"] })).await.expect(201);
    app.member("Ben", Some("lead")).await;
    app.member("Eve", Some("approver")).await;
    app.protect("production", &["lead"]).await;
    let path = format!("/projects/shop/members/{}", app.id_of("Eve").await);
    let body = json!({ "role": "lead", "note": "she leads now" });
    let asked = ana.put(&path, 0, body).await.expect(200).body;
    assert_eq!((&asked["state"], &asked["environments"]), (&json!("in_review"), &json!(["production"])));
}
