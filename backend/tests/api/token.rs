//! API tokens: programs act for people, as far as both may.

use serde_json::{Value, json};
use shared::model::timestamp::Timestamp;
use time::Duration;

use crate::flag::boolean;
use crate::support::App;

fn days(app: &App, days: i64) -> Value {
    json!(Timestamp::from(app.state.clock.now() + Duration::days(days)))
}

#[tokio::test]
async fn a_token_is_shown_once_and_stored_as_a_hash() {
    let app = App::start().await;
    let ana = app.ana().await;
    let new = json!({ "name": "ci", "permissions": ["edit"], "project": "shop", "environments": ["staging"],
                      "expires_at": days(&app, 30) });
    let made = ana.post("/account/tokens", new).await.expect(201).body;
    let secret = made["secret"].as_str().expect("a secret");
    assert!(secret.starts_with("fg_api_") && secret.len() == 50, "{secret}");
    let list = ana.get("/account/tokens").await.expect(200).body;
    let token = &list["items"][0];
    assert_eq!(token["hint"], format!("fg_api_…{}", &secret[secret.len() - 4..]));
    assert_eq!((&token["project"], &token["environments"]), (&json!("shop"), &json!(["staging"])));
    assert_eq!(token["sentences"][1], "May change flags and segments, or ask for it where others have to agree.");
    assert_eq!((&token["is_valid"], &token["last_used_at"]), (&json!(true), &Value::Null));
    let stored: Vec<String> = sqlx::query_scalar(
        "select name || hint || encode(hash, 'escape') from api_tokens union all select detail::text from audit_events",
    )
    .fetch_all(&app.state.pool)
    .await
    .expect("everything stored");
    assert!(stored.iter().all(|text| !text.contains(secret)));
}

#[tokio::test]
async fn what_a_token_cannot_be_is_named() {
    let app = App::start().await;
    let ana = app.ana().await;
    for (field, change) in [
        ("expires_at", json!({ "expires_at": days(&app, 367) })),
        ("expires_at", json!({ "expires_at": days(&app, -1) })),
        ("permissions", json!({ "permissions": ["edit", "approve"] })),
        ("permissions", json!({ "permissions": ["break_glass"] })),
        ("environments", json!({ "environments": ["staging"] })),
        ("environments", json!({ "project": "shop", "environments": [] })),
        ("name", json!({ "name": "" })),
    ] {
        let mut new = json!({ "name": "ci", "expires_at": days(&app, 30) });
        new.as_object_mut().expect("an object").extend(change.as_object().expect("an object").clone());
        assert_eq!(ana.post("/account/tokens", new.clone()).await.expect(422).fields(), [field], "{new}");
    }
    ana.post("/account/tokens", json!({ "name": "ci" })).await.expect(422);
    let foreign = json!({ "name": "ci", "project": "shoq", "expires_at": days(&app, 30) });
    ana.post("/account/tokens", foreign).await.expect(404);
}

#[tokio::test]
async fn a_program_does_what_both_its_token_and_its_owner_may_at_that_moment() {
    let app = App::start().await;
    let ana = app.ana().await;
    let ben = app.member("Ben", Some("editor")).await;
    let program = app.program(&ben, json!({ "permissions": ["edit", "manage_keys"] })).await;
    program.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    let key = json!({ "environment": "staging", "name": "web", "kind": "server" });
    assert_eq!(program.post("/projects/shop/keys", key.clone()).await.expect(403).code(), "forbidden");
    let path = format!("/projects/shop/members/{}", app.id_of("Ben").await);
    ana.put(&path, 0, json!({ "role": "admin" })).await.expect(200);
    program.post("/projects/shop/keys", key).await.expect(201);
    ana.put(&path, 1, json!({ "role": "viewer" })).await.expect(200);
    program.post("/projects/shop/flags", boolean("basket")).await.expect(403);
    let ways: Vec<String> = sqlx::query_scalar(
        "select via from changesets join users on users.id = author_id where users.name = 'Ben' order by revision",
    )
    .fetch_all(&app.state.pool)
    .await
    .expect("changesets");
    assert_eq!(ways, ["token", "token"]);
}

#[tokio::test]
async fn a_token_for_one_environment_changes_nothing_elsewhere() {
    let app = App::start().await;
    let ana = app.ana().await;
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    let program = app.program(&ana, json!({ "permissions": ["edit", "kill", "manage_members"], "project": "shop", "environments": ["staging"] })).await;
    let kill = |environment: &str| json!({ "environments": [environment], "reason": "it breaks" });
    program.post("/projects/shop/flags/checkout/kill", kill("staging")).await.expect(200);
    program.post("/projects/shop/flags/checkout/kill", kill("production")).await.expect(403);
    let member = format!("/projects/shop/members/{}", app.id_of("Ana").await);
    program.put(&member, 1, json!({ "role": "viewer" })).await.expect(403);
    program.get("/projects/shop/flags").await.expect(200);
}

#[tokio::test]
async fn a_token_for_one_project_sees_no_other_and_lists_it_alone() {
    let app = App::start().await;
    let ana = app.ana().await;
    let blog = json!({ "key": "blog", "name": "Blog", "environments": [{ "key": "live", "name": "Live" }] });
    ana.post("/projects", blog).await.expect(201);
    let program = app.program(&ana, json!({ "project": "blog" })).await;
    program.get("/projects/shop").await.expect(404);
    let list = program.get("/projects").await.expect(200).body;
    assert_eq!((list["items"].as_array().map(Vec::len), &list["items"][0]["key"]), (Some(1), &json!("blog")));
    let may = &list["items"][0];
    assert_eq!((&may["can_edit"], &may["environments"][0]["permissions"]), (&json!(false), &json!([])));
}

