//! A kill while an import of a thousand things is being applied.

use std::time::{Duration, Instant};

use async_nats::jetstream;
use futures::StreamExt;
use serde_json::{Value, json};

use super::{file, flag, import};
use crate::flag::on;
use crate::reference::config;
use crate::support::{App, Nats};

/// So long a kill may take until it is where edges read it.
const TARGET: Duration = Duration::from_millis(200);
/// And so long before the test fails: a machine that does much else at once is slower.
const AT_MOST: Duration = Duration::from_secs(5);

/// Waits until somebody waits for a lock of the database.
async fn wait_until_held(app: &App) {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let waiting: i64 = sqlx::query_scalar(
            "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        )
        .fetch_one(&app.state.pool)
        .await
        .expect("activity");
        if waiting > 0 {
            return;
        }
        assert!(Instant::now() < deadline, "the import waits for nothing");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_kill_is_live_while_an_import_of_a_thousand_things_is_open_and_stays_when_it_commits() {
    let nats = Nats::start_one();
    let app = App::start_leading(&nats.url()).await;
    let ana = app.ana().await;
    let first = file(
        json!([flag("a-held", json!({ "production": on() })), flag("checkout", json!({ "production": on() }))]),
        json!([]),
    );
    import(&ana, &first, false).await.expect(200);
    let environment = app.environment("production").await;
    let id: uuid::Uuid = sqlx::query_scalar("select id from flags where key = 'checkout'")
        .fetch_one(&app.state.pool)
        .await
        .expect("checkout");
    let key = format!("{environment}.flag.{id}");
    let client = async_nats::connect(nats.url()).await.expect("NATS");
    let stream = jetstream::new(client);
    let deadline = Instant::now() + Duration::from_secs(20);
    let bucket = loop {
        let found = stream.get_key_value("fluxgate_state").await.ok();
        if let Some(bucket) = found
            && bucket.get(key.as_str()).await.is_ok_and(|value| value.is_some())
        {
            break bucket;
        }
        assert!(Instant::now() < deadline, "checkout is not published");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let mut changes = bucket.watch(key.as_str()).await.expect("a watch");

    // A thousand things: checkout and another flag change, 998 flags are new. Somebody holds the row of the other flag,
    // which an import writes last before it takes its number.
    let mut flags: Vec<Value> = (0..998).map(|n| flag(&format!("f{n:03}"), json!({ "production": on() }))).collect();
    let changed = config(&[], &[]);
    flags.push(flag("checkout", json!({ "production": changed })));
    flags.push(flag("a-held", json!({ "production": changed })));
    let wanted = file(json!(flags), json!([]));
    let mut holder = app.state.pool.begin().await.expect("a transaction");
    sqlx::raw_sql("select 1 from flags where key = 'a-held' for no key update")
        .execute(&mut *holder)
        .await
        .expect("the row of a flag");
    let importing = tokio::spawn({
        let ana = ana.clone();
        async move { import(&ana, &wanted, false).await }
    });
    wait_until_held(&app).await;

    let began = Instant::now();
    let body = json!({ "environments": ["production"], "reason": "payments fail" });
    let killed = ana.post("/projects/shop/flags/checkout/kill", body).await.expect(200).body;
    let committed = began.elapsed();
    let live = tokio::time::timeout(AT_MOST, async {
        loop {
            let entry = changes.next().await.expect("a change").expect("a readable change");
            let value: Value = serde_json::from_slice(&entry.value).expect("JSON");
            if value["killed"] == true {
                return (began.elapsed(), value["revision"].clone());
            }
        }
    });
    let (took, revision) = live.await.expect("the kill is in the bucket");
    assert_eq!(revision, killed["revision"]);
    eprintln!(
        "kill during an import of 1,000 things: committed after {committed:?}, in the bucket after {took:?} (target {TARGET:?})"
    );
    assert!(!importing.is_finished(), "the import is still open");
    let state = async || -> (bool, i64) {
        sqlx::query_as("select killed, revision from state where key = $1")
            .bind(&key)
            .fetch_one(&app.state.pool)
            .await
            .expect("state")
    };
    assert!(state().await.0, "committed");

    holder.rollback().await.expect("the end");
    let done = importing.await.expect("an answer").expect(200).body;
    assert_eq!(done["changesets"].as_array().map(Vec::len), Some(1), "{}", done["sentence"]);
    let (is_killed, last) = state().await;
    assert_eq!((is_killed, Some(last)), (true, done["changesets"][0]["revision"].as_i64()));
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let value = bucket.get(key.as_str()).await.expect("a value").expect("a value");
        let value: Value = serde_json::from_slice(&value).expect("JSON");
        assert_eq!(value["killed"], true, "still killed");
        if value["revision"].as_i64() == Some(last) {
            break;
        }
        assert!(Instant::now() < deadline, "the import is not published");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
