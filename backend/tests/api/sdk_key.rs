//! SDK keys: shown once, stored hashed.

use serde_json::json;

use crate::support::App;

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
