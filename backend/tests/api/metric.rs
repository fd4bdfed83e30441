//! Metrics of experiments.

use serde_json::{Value, json};

use crate::support::App;

const METRICS: &str = "/projects/shop/metrics";

pub(crate) fn metric(name: &str, event: &str, kind: &str) -> Value {
    json!({ "name": name, "event": event, "kind": kind })
}

#[tokio::test]
async fn a_metric_is_made_changed_and_deleted() {
    let app = App::start().await;
    let ana = app.ana().await;
    let made = ana.post(METRICS, metric(" Purchases ", "purchase", "conversion")).await.expect(201).body;
    assert_eq!((&made["name"], &made["created_by"]), (&json!("Purchases"), &json!("Ana")));
    ana.post(METRICS, metric("Basket", "purchase", "numeric")).await.expect(201);
    let names = |list: Value| -> Vec<String> {
        let items = list["items"].as_array().expect("items").clone();
        items.iter().map(|item| format!("{} {}", item["name"].as_str().expect("a name"), item["kind"])).collect()
    };
    let list = ana.get(METRICS).await.expect(200).body;
    assert_eq!(names(list), ["Basket \"numeric\"", "Purchases \"conversion\""]);

    let one = format!("{METRICS}/{}", made["id"].as_str().expect("an id"));
    let changed = ana.patch(&one, 1, json!({ "event": "order/paid" })).await.expect(200).body;
    assert_eq!((&changed["name"], &changed["event"]), (&json!("Purchases"), &json!("order/paid")));
    ana.delete(&one).await.expect(204);
    assert_eq!(ana.delete(&one).await.expect(404).code(), "not_found");
    assert_eq!(ana.patch(&one, 1, json!({})).await.expect(404).code(), "not_found");
}

#[tokio::test]
async fn a_wrong_metric_is_refused_with_the_field() {
    let app = App::start().await;
    let ana = app.ana().await;
    ana.post(METRICS, metric("Purchases", "purchase", "conversion")).await.expect(201);
    for (body, field) in [
        (metric("", "purchase", "conversion"), "name"),
        (metric(&"n".repeat(101), "purchase", "conversion"), "name"),
        (metric("Purchases", "other", "numeric"), "name"),
        (metric("Other", "is it bought?", "conversion"), "event"),
        (metric("Other", "purchase", "median"), "kind"),
    ] {
        assert_eq!(ana.post(METRICS, body.clone()).await.expect(422).fields(), [field], "{body}");
    }
    let other = ana.post(METRICS, metric("Other", "other", "numeric")).await.expect(201).body;
    let path = format!("{METRICS}/{}", other["id"].as_str().expect("an id"));
    let answer = ana.patch(&path, 1, json!({ "name": "Purchases" })).await.expect(422);
    assert_eq!(answer.fields(), ["name"]);
}

#[tokio::test]
async fn a_project_has_at_most_a_hundred_metrics() {
    let app = App::start().await;
    let ana = app.ana().await;
    sqlx::query(
        "insert into metrics (id, project_id, name, event, kind, created_at, created_by)
         select gen_random_uuid(), projects.id, 'metric ' || number, 'event', 'numeric', now(), users.id
         from projects, users, generate_series(1, 99) number",
    )
    .execute(&app.state.pool)
    .await
    .expect("99 metrics");
    let (last, beyond) = tokio::join!(
        ana.post(METRICS, metric("a", "purchase", "conversion")),
        ana.post(METRICS, metric("b", "purchase", "conversion")),
    );
    let mut statuses = [last.status, beyond.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 422], "of two at once the second is told so");
}
