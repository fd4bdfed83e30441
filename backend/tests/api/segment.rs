//! Segments reach an environment only through a flag that names them there.

use crate::support::new_id;
use serde_json::{Value, json};

use crate::flag::boolean;
use crate::support::App;

fn staff(keys: &[&str]) -> Value {
    json!({ "definition": { "key": "staff", "included": keys }, "name": "Staff" })
}

async fn segment_rows(app: &App) -> Vec<(String, bool)> {
    sqlx::query_as(
        "select environments.key, state.deleted from state
                    join environments on environments.id = environment_id
                    where state.key like '%.segment.%' order by environments.position",
    )
    .fetch_all(&app.state.pool)
    .await
    .expect("state")
}

#[tokio::test]
async fn a_segment_is_published_where_a_flag_names_it_and_nowhere_else() {
    let app = App::start().await;
    let ana = app.ana().await;
    let created = ana.post("/projects/shop/segments", staff(&["ana"])).await.expect(201);
    assert_eq!(created.body["environments"], json!([]));
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    assert_eq!(segment_rows(&app).await, []);

    let config = |names_it: bool| {
        let rule = json!({ "id": new_id(), "serve": { "variant": "on" },
                           "conditions": { "all": [{ "operator": "in_segment", "values": ["staff"] }] } });
        let rules = if names_it { json!([rule]) } else { json!([]) };
        json!({ "config": { "enabled": true, "off_variant": "off", "rules": rules, "default_serve": { "variant": "off" } } })
    };
    let path = "/projects/shop/flags/checkout/environments/staging";
    ana.put(path, 1, config(true)).await.expect(200);
    assert_eq!(segment_rows(&app).await, [("staging".into(), false)]);

    let update = json!({ "name": "Staff", "included": ["ana", "ben"] });
    let updated = ana.put("/projects/shop/segments/staff", 1, update.clone()).await.expect(200);
    assert_eq!(updated.body["environments"], json!(["staging"]));
    ana.put("/projects/shop/segments/staff", 1, update).await.expect(412);
    let refused = ana.delete("/projects/shop/segments/staff").await.expect(409);
    assert_eq!(refused.code(), "in_use");
    assert!(refused.body["detail"].as_str().is_some_and(|text| text.contains("checkout")));

    ana.put(path, 2, config(false)).await.expect(200);
    assert_eq!(segment_rows(&app).await, [("staging".into(), true)], "a tombstone");
    ana.delete("/projects/shop/segments/staff").await.expect(200);
    ana.get("/projects/shop/segments/staff").await.expect(404);
}

#[tokio::test]
async fn ten_thousand_keys_are_taken_and_one_more_is_refused() {
    let app = App::start().await;
    let ana = app.ana().await;
    let keys: Vec<String> = (0..10_001).map(|n| format!("u{n}")).collect();
    let names: Vec<&str> = keys.iter().map(String::as_str).collect();
    let refused = ana.post("/projects/shop/segments", staff(&names)).await.expect(422);
    assert_eq!(refused.fields(), ["definition.included"]);
    ana.post("/projects/shop/segments", staff(&names[..10_000])).await.expect(201);
}
