//! Counts: each batch exactly once, and what dashboards read of them.

mod bench;
mod lines;
mod list;
mod live;
mod refused;
mod series;

use std::time::{Duration, Instant};

use crate::support::new_id;
use async_nats::jetstream;
use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::flag::boolean;
use crate::support::{App, Nats};

const COUNTS: &str =
    "/projects/shop/counts?environment=production&flag=checkout&by=variant&last_minutes=60&interval=minute";

async fn publish(nats: &Nats, payload: String) {
    let client = async_nats::connect(nats.url()).await.expect("NATS");
    let context = jetstream::new(client);
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        // The stream is made by the leader, which may still be starting.
        if let Ok(ack) = context.publish("fluxgate.count.test", payload.clone().into()).await
            && ack.await.is_ok()
        {
            return;
        }
        assert!(Instant::now() < deadline, "no stream takes counts");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn wait_for_total(ana: &crate::support::Person, path: &str, total: u64) -> Value {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let series = ana.get(path).await.expect(200).body;
        if series["total"] == total {
            return series;
        }
        assert!(Instant::now() < deadline, "{series}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_batch_that_comes_again_changes_nothing_and_a_broken_one_holds_up_nobody() {
    let nats = Nats::start_one();
    let app = App::start_leading(&nats.url()).await;
    let ana = app.ana().await;
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    let flag = ana.get("/projects/shop/flags/checkout").await.body["id"].clone();
    let project = ana.get("/projects/shop").await.body;
    let environment = project["environments"][2]["id"].clone();
    let key = ana
        .post("/projects/shop/keys", json!({ "environment": "production", "name": "k", "kind": "server" }))
        .await
        .body["key"]["id"]
        .clone();
    let minute =
        OffsetDateTime::from_unix_timestamp(app.state.clock.now().unix_timestamp()).expect("now").unix_timestamp() / 60;
    let process = new_id();
    let batch = |sequence: u64, minute: i64, count: u64| {
        let counted = |variant: Option<&str>, count: u64| json!({ "minute": minute, "environment": environment, "flag": flag, "place": "default", "variant": variant, "mode": "single", "count": count });
        json!({ "process": process, "sequence": sequence,
                "evaluations": [counted(Some("on"), count), counted(Some("off"), 2), counted(None, 1)],
                "keys": [{ "minute": minute, "environment": environment, "key": key, "count": count + 3 }] })
        .to_string()
    };
    publish(&nats, batch(1, minute - 2, 2_147_483_648)).await;
    for _ in 0..3 {
        publish(&nats, batch(2, minute, 7)).await;
    }
    publish(&nats, "not a batch".into()).await;
    publish(&nats, batch(3, 17, 5)).await;
    let series = wait_for_total(&ana, COUNTS, 2_147_483_648 + 7 + 5 + 3 * 3).await;

    let lines = series["series"].as_array().expect("lines");
    assert_eq!(lines.iter().map(|line| line["key"].as_str()).collect::<Vec<_>>(), [Some("on"), Some("off"), None]);
    let counts: Vec<u64> =
        lines[0]["counts"].as_array().expect("counts").iter().map(|c| c.as_u64().expect("a count")).collect();
    assert_eq!(counts.len(), 60, "empty minutes are there");
    assert_eq!(counts.iter().filter(|count| **count > 0).count(), 2);
    assert!(ana.get("/projects/shop/keys").await.body["items"][0]["last_used_at"].is_string());
}
