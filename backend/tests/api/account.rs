//! One's own account, and how people come in and go.

use serde_json::{Value, json};
use time::Duration;

use crate::support::{App, Nats, PASSWORD, Person};

async fn sign_in(app: &App, email: &str, password: &str) -> crate::support::Answer {
    app.nobody().post("/session", json!({ "email": email, "password": password })).await
}

fn items(list: &Value) -> &Vec<Value> {
    list["items"].as_array().expect("a list")
}

#[tokio::test]
async fn a_changed_password_ends_all_other_sessions() {
    let app = App::start().await;
    app.ana().await;
    let ben = app.member("Ben", Some("viewer")).await;
    let other = app.again("Ben").await;
    let change = |current: &str, new: &str| json!({ "current": current, "new": new });
    let wrong = ben.post("/account/password", change("not it at all", "battery horse correct")).await.expect(422);
    assert_eq!(wrong.fields(), ["current"]);
    let short = ben.post("/account/password", change(PASSWORD, "short")).await.expect(422);
    assert_eq!(short.fields(), ["new"]);
    ben.post("/account/password", change(PASSWORD, "battery horse correct")).await.expect(204);
    ben.get("/session").await.expect(200);
    assert_eq!(other.get("/session").await.expect(401).code(), "signed_out");
    sign_in(&app, "ben@example.com", PASSWORD).await.expect(401);
    sign_in(&app, "ben@example.com", "battery horse correct").await.expect(200);
    let (_, subject, detail) = app.audited("password.changed").await.remove(0);
    assert_eq!((subject.as_str(), &detail), ("ben@example.com", &json!({ "sessions_ended": 1 })));
}

#[tokio::test]
async fn the_current_password_cannot_be_found_by_trying() {
    let app = App::start().await;
    let ana = app.ana().await;
    for _ in 0..5 {
        let body = json!({ "current": "not it at all", "new": "battery horse correct" });
        ana.post("/account/password", body).await.expect(422);
    }
    let body = json!({ "current": PASSWORD, "new": "battery horse correct" });
    assert_eq!(ana.post("/account/password", body).await.expect(429).code(), "too_many_tries");
}

#[tokio::test]
async fn sessions_are_listed_and_ended_one_by_one_or_all_others() {
    let app = App::start().await;
    let ana = app.ana().await;
    let agent = "Mozilla/5.0 (X11; Linux x86_64; rv:141.0) Gecko/20100101 Firefox/141.0";
    let body = json!({ "email": "ana@example.com", "password": PASSWORD });
    let second = app.nobody().send(reqwest::Method::POST, "/session", Some(body), &[("user-agent", agent)]).await;
    let second = app.nobody().with_cookie_of(&second.expect(200));
    let third = app.again("Ana").await;
    let list = ana.get("/account/sessions").await.expect(200).body;
    assert_eq!(items(&list).len(), 3);
    assert_eq!(items(&list).iter().filter(|session| session["is_current"] == true).count(), 1);
    let firefox = items(&list).iter().find(|session| session["agent"] == "Firefox 141 on Linux").expect("the second");
    let id = firefox["id"].as_str().expect("an id");
    let eve = app.member("Eve", None).await;
    eve.delete(&format!("/account/sessions/{id}")).await.expect(404);
    second.get("/session").await.expect(200);
    ana.delete(&format!("/account/sessions/{id}")).await.expect(204);
    second.get("/session").await.expect(401);
    assert_eq!(ana.post("/account/sign-out-others", json!({})).await.expect(200).body, json!({ "ended": 1 }));
    third.get("/session").await.expect(401);
    ana.get("/session").await.expect(200);
}

#[tokio::test]
async fn a_session_says_when_it_was_last_used_to_the_minute() {
    let app = App::start().await;
    let ana = app.ana().await;
    let used = |list: Value| list["items"][0]["last_used_at"].as_str().expect("a time").to_owned();
    let first = used(ana.get("/account/sessions").await.body);
    app.state.clock.advance(Duration::seconds(30));
    assert_eq!(used(ana.get("/account/sessions").await.body), first, "not written each time");
    app.state.clock.advance(Duration::seconds(31));
    assert_ne!(used(ana.get("/account/sessions").await.body), first);
    let seen = ana.get("/users").await.body["items"][0]["last_seen_at"].clone();
    assert_eq!(seen, json!(used(ana.get("/account/sessions").await.body)));
}

