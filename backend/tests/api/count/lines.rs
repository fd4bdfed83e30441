//! Lines of series: what they are told apart by, which are shown, and their names.

use serde_json::{Value, json};
use time::Duration;
use time::macros::datetime;
use uuid::Uuid;

use crate::count::series::{read, shop, span};
use crate::support::{App, Counted, new_id};

fn keys(series: &Value) -> Vec<(Option<&str>, u64)> {
    let lines = series["series"].as_array().expect("lines").iter();
    lines.map(|line| (line["key"].as_str(), line["total"].as_u64().expect("a total"))).collect()
}

#[tokio::test]
async fn answers_without_a_variant_are_a_line_of_their_own_whoever_reports_them() {
    let app = App::start().await;
    let (ana, counted) = shop(&app).await;
    let (first, second) = (new_id(), new_id());
    let at = datetime!(2024-05-01 10:00 UTC);
    for (process, name) in [(first, "edge-1"), (second, "edge-2")] {
        sqlx::query("insert into edges (process, name, heartbeat, last_heard_at) values ($1, $2, '{}', now())")
            .bind(process)
            .bind(name)
            .execute(&app.state.pool)
            .await
            .expect("an edge");
    }
    let by = |process| Counted { process, ..counted.clone() };
    by(first).variant("").add(&app.state.pool, at, 5).await;
    by(second).variant("").add(&app.state.pool, at, 2).await;
    by(second).variant("on").add(&app.state.pool, at, 3).await;
    by(second).variant("default").add(&app.state.pool, at, 1).await;
    let hour = at + Duration::HOUR;
    let variants = read(&ana, at, hour, "flag=checkout&by=variant").await;
    assert_eq!(keys(&variants), [(None, 7), (Some("on"), 3), (Some("default"), 1)]);
    assert_eq!(keys(&read(&ana, at, hour, "by=edge").await), [(Some("edge-2"), 6), (Some("edge-1"), 5)]);
    assert_eq!(read(&ana, at, hour, "variant=").await["total"], 7);
    assert_eq!(keys(&read(&ana, at, hour, "by=reason").await), [(Some("STATIC"), 11)]);
    assert_eq!(keys(&read(&ana, at, hour, "by=mode&variant=on").await), [(Some("single"), 3)]);
    let environments =
        ana.get(&format!("/projects/shop/counts?by=environment&{}", span(at, hour))).await.expect(200).body;
    assert_eq!(keys(&environments), [(Some("production"), 11)]);
}

#[tokio::test]
async fn the_biggest_twenty_flags_are_lines_and_the_rest_is_added_up_removed_ones_included() {
    let app = App::start().await;
    let (ana, counted) = shop(&app).await;
    let at = datetime!(2024-05-01 10:00 UTC);
    for n in 1..=25 {
        let removed = Counted { flag: new_id(), ..counted.clone() };
        removed.add(&app.state.pool, at + Duration::minutes(n % 2 * 60), n).await;
    }
    counted.add(&app.state.pool, at, 1_000).await;
    for ask in ["by=flag&interval=hour", "by=flag&interval=hour&place=default"] {
        let series = read(&ana, at, at + Duration::hours(2), ask).await;
        let lines = series["series"].as_array().expect("lines");
        assert_eq!((lines.len(), &lines[0]["key"], &lines[0]["name"]), (20, &json!("checkout"), &json!("checkout")));
        assert_eq!((lines[1].get("key"), lines[1]["total"].as_u64()), (None, Some(25)));
        assert!(lines[1]["id"].is_string());
        assert_eq!(series["other"], json!({ "lines": 6, "counts": [2 + 4 + 6, 1 + 3 + 5], "total": 21 }), "{ask}");
        assert_eq!(series["total"], 1_000 + 25 * 26 / 2);
    }
}

#[tokio::test]
async fn requests_are_told_by_sdk_key() {
    let app = App::start().await;
    let (ana, counted) = shop(&app).await;
    let body = json!({ "environment": "production", "name": "web", "kind": "server" });
    let key = ana.post("/projects/shop/keys", body).await.expect(201).body["key"].clone();
    let at = datetime!(2024-05-01 10:00 UTC);
    let id: Uuid = key["id"].as_str().expect("an id").parse().expect("an id");
    sqlx::query(
        "with own as (insert into request_series (environment_id, key_id, first_at, last_at) values ($1, $2, $3, $3)
                      returning id)
         select add_count_by_minute(id, $3, 42) from own",
    )
    .bind(counted.environment)
    .bind(id)
    .bind(at)
    .execute(&app.state.pool)
    .await
    .expect("requests");
    let series = read(&ana, at, at + Duration::HOUR, "by=sdk_key").await;
    assert_eq!((&series["counted"], &series["total"]), (&json!("requests"), &json!(42)));
    let line = &series["series"][0];
    assert_eq!((&line["key"], &line["name"], &line["id"]), (&key["hint"], &json!("web"), &key["id"]));
    assert_eq!(read(&ana, at, at + Duration::HOUR, &format!("sdk_key={id}")).await["total"], 42);
    let listed = ana.get("/projects/shop/keys").await.expect(200).body;
    assert_eq!(listed["items"][0]["last_used_at"], "2024-05-01T10:00:00Z");
}

#[tokio::test]
async fn a_rule_has_its_name_and_gaps_their_bound() {
    let app = App::start().await;
    let (ana, counted) = shop(&app).await;
    let (rule, gone, process) = (new_id(), new_id(), new_id());
    let mut config = crate::flag::on();
    config["rules"] = json!([{ "id": rule, "name": "Beta", "serve": { "variant": "on" } }]);
    let path = "/projects/shop/flags/checkout/environments/production";
    ana.put(path, 1, json!({ "config": config })).await.expect(200);
    let at = datetime!(2024-05-01 10:00 UTC);
    counted.at(&format!("rule {rule}"), "TARGETING_MATCH").add(&app.state.pool, at, 3).await;
    counted.at(&format!("rule {gone}"), "TARGETING_MATCH").add(&app.state.pool, at, 2).await;
    counted.add(&app.state.pool, at, 1).await;
    sqlx::query(
        "insert into count_losses (process, cause, edge_name, from_at, to_at, lost_max, is_final)
         values ($1, 'killed', 'edge-3', $2, $2 + interval '4 seconds', 4200, true),
                ($1, 'silent', 'edge-3', $2 - interval '2 hours', $2 - interval '1 hour', 1, false)",
    )
    .bind(process)
    .bind(at + Duration::minutes(4))
    .execute(&app.state.pool)
    .await
    .expect("losses");
    let rules = read(&ana, at, at + Duration::HOUR, "flag=checkout&by=rule").await;
    assert_eq!(rules["total"], 5);
    let line = |at: usize| (rules["series"][at]["name"].as_str(), rules["series"][at]["id"].clone());
    assert_eq!((line(0), line(1)), ((Some("Beta"), json!(rule)), (None, json!(gone))));
    assert_eq!(read(&ana, at, at + Duration::HOUR, "flag=checkout&by=place").await["total"], 6);
    let gap = json!({ "process": process, "edge": "edge-3", "from": "2024-05-01T10:04:00Z", "to": "2024-05-01T10:04:04Z",
                      "lost_max": 4200, "is_final": true, "cause": "killed" });
    assert_eq!(rules["gaps"], json!([gap]));
}
