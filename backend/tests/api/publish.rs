//! From the database into a real bucket, whatever happens to either.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use async_nats::jetstream;
use futures::StreamExt;
use serde_json::{Value, json};

use crate::flag::{boolean, on};
use crate::support::{App, Nats};

/// All that the bucket holds, with the sequence of each message.
pub(crate) async fn bucket(nats: &Nats) -> BTreeMap<String, (u64, String)> {
    let Ok(client) = async_nats::connect(nats.url()).await else { return BTreeMap::new() };
    let Ok(store) = jetstream::new(client).get_key_value("fluxgate_state").await else { return BTreeMap::new() };
    let Ok(keys) = store.keys().await else { return BTreeMap::new() };
    let keys: Vec<String> = keys.filter_map(|key| async { key.ok() }).collect().await;
    let mut held = BTreeMap::new();
    for key in keys {
        if let Ok(Some(entry)) = store.entry(key.as_str()).await {
            held.insert(key, (entry.revision, String::from_utf8_lossy(&entry.value).into_owned()));
        }
    }
    held
}

async fn database(app: &App) -> BTreeMap<String, String> {
    let rows: Vec<(String, String)> =
        sqlx::query_as("select key, value from state").fetch_all(&app.state.pool).await.expect("state");
    rows.into_iter().collect()
}

/// Waits until the bucket holds byte for byte what the database says.
pub(crate) async fn wait_until_equal(app: &App, nats: &Nats) -> BTreeMap<String, (u64, String)> {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let held = bucket(nats).await;
        let values: BTreeMap<String, String> =
            held.iter().map(|(key, (_, value))| (key.clone(), value.clone())).collect();
        let wanted = database(app).await;
        if values == wanted {
            return held;
        }
        assert!(Instant::now() < deadline, "the bucket has {} keys, the database {}", values.len(), wanted.len());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn the_bucket_follows_the_database_and_is_refilled_when_it_was_deleted() {
    for mut nats in Nats::start_all() {
        let app = App::start_leading(&nats.url()).await;
        let ana = app.ana().await;
        ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
        let held = wait_until_equal(&app, &nats).await;
        for (key, (sequence, _)) in held.iter().filter(|(key, _)| key.contains(".flag.")) {
            let environment = key.split('.').next().expect("an environment");
            let (last, _) = held[&format!("{environment}.environment")];
            assert!(last > *sequence, "an environment's own value comes last");
        }
        nats.wipe();
        wait_until_equal(&app, &nats).await;
        ana.put("/projects/shop/flags/checkout/environments/production", 1, json!({ "config": on() }))
            .await
            .expect(200);
        wait_until_equal(&app, &nats).await;
    }
}

#[tokio::test]
async fn revisions_go_on_above_a_bucket_that_is_ahead_of_a_restored_database() {
    let nats = Nats::start_one();
    let app = App::start_leading(&nats.url()).await;
    let ana = app.ana().await;
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    wait_until_equal(&app, &nats).await;

    // Another database with fewer changes, as after restoring a backup, meets the same bucket.
    let environments: Vec<(uuid::Uuid,)> = sqlx::query_as("select id from environments order by position")
        .fetch_all(&app.state.pool)
        .await
        .expect("environments");
    let ahead = 5_000;
    let client = async_nats::connect(nats.url()).await.expect("NATS");
    let store = jetstream::new(client).get_key_value("fluxgate_state").await.expect("a bucket");
    let key = format!("{}.environment", environments[0].0);
    let old = store.get(key.as_str()).await.expect("a value").expect("a value");
    let mut value: Value = serde_json::from_slice(&old).expect("JSON");
    value["revision"] = json!(ahead);
    store.put(key.as_str(), value.to_string().into()).await.expect("a put");

    ana.put("/projects/shop/flags/checkout/environments/production", 1, json!({ "config": on() })).await.expect(200);
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let revision: i64 =
            sqlx::query_scalar("select revision from counter").fetch_one(&app.state.pool).await.expect("a counter");
        if revision > ahead {
            break;
        }
        assert!(Instant::now() < deadline, "the counter stays at {revision}");
        tokio::time::sleep(Duration::from_millis(50)).await;
        // The publisher looks at the whole bucket when one of its puts meets a stranger.
        ana.post("/projects/shop/keys", json!({ "environment": "development", "name": "k", "kind": "server" }))
            .await
            .expect(201);
    }
    wait_until_equal(&app, &nats).await;
    let restored: i64 = sqlx::query_scalar("select count(*) from revision_entries where entity = 'restored'")
        .fetch_one(&app.state.pool)
        .await
        .expect("history");
    assert_eq!(restored, 1);
}

#[tokio::test]
async fn a_number_that_stands_for_something_else_in_the_bucket_is_never_used_again() {
    let nats = Nats::start_one();
    let app = App::start_leading(&nats.url()).await;
    let ana = app.ana().await;
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    wait_until_equal(&app, &nats).await;
    let before: i64 =
        sqlx::query_scalar("select revision from counter").fetch_one(&app.state.pool).await.expect("a counter");

    // As after a failover that lost the last change of a flag: its value is newer outside than the database knows, while
    // the counter is not behind.
    let held = bucket(&nats).await;
    let (key, (_, value)) = held.iter().find(|(key, _)| key.contains(".flag.")).expect("a flag");
    let mut value: Value = serde_json::from_str(value).expect("JSON");
    value["killed"] = json!(true);
    let client = async_nats::connect(nats.url()).await.expect("NATS");
    let store = jetstream::new(client).get_key_value("fluxgate_state").await.expect("a bucket");
    store.put(key.as_str(), value.to_string().into()).await.expect("a put");

    // Nobody else writes to the bucket, so the publisher reads all of it.
    wait_until_equal(&app, &nats).await;
    let after: i64 =
        sqlx::query_scalar("select revision from counter").fetch_one(&app.state.pool).await.expect("a counter");
    let restored: i64 = sqlx::query_scalar("select count(*) from revision_entries where entity = 'restored'")
        .fetch_one(&app.state.pool)
        .await
        .expect("history");
    assert_eq!((after, restored), (before + 1, 1));
}