#[tokio::test]
async fn a_person_renames_themselves() {
    let app = App::start().await;
    let ana = app.ana().await;
    assert_eq!(
        ana.patch("/account", 0, json!({ "name": " Ana Kovač " })).await.expect(200).body["user"]["name"],
        "Ana Kovač"
    );
    assert_eq!(ana.get("/session").await.body["user"]["name"], "Ana Kovač");
    assert_eq!(ana.patch("/account", 0, json!({ "name": " " })).await.expect(422).fields(), ["name"]);
}

#[tokio::test]
async fn who_signs_in_and_out_is_written_down_and_what_strangers_type_is_not() {
    let app = App::start().await;
    app.ana().await;
    sign_in(&app, "stranger@example.com", "secret typed wrong").await.expect(401);
    sign_in(&app, "ana@example.com", "secret typed wrong").await.expect(401);
    let signed_in = sign_in(&app, "ana@example.com", PASSWORD).await.expect(200);
    app.nobody().with_cookie_of(&signed_in).delete("/session").await.expect(204);
    let failed = app.audited("sign_in.").await;
    assert_eq!(failed.len(), 1);
    assert_eq!((failed[0].0.as_str(), failed[0].1.as_str()), ("sign_in.failed", "ana@example.com"));
    let kinds: Vec<String> = app.audited("session.").await.into_iter().map(|(kind, ..)| kind).collect();
    assert_eq!(kinds, ["session.started", "session.started", "session.ended"]);
    assert!(!format!("{:?}", app.audited("").await).contains("secret typed wrong"));
}

#[tokio::test]
async fn a_disabled_person_is_out_at_once_and_can_be_let_in_again() {
    let app = App::start().await;
    let ana = app.ana().await;
    let ben = app.member("Ben", Some("editor")).await;
    let program = app.program(&ben, json!({ "permissions": ["edit"] })).await;
    program.get("/projects/shop").await.expect(200);
    let path = format!("/users/{}", app.id_of("Ben").await);
    let out = ana.patch(&path, 0, json!({ "disabled": true })).await.expect(200).body;
    assert_eq!((&out["disabled"], &out["sessions"]), (&json!(true), &json!(0)));
    assert_eq!(ben.get("/session").await.expect(401).code(), "signed_out");
    assert_eq!(program.get("/projects/shop").await.expect(401).code(), "token_unknown");
    sign_in(&app, "ben@example.com", PASSWORD).await.expect(401);
    let members = ana.get("/projects/shop/members").await.expect(200).body;
    assert_eq!(items(&members).iter().find(|m| m["person"]["name"] == "Ben").expect("Ben")["disabled"], true);

    ana.patch(&path, 0, json!({ "disabled": false })).await.expect(200);
    sign_in(&app, "ben@example.com", PASSWORD).await.expect(200);
    app.state.clock.advance(Duration::seconds(6));
    program.get("/projects/shop").await.expect(200);
    let kinds: Vec<String> = app.audited("user.").await.into_iter().map(|(kind, ..)| kind).collect();
    assert_eq!(kinds, ["user.disabled", "user.enabled"]);
}

#[tokio::test]
async fn an_open_stream_ends_with_the_person_on_every_backend() {
    let nats = Nats::start_one();
    let app = App::start_leading(&nats.url()).await;
    let ana = app.ana().await;
    let ben = app.member("Ben", Some("viewer")).await;
    let program = app.program(&ben, json!({})).await;
    let mut streams = [ben.stream("/events").await, program.stream("/events").await];
    let path = format!("/users/{}", app.id_of("Ben").await);
    ana.patch(&path, 0, json!({ "disabled": true })).await.expect(200);
    for stream in &mut streams {
        let ended = async { while stream.chunk().await.expect("a chunk or the end").is_some() {} };
        // Far less than the 15 s after which every stream looks again.
        tokio::time::timeout(std::time::Duration::from_secs(10), ended).await.expect("the stream ends");
    }
}

