//! Invites: links by which people come in.

use serde_json::{Value, json};
use time::Duration;

use crate::support::{App, PASSWORD, Person};

/// Invites Cy to `shop` with a role; the token of the link.
async fn invite(ana: &Person, role: &str) -> String {
    let new = json!({ "email": "Cy@Example.com", "name": "Cy", "projects": [{ "project": "shop", "role": role }] });
    let made = ana.post("/invites", new).await.expect(201).body;
    let token = made["link"]["token"].as_str().expect("a token").to_owned();
    assert_eq!(made["link"]["link"], format!("http://127.0.0.1:8080/invite#{token}"));
    token
}

fn accept(token: &str) -> Value {
    json!({ "token": token, "name": "Cyril", "password": PASSWORD })
}

#[tokio::test]
async fn somebody_comes_in_by_a_link_once_and_is_a_member() {
    let app = App::start().await;
    let ana = app.ana().await;
    let nobody = app.nobody();
    let token = invite(&ana, "editor").await;
    let shown = nobody.post("/invitation/check", json!({ "token": token })).await.expect(200).body;
    assert_eq!((&shown["email"], &shown["invited_by"]), (&json!("cy@example.com"), &json!("Ana")));
    assert_eq!(shown["projects"], json!(["Acme shop"]));
    let mut weak = accept(&token);
    weak["password"] = json!("short");
    assert_eq!(nobody.post("/invitation", weak).await.expect(422).fields(), ["password"]);

    let accepted = nobody.post("/invitation", accept(&token)).await.expect(201);
    assert_eq!(accepted.body["user"]["name"], "Cyril");
    assert_eq!(accepted.body["projects"][0]["outcome"], "applied");
    let cy = nobody.with_cookie_of(&accepted);
    assert_eq!(cy.get("/projects/shop").await.expect(200).body["can_edit"], true);
    assert_eq!(nobody.post("/invitation", accept(&token)).await.expect(409).code(), "link_unusable");
    let listed = ana.get("/invites").await.expect(200).body;
    assert_eq!((&listed["items"][0]["state"], listed.to_string().contains(&token)), (&json!("accepted"), false));
    let author: String = sqlx::query_scalar(
        "select users.name from changesets join users on users.id = author_id order by revision desc limit 1",
    )
    .fetch_one(&app.state.pool)
    .await
    .expect("who made them a member");
    assert_eq!(author, "Ana");
    let kinds: Vec<String> = app.audited("invite.").await.into_iter().map(|(kind, ..)| kind).collect();
    assert_eq!(kinds, ["invite.created", "invite.accepted"]);
}

#[tokio::test]
async fn a_membership_that_others_have_to_agree_to_waits_and_says_so() {
    let app = App::start().await;
    let ana = app.ana().await;
    app.member("Ben", Some("approver")).await;
    app.protect("production", &[]).await;
    let accepted = app.nobody().post("/invitation", accept(&invite(&ana, "approver").await)).await.expect(201);
    let project = &accepted.body["projects"][0];
    assert_eq!((&project["outcome"], project["changeset"].is_string()), (&json!("waiting"), true));
    app.nobody().with_cookie_of(&accepted).get("/projects/shop").await.expect(404);
}

#[tokio::test]
async fn an_invite_that_is_old_taken_back_or_of_somebody_who_is_no_admin_lets_nobody_in() {
    let app = App::start().await;
    let ana = app.ana().await;
    let nobody = app.nobody();
    let first = invite(&ana, "viewer").await;
    let second = invite(&ana, "viewer").await;
    nobody.post("/invitation", accept(&first)).await.expect(409);
    let id = ana.get("/invites").await.body["items"][0]["id"].as_str().expect("an id").to_owned();
    ana.delete(&format!("/invites/{id}")).await.expect(204);
    ana.delete(&format!("/invites/{id}")).await.expect(204);
    nobody.post("/invitation", accept(&second)).await.expect(409);

    let ben = app.member("Ben", None).await;
    let path = format!("/users/{}", app.id_of("Ben").await);
    ana.patch(&path, 0, json!({ "is_admin": true })).await.expect(200);
    let third = invite(&ben, "viewer").await;
    ana.patch(&path, 0, json!({ "is_admin": false })).await.expect(200);
    nobody.post("/invitation", accept(&third)).await.expect(409);
    assert_eq!(ana.get("/invites").await.body["items"][0]["state"], "revoked");

    let fourth = invite(&ana, "viewer").await;
    app.state.clock.advance(Duration::days(7));
    nobody.post("/invitation/check", json!({ "token": fourth })).await.expect(409);
    nobody.post("/invitation", accept("fg_inv_guess")).await.expect(409);
}

#[tokio::test]
async fn what_an_invite_is_for_is_checked_when_it_is_made_and_when_it_is_accepted() {
    let app = App::start().await;
    let ana = app.ana().await;
    let with = |project: &str, role: &str| json!({ "email": "cy@example.com", "projects": [{ "project": project, "role": role }] });
    assert_eq!(ana.post("/invites", with("shop", "chief")).await.expect(422).fields(), ["projects.0.role"]);
    assert_eq!(ana.post("/invites", with("shoq", "viewer")).await.expect(422).fields(), ["projects.0.project"]);
    assert_eq!(ana.post("/invites", json!({ "email": "ANA@example.com" })).await.expect(422).fields(), ["email"]);
    assert_eq!(ana.post("/invites", json!({ "email": "nobody" })).await.expect(422).fields(), ["email"]);
    ana.post("/roles", json!({ "key": "dev", "name": "Dev", "permissions": [] })).await.expect(201);
    let token = invite(&ana, "dev").await;
    sqlx::query("delete from roles").execute(&app.state.pool).await.expect("a role that is gone");
    let accepted = app.nobody().post("/invitation", accept(&token)).await.expect(201).body;
    let project = &accepted["projects"][0];
    assert_eq!(project["outcome"], "refused");
    assert!(project["problem"].as_str().is_some_and(|said| said.contains("'dev' is not a role")), "{project}");
}

#[tokio::test]
async fn a_membership_that_was_left_over_is_made_at_the_next_sign_in() {
    let app = App::start().await;
    let ana = app.ana().await;
    let accepted = app.nobody().post("/invitation", accept(&invite(&ana, "viewer").await)).await.expect(201);
    // As if the process had ended before it came to the memberships.
    for statement in [
        "delete from members where role = 'viewer'",
        "delete from member_versions where version = 1 and user_id in (select accepted_by from invites)",
        "update invite_projects set outcome = null, changeset_id = null",
    ] {
        sqlx::query(statement).execute(&app.state.pool).await.expect("a statement");
    }
    let cy = app.nobody().with_cookie_of(&accepted);
    cy.get("/projects/shop").await.expect(404);
    let again = json!({ "email": "cy@example.com", "password": PASSWORD });
    app.nobody().post("/session", again).await.expect(200);
    cy.get("/projects/shop").await.expect(200);
}
