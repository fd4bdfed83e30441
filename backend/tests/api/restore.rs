//! A backup is restored while edges and the bucket have seen more.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::flag::{boolean, on};
use crate::publish::{bucket, wait_until_equal};
use crate::support::{App, Nats, Person};

const PRODUCTION: &str = "/projects/shop/flags/checkout/environments/production";

/// What the bucket holds, as JSON.
async fn held(nats: &Nats) -> BTreeMap<String, Value> {
    let held = bucket(nats).await.into_iter();
    held.map(|(key, (_, value))| (key, serde_json::from_str(&value).expect("JSON"))).collect()
}

async fn wait_for(
    nats: &Nats,
    what: &str,
    is_so: impl Fn(&BTreeMap<String, Value>) -> bool,
) -> BTreeMap<String, Value> {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let now = held(nats).await;
        if is_so(&now) {
            return now;
        }
        assert!(Instant::now() < deadline, "{what}: {now:#?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Fifty changes that the backup will not know.
async fn change(ana: &Person, key: &str) {
    for version in 1..48 {
        ana.put(PRODUCTION, version, json!({ "config": on(), "note": format!("change {version}") })).await.expect(200);
    }
    ana.post("/projects/shop/flags", boolean("newer")).await.expect(201);
    ana.post(&format!("/projects/shop/keys/{key}/revoke"), json!({})).await.expect(200);
    let environment = json!({ "key": "preview", "name": "Preview" });
    ana.post("/projects/shop/environments", environment).await.expect(201);
}

#[tokio::test]
async fn after_a_restore_kills_arrive_keys_stay_revoked_and_what_only_the_bucket_has_goes_when_confirmed() {
    let nats = Nats::start_one();
    let app = App::start_leading(&nats.url()).await;
    let ana = app.ana().await;
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    let key = json!({ "environment": "production", "name": "web", "kind": "server" });
    let key =
        ana.post("/projects/shop/keys", key).await.expect(201).body["key"]["id"].as_str().expect("an id").to_owned();
    wait_until_equal(&app, &nats).await;
    let original = app.state.config.database.url.clone();
    let backup = app.stop_and_copy().await;

    let app = App::start_leading_on(original, &nats.url()).await;
    change(&app.ana_again().await, &key).await;
    wait_until_equal(&app, &nats).await;
    let seen = held(&nats).await;
    let newest = seen.values().filter_map(|value| value["revision"].as_u64()).max().expect("revisions");
    app.stop_and_copy().await;

    // The backup comes back. The next kill is newer than anything that an edge or its disk can have seen.
    let app = App::start_leading_on(backup, &nats.url()).await;
    let ana = app.ana_again().await;
    let kill = json!({ "environments": ["production"], "reason": "payments fail" });
    ana.post("/projects/shop/flags/checkout/kill", kill).await.expect(200);
    let now = wait_for(&nats, "the kill arrives above everything seen", |now| {
        now.values().any(|value| value["killed"] == true && value["revision"].as_u64() > Some(newest))
    })
    .await;
    let is_revoked = |now: &BTreeMap<String, Value>| {
        now.iter().any(|(name, value)| name.ends_with(&format!(".key.{key}")) && value["body"]["revoked"] == true)
    };
    assert!(is_revoked(&now), "a revoked key stays revoked");
    assert!(ana.get("/projects/shop/keys").await.body["items"][0]["revoked_at"].is_string());

    // What only the bucket has: a flag in three environments, and an environment.
    let found = ana.get("/restored").await.expect(200).body["items"][0].clone();
    let mut named: Vec<&str> = found["only_published"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|item| item["what"].as_str().expect("a text"))
        .collect();
    named.sort_unstable();
    assert_eq!(named, ["environment shop/preview", "flag newer", "flag newer", "flag newer"]);
    assert_eq!((&found["only_published_total"], &found["waiting"]), (&json!(4), &json!(4)));
    let told = ana.get("/projects/shop/history?kind=restored").await.expect(200).body;
    let lines = told["items"][0]["entries"][0]["sentences"].to_string();
    assert!(lines.contains("4 published values that the database does not know"), "{lines}");
    let path = format!("/projects/shop/history/{}", found["revision"]);
    assert!(!ana.get(&path).await.expect(200).text.contains("only_published\""), "keys of other projects are not told");

    let path = format!("/restored/{}/confirm", found["revision"]);
    app.member("Ada", Some("admin")).await.post(&path, json!({})).await.expect(403);
    let done = ana.post(&path, json!({})).await.expect(200).body;
    assert_eq!(done["waiting"], 0);
    ana.post(&path, json!({})).await.expect(404);
    let names: Vec<String> = found["only_published"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|item| item["key"].as_str().expect("a key").to_owned())
        .collect();
    let now = wait_for(&nats, "what only the bucket had is gone", |now| {
        names.iter().all(|name| now[name]["deleted"] == true && now[name].get("body").is_none())
    })
    .await;
    assert!(is_revoked(&now));
    assert!(now.values().any(|value| value["killed"] == true));
}