#[tokio::test]
async fn there_is_always_an_admin_and_nobody_puts_themselves_out() {
    let app = App::start().await;
    let ana = app.ana().await;
    let ben = app.member("Ben", None).await;
    let (own, other) = (format!("/users/{}", app.id_of("Ana").await), format!("/users/{}", app.id_of("Ben").await));
    assert_eq!(ana.patch(&own, 0, json!({ "is_admin": false })).await.expect(409).code(), "last_admin");
    assert_eq!(ana.patch(&own, 0, json!({ "disabled": true })).await.expect(409).code(), "own_account");
    ana.patch(&other, 0, json!({ "is_admin": true })).await.expect(200);
    ben.get("/users").await.expect(200);
    ben.patch(&own, 0, json!({ "disabled": true })).await.expect(200);
    assert_eq!(ben.patch(&other, 0, json!({ "is_admin": false })).await.expect(409).code(), "last_admin");
    ben.patch(&own, 0, json!({ "disabled": false, "is_admin": false })).await.expect(200);
    app.again("Ana").await.get("/users").await.expect(403);
    ben.patch("/users/00000000-0000-0000-0000-000000000000", 0, json!({})).await.expect(404);
}

#[tokio::test]
async fn people_are_listed_by_page_with_what_they_belong_to() {
    let app = App::start().await;
    let ana = app.ana().await;
    for at in 100..205 {
        app.member(&format!("Z{at}"), Some("viewer")).await;
    }
    let first = ana.get("/users").await.expect(200).body;
    assert_eq!((items(&first).len(), &items(&first)[0]["name"]), (100, &json!("Ana")));
    assert_eq!(items(&first)[1]["projects"], json!([{ "project": "shop", "role": "viewer" }]));
    let next = first["next"].as_str().expect("another page");
    let second = ana.get(&format!("/users?after={next}")).await.expect(200).body;
    assert_eq!((items(&second).len(), &second["next"]), (6, &Value::Null));
    let found = ana.get("/users?search=z10").await.expect(200).body;
    assert_eq!(items(&found).len(), 10);
}

/// Makes a link by which Ben sets a new password; its token.
async fn reset_link(app: &App, ana: &Person) -> String {
    let path = format!("/users/{}/reset-link", app.id_of("Ben").await);
    let link = ana.post(&path, json!({})).await.expect(201).body;
    let token = link["token"].as_str().expect("a token").to_owned();
    assert_eq!(link["link"], format!("http://127.0.0.1:8080/password-reset#{token}"));
    token
}

#[tokio::test]
async fn a_link_sets_a_new_password_once_within_a_day() {
    let app = App::start().await;
    let ana = app.ana().await;
    let ben = app.member("Ben", Some("viewer")).await;
    let nobody = app.nobody();
    let use_it = |token: &str, password: &str| json!({ "token": token, "password": password });
    let first = reset_link(&app, &ana).await;
    let token = reset_link(&app, &ana).await;
    let unusable = nobody.post("/password-reset/check", json!({ "token": first })).await.expect(409);
    assert_eq!(unusable.code(), "link_unusable", "a newer link takes its place");
    let shown = nobody.post("/password-reset/check", json!({ "token": token })).await.expect(200).body;
    assert_eq!(shown["email"], "ben@example.com");
    assert_eq!(nobody.post("/password-reset", use_it(&token, "short")).await.expect(422).fields(), ["password"]);
    nobody.post("/password-reset", use_it(&token, "battery horse correct")).await.expect(204);
    ben.get("/session").await.expect(401);
    sign_in(&app, "ben@example.com", "battery horse correct").await.expect(200);
    nobody.post("/password-reset", use_it(&token, "horse battery correct")).await.expect(409);

    let late = reset_link(&app, &ana).await;
    app.state.clock.advance(Duration::hours(25));
    nobody.post("/password-reset", use_it(&late, "horse battery correct")).await.expect(409);
    let stored: Vec<String> = sqlx::query_scalar(
        "select detail::text from audit_events union all select encode(hash, 'escape') from password_resets",
    )
    .fetch_all(&app.state.pool)
    .await
    .expect("everything stored");
    assert!(stored.iter().all(|text| !text.contains(&token) && !text.contains(&late)));
}