#[tokio::test]
async fn a_token_that_is_wrong_expired_or_revoked_says_which() {
    let app = App::start().await;
    let ana = app.ana().await;
    let short = json!({ "name": "short", "expires_at": days(&app, 1) });
    let made = ana.post("/account/tokens", short).await.expect(201).body;
    let program = app.bearer(made["secret"].as_str().expect("a secret"));
    program.get("/projects").await.expect(200);
    app.state.clock.advance(Duration::days(1));
    assert_eq!(program.get("/projects").await.expect(401).code(), "token_expired");
    let ana = app.again("Ana").await;
    let program = app.program(&ana, json!({})).await;
    let id = ana.get("/account/tokens").await.body["items"][0]["id"].as_str().expect("an id").to_owned();
    let revoked = ana.delete(&format!("/account/tokens/{id}")).await.expect(200).body;
    assert_eq!(revoked["is_valid"], false);
    assert_eq!(program.get("/projects").await.expect(401).code(), "token_revoked");
    for wrong in ["fg_api_", "fg_srv_abc", "nonsense", &format!("fg_api_{}", "A".repeat(43))] {
        assert_eq!(app.bearer(wrong).get("/projects").await.expect(401).code(), "token_unknown", "{wrong}");
    }
    let both = ana.send(reqwest::Method::GET, "/session", None, &[("authorization", "Bearer nonsense")]).await;
    assert_eq!(both.expect(401).code(), "token_unknown", "a wrong token is not made good by a cookie");
}

#[tokio::test]
async fn only_its_owner_and_admins_of_the_installation_see_and_revoke_a_token() {
    let app = App::start().await;
    let ana = app.ana().await;
    let ben = app.member("Ben", Some("viewer")).await;
    let eve = app.member("Eve", Some("admin")).await;
    let program = app.program(&ben, json!({})).await;
    let all = ana.get("/tokens").await.expect(200).body;
    assert_eq!(all["items"][0]["owner"]["name"], "Ben");
    let id = all["items"][0]["id"].as_str().expect("an id").to_owned();
    assert_eq!(eve.get("/account/tokens").await.expect(200).body["items"], json!([]));
    eve.delete(&format!("/account/tokens/{id}")).await.expect(404);
    program.get("/projects").await.expect(200);
    ana.delete(&format!("/tokens/{id}")).await.expect(200);
    ana.delete(&format!("/tokens/{id}")).await.expect(200);
    program.get("/projects").await.expect(401);
    let kinds: Vec<String> = app.audited("token.").await.into_iter().map(|(kind, ..)| kind).collect();
    assert_eq!(kinds, ["token.created", "token.revoked"]);
}

#[tokio::test]
async fn an_unknown_token_is_looked_for_once_and_seconds_later_again() {
    let app = App::start().await;
    let ana = app.ana().await;
    let program = app.program(&ana, json!({})).await;
    // Hides the token, so that it is looked for in vain.
    let hide = "update api_tokens set hash = hash || '\\x00'::bytea";
    let show = "update api_tokens set hash = substring(hash from 1 for 32)";
    sqlx::query(hide).execute(&app.state.pool).await.expect("hidden");
    program.get("/projects").await.expect(401);
    sqlx::query(show).execute(&app.state.pool).await.expect("shown");
    for _ in 0..3 {
        assert_eq!(program.get("/projects").await.expect(401).code(), "token_unknown");
    }
    app.state.clock.advance(Duration::seconds(5));
    program.get("/projects").await.expect(200);
}

#[tokio::test]
async fn when_a_token_was_used_is_written_once_a_minute_and_its_end_once() {
    let app = App::start().await;
    let ana = app.ana().await;
    let program = app.program(&ana, json!({ "expires_at": days(&app, 1) })).await;
    let used = || async {
        let list = ana.get("/account/tokens").await.expect(200).body;
        list["items"][0]["last_used_at"].as_str().map(str::to_owned)
    };
    assert_eq!(used().await, None);
    program.get("/projects").await.expect(200);
    let first = used().await;
    app.state.clock.advance(Duration::seconds(59));
    program.get("/projects").await.expect(200);
    assert_eq!(used().await, first);
    app.state.clock.advance(Duration::seconds(1));
    program.get("/projects").await.expect(200);
    assert!(used().await > first);

    backend::app::token::note_expired(&app.state).await.expect("nothing to note");
    app.state.clock.advance(Duration::days(1));
    for _ in 0..2 {
        backend::app::token::note_expired(&app.state).await.expect("noted");
    }
    assert_eq!(app.audited("token.expired").await.len(), 1);
}

#[tokio::test]
async fn a_browser_that_carries_a_token_needs_no_site_and_one_with_a_cookie_does() {
    let app = App::start().await;
    let ana = app.ana().await;
    let program = app.program(&ana, json!({ "permissions": ["manage_keys"] })).await;
    let new = json!({ "environment": "production", "name": "web", "kind": "server" });
    let other = [("origin", "https://tools.example")];
    program.send(reqwest::Method::POST, "/projects/shop/keys", Some(new.clone()), &other).await.expect(201);
    ana.send(reqwest::Method::POST, "/projects/shop/keys", Some(new), &other).await.expect(403);
}
