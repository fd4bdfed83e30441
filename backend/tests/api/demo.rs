//! The demo project, through the same checks as everything that people save.

use backend::app::demo;
use serde_json::json;

use crate::support::{App, PASSWORD};

#[tokio::test]
async fn an_empty_database_gets_the_demo_and_one_with_people_does_not() {
    let app = App::start().await;
    let made = demo::create(&app.state, "ana@example.com", PASSWORD.into()).await.expect("the demo");
    let made = made.expect("an empty database");
    assert_eq!((made.sdk_keys.len(), made.approver.as_str()), (3, "ben@example.com"));
    let rows: Vec<(String, i64)> =
        sqlx::query_as("select split_part(key, '.', 2), count(*) from state where not deleted group by 1 order by 1")
            .fetch_all(&app.state.pool)
            .await
            .expect("state");
    let rows: Vec<(&str, i64)> = rows.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    assert_eq!(rows, [("environment", 3), ("flag", 36), ("key", 3), ("segment", 1)]);
    assert!(demo::create(&app.state, "ben@example.com", PASSWORD.into()).await.expect("no error").is_none());
}

#[tokio::test]
async fn in_the_demo_a_change_of_production_waits_for_ben_who_can_sign_in_and_approve_it() {
    let app = App::start().await;
    let made = demo::create(&app.state, "ana@example.com", PASSWORD.into()).await.expect("the demo").expect("the demo");
    let ben = app.sign_in_with(&made.approver, PASSWORD).await;
    let page = ben.get("/projects/shop/changesets?waiting=true").await.expect(200).body;
    assert_eq!(
        (&page["counts"]["waiting"], &page["items"][0]["subjects"]),
        (&json!(1), &json!(["checkout in production"]))
    );
    let path = format!("/projects/shop/changesets/{}", page["items"][0]["id"].as_str().expect("an id"));
    let seen = ben.get(&path).await.expect(200).body;
    let moved = json!([{ "from": "off", "to": "on", "buckets": 10_000 }]);
    assert_eq!(seen["effects"][0]["movement"][0]["moves"], moved, "{seen}");
    let done = ben.post(&format!("{path}/approve"), json!({ "digest": seen["digest"] })).await.expect(200).body;
    assert_eq!(done["state"], "applied");
}
