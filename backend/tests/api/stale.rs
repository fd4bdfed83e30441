//! Flags that may go, with series as the leader writes them.

use serde_json::{Value, json};
use time::Duration;
use uuid::Uuid;

use crate::flag::{boolean, on};
use crate::insight::{floor, moment};
use crate::support::{App, Person};

/// A flag that was made so many days ago, on or off in production.
async fn aged(app: &App, ana: &Person, key: &str, kind: &str, days: i64) -> Uuid {
    let mut new = boolean(key);
    new["definition"]["kind"] = kind.into();
    new["start"] = json!({ "production": { "enabled": true } });
    ana.post("/projects/shop/flags", new).await.expect(201);
    let made = app.state.clock.now() - Duration::days(days);
    sqlx::query_scalar("update flags set created_at = $2 where key = $1 returning id")
        .bind(key)
        .bind(made)
        .fetch_one(&app.state.pool)
        .await
        .expect("the flag")
}

/// `flag` answered `variant` in production, first and last so many days ago.
async fn answered(app: &App, flag: Uuid, variant: &str, mode: &str, first: i64, last: i64) {
    let now = floor(app.state.clock.now(), Duration::MINUTE);
    let place = if variant.is_empty() { "error GENERAL" } else { "default" };
    sqlx::query(
        "insert into evaluation_series (environment_id, flag_id, place, variant, reason, mode, first_at, last_at)
         select id, $1, $2, $3, '', $4, $5, $6 from environments where key = 'production'",
    )
    .bind(flag)
    .bind(place)
    .bind(variant)
    .bind(mode)
    .bind(now - Duration::days(first))
    .bind(now - Duration::days(last))
    .execute(&app.state.pool)
    .await
    .expect("a series");
}

async fn counting_for(app: &App, days: i64) {
    sqlx::query(
        "insert into edge_series (environment_id, process, reason, mode, first_at, last_at)
         select id, gen_random_uuid(), '', 'single', $1, $1 from environments where key = 'production'",
    )
    .bind(app.state.clock.now() - Duration::days(days))
    .execute(&app.state.pool)
    .await
    .expect("a series");
}

/// Why each flag is stale, by key.
async fn reasons(ana: &Person) -> Vec<(String, Vec<String>)> {
    let found = ana.get("/projects/shop/stale-flags").await.expect(200).body;
    let items = found["items"].as_array().expect("items").clone();
    let sentence = |reason: &Value| reason["sentence"].as_str().expect("text").to_owned();
    let mut reasons: Vec<_> = items
        .iter()
        .map(|flag| {
            let reasons = flag["usage"]["reasons"].as_array().expect("reasons");
            (flag["key"].as_str().expect("a key").to_owned(), reasons.iter().map(sentence).collect())
        })
        .collect();
    reasons.sort();
    reasons
}

#[tokio::test]
async fn a_stale_flag_says_why_it_may_go() {
    let app = App::start().await;
    let ana = app.ana().await;
    counting_for(&app, 100).await;
    let never = aged(&app, &ana, "never", "operational", 91).await;
    let unused = aged(&app, &ana, "unused", "kill_switch", 200).await;
    let fixed = aged(&app, &ana, "fixed", "release", 39).await;
    let old = aged(&app, &ana, "old", "experiment", 91).await;
    let fresh = aged(&app, &ana, "fresh", "release", 10).await;
    let steady = aged(&app, &ana, "steady", "operational", 300).await;
    answered(&app, unused, "on", "single", 80, 45).await;
    answered(&app, fixed, "off", "single", 39, 20).await;
    answered(&app, fixed, "on", "single", 38, 0).await;
    answered(&app, fixed, "", "single", 38, 0).await;
    answered(&app, old, "on", "single", 38, 0).await;
    answered(&app, old, "off", "single", 38, 3).await;
    answered(&app, steady, "on", "single", 90, 0).await;
    let expected = |key: &str, sentences: &[&str]| {
        (key.to_owned(), sentences.iter().map(|text| String::from(*text)).collect::<Vec<_>>())
    };
    assert_eq!(
        reasons(&ana).await,
        [
            expected("fixed", &["the same answer (on) to everyone in production for 20 days"]),
            expected("never", &["nobody ever asked for it; it is 91 days old"]),
            expected("old", &["an experiment flag usually goes after 40 days; this one is 91 days old"]),
            expected("unused", &["nobody asked for it for 45 days"]),
        ]
    );
    let csv = ana.get("/projects/shop/stale-flags?format=csv").await.expect(200).text;
    assert!(csv.lines().count() == 5 && csv.contains("never,never,operational,"), "{csv}");
    // A config that could give another answer, or a kill, ends what counts alone seem to say.
    let part = json!({
        "enabled": true, "off_variant": "off", "default_serve": { "variant": "on" },
        "rules": [{ "id": "0192d4c5-7b7e-7000-8000-000000000001", "serve": { "variant": "off" } }]
    });
    let path = "/projects/shop/flags/fixed/environments/production";
    ana.put(path, 1, json!({ "config": part })).await.expect(200);
    assert!(reasons(&ana).await.iter().all(|(key, _)| key != "fixed"));
    ana.put(path, 2, json!({ "config": on() })).await.expect(200);
    assert!(reasons(&ana).await.iter().any(|(key, _)| key == "fixed"));
    let kill = json!({ "environments": ["production"], "reason": "incident" });
    ana.post("/projects/shop/flags/fixed/kill", kill).await.expect(200);
    assert!(reasons(&ana).await.iter().all(|(key, _)| key != "fixed"));
    let _ = (never, fresh);
}

#[tokio::test]
async fn what_browsers_receive_is_never_called_unused() {
    let app = App::start().await;
    let ana = app.ana().await;
    counting_for(&app, 100).await;
    let sent = aged(&app, &ana, "sent", "operational", 91).await;
    answered(&app, sent, "on", "single", 80, 45).await;
    answered(&app, sent, "on", "bulk", 80, 1).await;
    assert_eq!(reasons(&ana).await, []);
    let usage = ana.get("/projects/shop/flags/sent/usage").await.expect(200).body;
    assert_eq!(
        (&usage["activity"], &usage["sentence"]),
        (&json!("sent_in_bulk"), &json!("sent to browsers, use unknown"))
    );
    let production = &usage["environments"][2];
    let now = floor(app.state.clock.now(), Duration::MINUTE);
    assert_eq!(production["environment"], "production");
    assert_eq!(production["evaluated_at"], json!(moment(now - Duration::days(45))), "by its key alone");
    assert_eq!(production["sent_in_bulk_at"], json!(moment(now - Duration::days(1))));
    assert_eq!(usage["environments"][0], json!({ "environment": "development" }));
}

#[tokio::test]
async fn nothing_is_called_unused_before_counting_is_old_enough() {
    let app = App::start().await;
    let ana = app.ana().await;
    aged(&app, &ana, "never", "operational", 91).await;
    assert_eq!(reasons(&ana).await, [], "nothing was ever counted");
    counting_for(&app, 29).await;
    assert_eq!(reasons(&ana).await, []);
    let usage = ana.get("/projects/shop/flags/never/usage").await.expect(200).body;
    assert_eq!(usage["activity"], "too_early");
    counting_for(&app, 31).await;
    assert_eq!(reasons(&ana).await.len(), 1);
}
