//! Kills: at once, whatever else is going on.

use std::time::Duration;

use backend::app::changeset;
use backend::store;
use serde_json::json;

use crate::flag::{boolean, on};
use crate::support::{App, Person};

const CHECKOUT: &str = "/projects/shop/flags/checkout";

async fn state_of(app: &App) -> Vec<(bool, i64)> {
    sqlx::query_as(
        "select state.killed, state.revision from state
                    join environments on environments.id = environment_id
                    where state.key like '%.flag.%' and environments.key = 'production'",
    )
    .fetch_all(&app.state.pool)
    .await
    .expect("state")
}

async fn kill(ana: &Person, until: Option<&str>) -> crate::support::Answer {
    let mut body = json!({ "environments": ["production"], "reason": "payments fail" });
    if let Some(until) = until {
        body["until"] = json!(until);
    }
    ana.post(&format!("{CHECKOUT}/kill"), body).await
}

#[tokio::test]
async fn a_kill_flips_one_bit_and_lifting_it_restores_what_the_config_says() {
    let app = App::start().await;
    let ana = app.ana().await;
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    ana.put(&format!("{CHECKOUT}/environments/production"), 1, json!({ "config": on() })).await.expect(200);
    let killed = kill(&ana, None).await.expect(200);
    assert_eq!(killed.body["environments"], json!(["production"]));
    assert_eq!(state_of(&app).await, [(true, killed.body["revision"].as_i64().expect("a revision"))]);
    let flag = ana.get(CHECKOUT).await.body;
    assert_eq!(flag["environments"][2]["kill"]["reason"], "payments fail");
    assert_eq!(ana.get("/projects/shop/flags").await.body["items"][0]["states"][2]["shape"], "killed");

    // A save meanwhile cannot undo it.
    ana.put(
        &format!("{CHECKOUT}/environments/production"),
        2,
        json!({ "config": { "enabled": true, "default_serve": { "variant": "off" } } }),
    )
    .await
    .expect(200);
    assert!(state_of(&app).await[0].0);

    ana.post(&format!("{CHECKOUT}/environments/production/restore"), json!({})).await.expect(200);
    assert!(!state_of(&app).await[0].0);
    ana.post(&format!("{CHECKOUT}/environments/production/restore"), json!({})).await.expect(404);
}

#[tokio::test]
async fn a_kill_waits_for_no_changeset_and_no_changeset_undoes_it() {
    let app = App::start().await;
    let ana = app.ana().await;
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    // An import holds the project and the flag for as long as it runs.
    let mut import = app.state.pool.begin().await.expect("a transaction");
    let shop =
        sqlx::query_scalar::<_, uuid::Uuid>("select id from projects").fetch_one(&mut *import).await.expect("shop");
    store::project::lock(&mut import, shop.into()).await.expect("the project");
    sqlx::raw_sql("update flags set name = 'imported'").execute(&mut *import).await.expect("the flag");
    let killed = tokio::time::timeout(Duration::from_secs(5), kill(&ana, None)).await.expect("at once").expect(200);
    assert_eq!(killed.body["environments"], json!(["production"]));
    import.rollback().await.expect("the end of the import");
    ana.put(&format!("{CHECKOUT}/environments/production"), 1, json!({ "config": on() })).await.expect(200);
    assert!(state_of(&app).await[0].0);
}

#[tokio::test]
async fn a_kill_ends_at_its_time_once() {
    let app = App::start().await;
    let ana = app.ana().await;
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    let past = kill(&ana, Some("2020-01-01T00:00:00Z")).await.expect(422);
    assert_eq!(past.fields(), ["until"]);
    kill(&ana, Some("9999-12-31T23:59:59-05:00")).await.expect(422);
    kill(&ana, Some("2999-01-01T00:00:00Z")).await.expect(200);
    let mut db = app.state.pool.acquire().await.expect("a connection");
    assert!(store::kill::list_due(&mut db, app.state.clock.now()).await.expect("kills").is_empty());
    app.state.clock.advance(time::Duration::days(365 * 1_000));
    let due = store::kill::list_due(&mut db, app.state.clock.now()).await.expect("kills");
    assert_eq!(due.len(), 1);
    for _ in 0..2 {
        changeset::lift_due(&app.state, &due[0]).await.expect("lifted, or nothing to do");
    }
    assert!(!state_of(&app).await[0].0);
    let entries: i64 = sqlx::query_scalar("select count(*) from revision_entries where entity = 'kill'")
        .fetch_one(&app.state.pool)
        .await
        .expect("history");
    assert_eq!(entries, 2, "one kill, one end");
}

#[tokio::test]
async fn a_kill_needs_a_reason_and_a_place() {
    let app = App::start().await;
    let ana = app.ana().await;
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    let path = format!("{CHECKOUT}/kill");
    assert_eq!(
        ana.post(&path, json!({ "environments": ["production"], "reason": " " })).await.expect(422).fields(),
        ["reason"]
    );
    assert_eq!(
        ana.post(&path, json!({ "environments": [], "reason": "x" })).await.expect(422).fields(),
        ["environments"]
    );
    ana.post(&path, json!({ "environments": ["nowhere"], "reason": "x" })).await.expect(404);
}
