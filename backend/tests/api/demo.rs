//! The demo project, through the same checks as everything that people save.

use backend::app::demo;

use crate::support::{App, PASSWORD};

#[tokio::test]
async fn an_empty_database_gets_the_demo_and_one_with_people_does_not() {
    let app = App::start().await;
    let keys = demo::create(&app.state, "ana@example.com", PASSWORD.into()).await.expect("the demo");
    assert_eq!(keys.expect("an empty database").len(), 3);
    let rows: Vec<(String, i64)> =
        sqlx::query_as("select split_part(key, '.', 2), count(*) from state where not deleted group by 1 order by 1")
            .fetch_all(&app.state.pool)
            .await
            .expect("state");
    let rows: Vec<(&str, i64)> = rows.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    assert_eq!(rows, [("environment", 3), ("flag", 36), ("key", 3), ("segment", 1)]);
    assert!(demo::create(&app.state, "ben@example.com", PASSWORD.into()).await.expect("no error").is_none());
}
