//! First run, signing in and out.

use std::sync::Arc;

use reqwest::Method;
use serde_json::json;
use time::Duration;

use crate::support::App;

const PASSWORD: &str = "correct horse battery";

#[tokio::test]
async fn first_run_needs_the_code_and_happens_once() {
    let app = App::start_with("nats://127.0.0.1:1", |state| state.setup_code = Some(Arc::from("c0de"))).await;
    let nobody = app.nobody();
    let body = |code: &str, password: &str| {
        json!({ "code": code, "name": "Ana", "email": "Ana@Example.com", "password": password, "project_name": "Shop",
                "project_key": "shop", "environments": [{ "key": "production", "name": "Production" }] })
    };
    assert_eq!(nobody.get("/setup").await.body, json!({ "open": true }));
    assert_eq!(nobody.post("/setup", body("guess", PASSWORD)).await.expect(403).code(), "setup_closed");
    let weak = nobody.post("/setup", body("c0de", "short")).await.expect(422);
    assert_eq!(weak.fields(), ["password"]);

    let mut twice = body("c0de", PASSWORD);
    twice["environments"] = json!([{ "key": "production", "name": "A" }, { "key": "production", "name": "B" }]);
    assert_eq!(nobody.post("/setup", twice).await.expect(409).code(), "exists");
    assert_eq!(nobody.get("/setup").await.body, json!({ "open": true }), "nothing is half made");

    let done = nobody.post("/setup", body("c0de", PASSWORD)).await.expect(201);
    assert_eq!(done.body["user"]["email"], "ana@example.com");
    let cookie = done.headers["set-cookie"].to_str().expect("text");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert_eq!(nobody.get("/setup").await.body, json!({ "open": false }));
    nobody.post("/setup", body("c0de", PASSWORD)).await.expect(403);
}

#[tokio::test]
async fn a_wrong_password_is_told_like_an_unknown_person_and_the_sixth_try_waits() {
    let app = App::start().await;
    app.ana().await;
    let nobody = app.nobody();
    let unknown = nobody.post("/session", json!({ "email": "x@example.com", "password": PASSWORD })).await.expect(401);
    for _ in 0..5 {
        let wrong = nobody.post("/session", json!({ "email": "ana@example.com", "password": "x" })).await.expect(401);
        assert_eq!((wrong.code(), &wrong.body["detail"]), (unknown.code(), &unknown.body["detail"]));
    }
    let limited =
        nobody.post("/session", json!({ "email": "ANA@example.com", "password": PASSWORD })).await.expect(429);
    assert_eq!(limited.code(), "too_many_tries");
    assert!(limited.headers["retry-after"].to_str().is_ok_and(|s| s.parse::<u64>().is_ok()));
}

#[tokio::test]
async fn a_session_ends_by_sign_out_and_by_idleness() {
    let app = App::start().await;
    let ana = app.ana().await;
    assert_eq!(ana.get("/session").await.expect(200).body["user"]["name"], "Ana");
    ana.delete("/session").await.expect(204);
    assert_eq!(ana.get("/session").await.expect(401).code(), "signed_out");

    let ben = app.member("Ben", Some("viewer")).await;
    app.state.clock.advance(Duration::minutes(10));
    let renewed = ben.get("/session").await.expect(200);
    assert!(renewed.headers.contains_key("set-cookie"), "a cookie that gets old is renewed");
    app.state.clock.advance(Duration::hours(13));
    ben.get("/session").await.expect(401);
}

#[tokio::test]
async fn a_write_that_a_browser_sends_for_another_site_is_refused() {
    let app = App::start().await;
    let ana = app.ana().await;
    let new = json!({ "environment": "production", "name": "web", "kind": "server" });
    for headers in [[("sec-fetch-site", "cross-site")], [("origin", "https://evil.example")]] {
        let refused = ana.send(Method::POST, "/projects/shop/keys", Some(new.clone()), &headers).await.expect(403);
        assert_eq!(refused.code(), "cross_site");
    }
    ana.send(Method::POST, "/projects/shop/keys", Some(new), &[("sec-fetch-site", "same-origin")]).await.expect(201);
}

#[tokio::test]
async fn a_body_that_is_not_understood_is_named() {
    let app = App::start().await;
    let nobody = app.nobody();
    let unknown =
        nobody.post("/session", json!({ "email": "a@b", "password": "x", "remember": true })).await.expect(422);
    assert!(unknown.body["detail"].as_str().is_some_and(|text| text.contains("remember")), "{}", unknown.body);
    nobody.send(Method::POST, "/session", None, &[("content-type", "application/json")]).await.expect(400);
    let absurd = json!({ "email": "a".repeat(300), "password": "x" });
    assert_eq!(nobody.post("/session", absurd).await.expect(401).code(), "wrong_credentials");
    assert_eq!(
        nobody.post("/session", json!({ "email": "a\u{0}@b", "password": "x" })).await.expect(401).code(),
        "wrong_credentials"
    );
    let large = json!({ "email": "a".repeat(3 * 1024 * 1024), "password": "x" });
    assert_eq!(nobody.post("/session", large).await.expect(413).code(), "too_large");
}
