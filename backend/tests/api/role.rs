//! Roles that people make.

use serde_json::json;

use crate::support::App;

#[tokio::test]
async fn a_role_is_made_listed_in_words_and_given_to_somebody() {
    let app = App::start().await;
    let ana = app.ana().await;
    let made = json!({ "key": "on-call", "name": "On call", "permissions": ["kill"] });
    let role = ana.post("/roles", made.clone()).await.expect(201).body;
    assert_eq!(
        role["meanings"],
        json!([{ "permission": "kill", "meaning": "turn a flag off at once, and lift that" }])
    );
    let ben = app.member("Ben", Some("on-call")).await;
    let list = ben.get("/roles").await.expect(200).body;
    let keys: Vec<&str> = list["items"].as_array().expect("roles").iter().filter_map(|r| r["key"].as_str()).collect();
    assert_eq!(keys, ["viewer", "editor", "approver", "admin", "on-call"]);
    assert_eq!((&list["items"][4]["people"], &list["items"][4]["built_in"]), (&json!(1), &json!(false)));
    assert_eq!(list["permissions"].as_array().map(Vec::len), Some(8));
    let detail = ana.get("/roles/on-call").await.expect(200).body;
    assert_eq!(detail["holders"][0]["person"]["name"], "Ben");
    assert_eq!(ben.get("/projects/shop").await.body["environments"][0]["permissions"], json!(["kill"]));
    assert_eq!(ana.post("/roles", made).await.expect(409).code(), "exists");
    let taken = json!({ "key": "admin", "name": "Admin", "permissions": [] });
    assert_eq!(ana.post("/roles", taken).await.expect(409).code(), "exists");
    let unknown = json!({ "key": "seer", "name": "Seer", "permissions": ["see"] });
    ana.post("/roles", unknown).await.expect(422);
    assert_eq!(app.audited("role.").await.len(), 1);
}

#[tokio::test]
async fn a_changed_role_changes_what_those_may_who_have_it() {
    let app = App::start().await;
    let ana = app.ana().await;
    ana.post("/roles", json!({ "key": "dev", "name": "Dev", "permissions": ["kill"] })).await.expect(201);
    let ben = app.member("Ben", Some("dev")).await;
    let changed = ana.patch("/roles/dev", 1, json!({ "permissions": ["edit", "kill"] })).await.expect(200).body;
    assert_eq!((&changed["role"]["version"], &changed["role"]["name"]), (&json!(2), &json!("Dev")));
    assert_eq!(ben.get("/projects/shop").await.body["environments"][0]["permissions"], json!(["edit", "kill"]));
    assert_eq!(ana.patch("/roles/dev", 1, json!({ "name": "D" })).await.expect(412).code(), "stale");
    ana.patch("/roles/dev", 2, json!({ "permissions": [] })).await.expect(200);
    assert_eq!(ben.get("/projects/shop").await.body["environments"][0]["permissions"], json!([]));
    assert_eq!(ana.patch("/roles/editor", 0, json!({ "name": "E" })).await.expect(409).code(), "role_built_in");
    let (_, subject, detail) = app.audited("role.changed").await.remove(0);
    assert_eq!((subject.as_str(), &detail["after"]["permissions"]), ("dev", &json!(["edit", "kill"])));
}

#[tokio::test]
async fn a_role_cannot_gain_approval_while_somebody_has_it_in_a_protected_environment() {
    let app = App::start().await;
    let ana = app.ana().await;
    ana.post("/roles", json!({ "key": "dev", "name": "Dev", "permissions": ["edit"] })).await.expect(201);
    app.member("Ben", Some("approver")).await;
    app.member("Eve", Some("dev")).await;
    let gain = json!({ "permissions": ["edit", "approve"] });
    let changed = ana.patch("/roles/dev", 1, gain.clone()).await.expect(200).body;
    assert_eq!(changed["role"]["version"], 2, "nothing is protected yet");
    ana.patch("/roles/dev", 2, json!({ "permissions": ["edit"] })).await.expect(200);
    app.protect("production", &[]).await;
    for permission in ["approve", "break_glass"] {
        let refused = ana.patch("/roles/dev", 3, json!({ "permissions": ["edit", permission] })).await.expect(409);
        assert_eq!(refused.code(), "role_governs");
        let said = refused.body["detail"].as_str().expect("a sentence");
        assert!(said.contains("Eve has it in shop/production"), "{said}");
    }
    ana.patch("/roles/dev", 3, json!({ "permissions": ["edit", "manage_keys"] })).await.expect(200);

    let path = format!("/projects/shop/members/{}", app.id_of("Eve").await);
    let elsewhere = json!({ "role": "dev", "environments": { "production": "viewer" } });
    ana.put(&path, 0, elsewhere).await.expect(200);
    ana.patch("/roles/dev", 4, gain).await.expect(200);
}

#[tokio::test]
async fn a_role_that_somebody_has_or_something_names_is_not_deleted() {
    let app = App::start().await;
    let ana = app.ana().await;
    ana.post("/roles", json!({ "key": "lead", "name": "Lead", "permissions": ["approve"] })).await.expect(201);
    ana.post("/roles", json!({ "key": "spare", "name": "Spare", "permissions": [] })).await.expect(201);
    app.member("Ben", Some("lead")).await;
    app.protect("production", &["lead"]).await;
    let invite = json!({ "email": "cy@example.com", "projects": [{ "project": "shop", "role": "spare" }] });
    ana.post("/invites", invite).await.expect(201);
    let used = ana.delete("/roles/lead").await.expect(409);
    let said = used.body["detail"].as_str().expect("a sentence");
    assert!(said.contains("Ben in shop") && said.contains("the policy of shop/production"), "{said}");
    let invited = ana.delete("/roles/spare").await.expect(409);
    assert!(invited.body.to_string().contains("the invite of cy@example.com"), "{}", invited.body);
    app.state.clock.advance(time::Duration::days(8));
    let ana = app.again("Ana").await;
    ana.delete("/roles/spare").await.expect(204);
    ana.get("/roles/spare").await.expect(404);
}
