//! SDK keys: shown once, stored hashed.

use serde_json::{Value, json};
use shared::model::timestamp::Timestamp;
use time::Duration;

use crate::support::{App, Person};

#[tokio::test]
async fn a_secret_is_in_one_answer_and_nowhere_else() {
    let app = App::start().await;
    let ana = app.ana().await;
    let new = json!({ "environment": "production", "name": "web", "kind": "server" });
    let created = ana.post("/projects/shop/keys", new).await.expect(201).body;
    let secret = created["secret"].as_str().expect("a secret");
    assert!(secret.starts_with("fg_srv_"), "{secret}");

    let list = ana.get("/projects/shop/keys").await.expect(200).body;
    assert_eq!(list["items"][0]["hint"], format!("fg_srv_…{}", &secret[secret.len() - 4..]));
    assert!(!list.to_string().contains(secret));
    let stored: Vec<String> = sqlx::query_scalar(
        "select value from state union all select after::text from revision_entries where after is not null
         union all select name || hint || encode(hash, 'hex') from sdk_keys",
    )
    .fetch_all(&app.state.pool)
    .await
    .expect("everything stored");
    assert!(stored.iter().all(|text| !text.contains(secret)));
}

#[tokio::test]
async fn a_revoked_key_stays_revoked_and_only_its_environment_hears_of_it() {
    let app = App::start().await;
    let ana = app.ana().await;
    let new = json!({ "environment": "staging", "name": "web", "kind": "client" });
    let id =
        ana.post("/projects/shop/keys", new).await.expect(201).body["key"]["id"].as_str().expect("an id").to_owned();
    let revoked = ana.post(&format!("/projects/shop/keys/{id}/revoke"), json!({})).await.expect(200).body;
    let again = ana.post(&format!("/projects/shop/keys/{id}/revoke"), json!({})).await.expect(200).body;
    assert_eq!(revoked["revoked_at"], again["revoked_at"]);
    let values: Vec<String> = sqlx::query_scalar("select value from state where key like '%.key.%'")
        .fetch_all(&app.state.pool)
        .await
        .expect("state");
    assert_eq!(values.len(), 1);
    assert!(values[0].contains(r#""revoked":true"#), "{}", values[0]);
    ana.post("/projects/shop/keys/00000000-0000-0000-0000-000000000000/revoke", json!({})).await.expect(404);
}

#[tokio::test]
async fn a_client_key_names_the_web_origins_that_edges_let_in() {
    let app = App::start().await;
    let ana = app.ana().await;
    let new = |kind: &str, origins: serde_json::Value| json!({ "environment": "staging", "name": "web", "kind": kind, "origins": origins });
    let typed = json!(["HTTPS://Shop.example/", "http://localhost:5173"]);
    let created = ana.post("/projects/shop/keys", new("client", typed)).await.expect(201).body;
    let origins = json!(["https://shop.example", "http://localhost:5173"]);
    assert_eq!(created["key"]["origins"], origins);
    assert_eq!(ana.get("/projects/shop/keys").await.expect(200).body["items"][0]["origins"], origins);
    let values: Vec<String> = sqlx::query_scalar("select value from state where key like '%.key.%'")
        .fetch_all(&app.state.pool)
        .await
        .expect("everything edges hold");
    assert!(values.iter().any(|value| value.contains(r#""origins":["https://shop.example","http://localhost:5173"]"#)));
    let many: Vec<String> = (0..21).map(|at| format!("https://{at}.example")).collect();
    for (kind, origins, word) in [
        ("client", json!(["*"]), "'*'"),
        ("client", json!(["https://shop.example/cart"]), "'https://shop.example/cart'"),
        ("client", json!(many), "at most 20"),
        ("server", json!(["https://shop.example"]), "server key"),
    ] {
        let problem = ana.post("/projects/shop/keys", new(kind, origins)).await.expect(422).body;
        assert!(problem.to_string().contains(word) && problem.to_string().contains("origins"), "{problem}");
    }
}

/// Makes a client key for staging; its id.
async fn client_key(ana: &Person) -> String {
    let new = json!({ "environment": "staging", "name": "web", "kind": "client", "origins": ["https://shop.example"] });
    ana.post("/projects/shop/keys", new).await.expect(201).body["key"]["id"].as_str().expect("an id").to_owned()
}

/// What edges are told of a key.
async fn published(app: &App, id: &str) -> Value {
    let value: String = sqlx::query_scalar("select value from state where key like '%.key.' || $1")
        .bind(id)
        .fetch_one(&app.state.pool)
        .await
        .expect("a row of state");
    let value: Value = serde_json::from_str(&value).expect("JSON");
    value["body"].clone()
}

#[tokio::test]
async fn a_key_is_renamed_moved_and_given_an_end_and_edges_hear_of_it() {
    let app = App::start().await;
    let ana = app.ana().await;
    let id = client_key(&ana).await;
    let path = format!("/projects/shop/keys/{id}");
    let end = Timestamp::from(app.state.clock.now() + Duration::days(1));
    let change = json!({ "name": "shop front", "origins": ["https://www.shop.example"], "expires_at": end });
    let changed = ana.patch(&path, 0, change).await.expect(200).body;
    assert_eq!((&changed["name"], &changed["expires_at"]), (&json!("shop front"), &json!(end)));
    let told = published(&app, &id).await;
    assert_eq!(told["origins"], json!(["https://www.shop.example"]));
    assert_eq!(told["expires_at"], json!(end));
    ana.patch(&path, 0, json!({ "name": "front" })).await.expect(200);
    assert_eq!(published(&app, &id).await["expires_at"], json!(end), "what is absent stays");
    ana.patch(&path, 0, json!({ "expires_at": null })).await.expect(200);
    assert_eq!(published(&app, &id).await["expires_at"], Value::Null);
    let past = json!({ "expires_at": "2020-01-01T00:00:00Z" });
    assert_eq!(ana.patch(&path, 0, past).await.expect(422).fields(), ["expires_at"]);
    ana.post(&format!("{path}/revoke"), json!({})).await.expect(200);
    assert_eq!(ana.patch(&path, 0, json!({ "name": "x" })).await.expect(409).code(), "key_revoked");
}

#[tokio::test]
async fn a_rotated_key_takes_over_and_the_old_one_ends_after_the_overlap() {
    let app = App::start().await;
    let ana = app.ana().await;
    let old = client_key(&ana).await;
    let rotate = format!("/projects/shop/keys/{old}/rotate");
    let long = json!({ "overlap_seconds": 2_592_001 });
    assert_eq!(ana.post(&rotate, long).await.expect(422).fields(), ["overlap_seconds"]);
    let before = app.state.clock.now();
    let made = ana.post(&rotate, json!({ "overlap_seconds": 3600 })).await.expect(201).body;
    let secret = made["secret"].as_str().expect("a secret");
    assert!(secret.starts_with("fg_cli_"), "{secret}");
    assert_eq!(made["key"]["origins"], json!(["https://shop.example"]));
    let list = ana.get("/projects/shop/keys?environment=staging").await.expect(200).body;
    let (new, old_now) = (&list["items"][0], &list["items"][1]);
    assert_eq!((&new["replaces"], &old_now["replaced_by"]), (&json!(old), &new["id"]));
    assert_eq!((&new["expires_at"], &old_now["revoked_at"]), (&Value::Null, &Value::Null));
    let ends: Timestamp = serde_json::from_value(old_now["expires_at"].clone()).expect("a time");
    let after = time::OffsetDateTime::from(ends) - before;
    assert!(after >= Duration::hours(1) && after < Duration::hours(1) + Duration::MINUTE, "{after}");
    assert_eq!(published(&app, &old).await["expires_at"], json!(ends));
    let revisions: i64 = sqlx::query_scalar("select count(distinct revision) from state where key like '%.key.%'")
        .fetch_one(&app.state.pool)
        .await
        .expect("a count");
    assert_eq!(revisions, 1, "both are written at once");

    assert_eq!(ana.post(&rotate, json!({ "overlap_seconds": 0 })).await.expect(409).code(), "key_replaced");
    app.state.clock.advance(Duration::hours(1));
    let new = format!("/projects/shop/keys/{}", new["id"].as_str().expect("an id"));
    ana.post(&format!("{new}/revoke"), json!({})).await.expect(200);
    assert_eq!(ana.post(&rotate, json!({ "overlap_seconds": 0 })).await.expect(409).code(), "key_expired");
    assert_eq!(
        ana.post(&format!("{new}/rotate"), json!({ "overlap_seconds": 0 })).await.expect(409).code(),
        "key_revoked"
    );
}

#[tokio::test]
async fn an_overlap_never_makes_an_old_key_live_longer() {
    let app = App::start().await;
    let ana = app.ana().await;
    let old = client_key(&ana).await;
    let end = Timestamp::from(app.state.clock.now() + Duration::minutes(10));
    ana.patch(&format!("/projects/shop/keys/{old}"), 0, json!({ "expires_at": end })).await.expect(200);
    ana.post(&format!("/projects/shop/keys/{old}/rotate"), json!({ "overlap_seconds": 3600 })).await.expect(201);
    assert_eq!(published(&app, &old).await["expires_at"], json!(end));
}

#[tokio::test]
async fn a_key_says_how_often_it_was_used_of_late() {
    let app = App::start().await;
    let ana = app.ana().await;
    let id = client_key(&ana).await;
    let now = app.state.clock.now();
    let minute = now.replace_second(0).and_then(|at| at.replace_nanosecond(0)).expect("a minute");
    for (back, count) in [(1, 40_i64), (4, 2), (9, 1_000)] {
        sqlx::query("insert into sdk_key_counts (environment_id, key_id, minute, count) values ($1, $2::uuid, $3, $4)")
            .bind(app.environment("staging").await.uuid())
            .bind(&id)
            .bind(minute - Duration::minutes(back))
            .bind(count)
            .execute(&app.state.pool)
            .await
            .expect("counts");
    }
    let key = ana.get("/projects/shop/keys").await.expect(200).body["items"][0].clone();
    assert_eq!((&key["recent_requests"], key["last_used_at"].is_string()), (&json!(42), true));
    let revoked = ana.post(&format!("/projects/shop/keys/{id}/revoke"), json!({})).await.expect(200).body;
    assert_eq!((&revoked["recent_requests"], &revoked["last_used_at"]), (&json!(42), &key["last_used_at"]));
    assert_eq!(ana.get("/projects/shop/keys?environment=production").await.expect(200).body["items"], json!([]));
    ana.get("/projects/shop/keys?environment=moon").await.expect(404);
}
