//! Counts: each batch exactly once, and what charts read of them.

use std::time::{Duration, Instant};

use crate::support::new_id;
use async_nats::jetstream;
use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::flag::boolean;
use crate::support::{App, Nats};

const COUNTS: &str = "/projects/shop/flags/checkout/environments/production/counts";

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
    assert_eq!(lines.iter().map(|line| line["variant"].as_str()).collect::<Vec<_>>(), [Some("on"), Some("off"), None]);
    let counts: Vec<u64> =
        lines[0]["counts"].as_array().expect("counts").iter().map(|c| c.as_u64().expect("a count")).collect();
    assert_eq!(counts.len(), 60, "empty minutes are there");
    assert_eq!(counts.iter().filter(|count| **count > 0).count(), 2);
    assert!(ana.get("/projects/shop/keys").await.body["items"][0]["last_used_at"].is_string());
}

#[tokio::test]
async fn a_range_is_bounded_and_named() {
    let app = App::start().await;
    let ana = app.ana().await;
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    let empty = ana.get(&format!("{COUNTS}?from=2026-01-01T00:00:00Z&to=2026-01-01T00:03:00Z")).await.expect(200).body;
    assert_eq!((&empty["series"], &empty["total"]), (&json!([]), &json!(0)));
    for bad in
        ["?from=2026-01-01T00:00:00Z&to=2026-01-03T00:00:00Z", "?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z"]
    {
        assert_eq!(ana.get(&format!("{COUNTS}{bad}")).await.expect(422).fields(), ["from"]);
    }
    for bad in ["from=yesterday", "to=9999-12-31T23:59:30Z", "to=9999-12-31T23:59:59-05:00"] {
        ana.get(&format!("{COUNTS}?{bad}")).await.expect(400);
    }
}
