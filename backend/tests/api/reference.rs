//! Table `reference`: what refers to what, beside the documents that say so.

use serde_json::{Value, json};
use shared::model::change::{Change, NewFlag};
use uuid::Uuid;

use crate::flag::boolean;
use crate::support::{App, Person, new_id};

/// A config that needs flags to be `on` and has a rule for each of these segments.
pub(crate) fn config(flags: &[&str], segments: &[&str]) -> Value {
    let prerequisites: Vec<Value> = flags.iter().map(|flag| json!({ "flag": flag, "variants": ["on"] })).collect();
    let serve = json!({ "variant": "on" });
    let rule = |segment: &&str| json!({ "id": new_id(), "serve": serve, "conditions": using(&[segment]) });
    let rules: Vec<Value> = segments.iter().map(rule).collect();
    json!({ "enabled": true, "off_variant": "off", "prerequisites": prerequisites, "rules": rules,
            "default_serve": { "variant": "off" } })
}

/// The condition of being in any of these segments.
pub(crate) fn using(segments: &[&str]) -> Value {
    json!({ "all": [{ "operator": "in_segment", "values": segments }] })
}

/// A new flag with such a config in one environment.
pub(crate) fn new_flag(key: &str, environment: &str, flags: &[&str], segments: &[&str]) -> Change {
    Change::CreateFlag(NewFlag {
        definition: serde_json::from_value(boolean(key)["definition"].clone()).expect("a definition"),
        name: key.into(),
        description: String::new(),
        tags: Vec::new(),
        owner: None,
        lifetime: Default::default(),
        configs: [(
            environment.parse().expect("a key"),
            serde_json::from_value(config(flags, segments)).expect("a config"),
        )]
        .into(),
    })
}

/// Every reference in words, as `checkout in staging → staff`.
async fn references(app: &App) -> Vec<String> {
    sqlx::query_scalar(
        "select coalesce(flags.key || ' in ' || environments.key, segments.key) || ' → '
                || coalesce(parents.key, used.key) as line
         from reference
         left join flags on flags.id = from_flag_id
         left join environments on environments.id = reference.environment_id
         left join segments on segments.id = from_segment_id
         left join flags parents on parents.id = to_flag_id
         left join segments used on used.id = to_segment_id
         order by line",
    )
    .fetch_all(&app.state.pool)
    .await
    .expect("references")
}

async fn set_up(app: &App) -> Person {
    let ana = app.ana().await;
    for segment in ["inner", "outer", "staff"] {
        let conditions = if segment == "outer" { using(&["inner"]) } else { json!({ "all": [] }) };
        let new = json!({ "definition": { "key": segment, "conditions": conditions }, "name": segment });
        ana.post("/projects/shop/segments", new).await.expect(201);
    }
    for flag in ["checkout", "payments"] {
        ana.post("/projects/shop/flags", boolean(flag)).await.expect(201);
    }
    let path = "/projects/shop/flags/checkout/environments/staging";
    ana.put(path, 1, json!({ "config": config(&["payments"], &["outer", "staff"]) })).await.expect(200);
    ana
}

/// What the previous release does when it saves a config: it knows no other table.
async fn save_as_before(app: &App, segments: &[&str]) {
    let place: (Uuid, Uuid) = sqlx::query_as(
        "select flags.id, environments.id from flags, environments
         where flags.key = 'payments' and environments.key = 'production'",
    )
    .fetch_one(&app.state.pool)
    .await
    .expect("payments in production");
    let mut tx = app.state.pool.begin().await.expect("a transaction");
    sqlx::query("delete from flag_segments where flag_id = $1 and environment_id = $2")
        .bind(place.0)
        .bind(place.1)
        .execute(&mut *tx)
        .await
        .expect("deleted");
    sqlx::query(
        "insert into flag_segments (flag_id, environment_id, segment_id)
         select $1, $2, id from segments where key = any ($3)",
    )
    .bind(place.0)
    .bind(place.1)
    .bind(segments)
    .execute(&mut *tx)
    .await
    .expect("inserted");
    tx.commit().await.expect("a commit");
}

#[tokio::test]
async fn references_follow_what_is_saved() {
    let app = App::start().await;
    let ana = set_up(&app).await;
    let expected = [
        "checkout in staging → outer",
        "checkout in staging → payments",
        "checkout in staging → staff",
        "outer → inner",
    ];
    assert_eq!(references(&app).await, expected);
    let path = "/projects/shop/flags/checkout/environments/staging";
    ana.put(path, 2, json!({ "config": config(&[], &["staff"]) })).await.expect(200);
    ana.put("/projects/shop/segments/outer", 1, json!({ "name": "Outer" })).await.expect(200);
    assert_eq!(references(&app).await, ["checkout in staging → staff"]);
}

#[tokio::test]
async fn the_previous_release_and_this_one_see_what_the_other_saves() {
    let app = App::start().await;
    let ana = set_up(&app).await;
    let named_before = || async {
        sqlx::query_scalar::<_, String>(
            "select flags.key || ' in ' || environments.key || ' → ' || segments.key as line
             from flag_segments
             join flags on flags.id = flag_id
             join environments on environments.id = environment_id
             join segments on segments.id = segment_id
             order by line",
        )
        .fetch_all(&app.state.pool)
        .await
        .expect("segments of flags")
    };
    assert_eq!(named_before().await, ["checkout in staging → outer", "checkout in staging → staff"]);
    save_as_before(&app, &["inner", "staff"]).await;
    let used_by = ana.get("/projects/shop/segments/inner").await.expect(200).body["used_by"].clone();
    assert_eq!(used_by, json!(["payments"]));
    save_as_before(&app, &["staff"]).await;
    let expected = ["checkout in staging → outer", "checkout in staging → staff", "payments in production → staff"];
    assert_eq!(named_before().await, expected);
    assert_eq!(references(&app).await.len(), 5);
    let path = "/projects/shop/flags/checkout/environments/staging";
    ana.put(path, 2, json!({ "config": config(&[], &[]) })).await.expect(200);
    assert_eq!(named_before().await, ["payments in production → staff"]);
}

#[tokio::test]
async fn the_migration_finds_what_flags_named_before() {
    let app = App::start().await;
    set_up(&app).await;
    sqlx::raw_sql(
        "drop table reference; drop function flag_segments_follows_reference;
         drop function reference_follows_flag_segments cascade",
    )
    .execute(&app.state.pool)
    .await
    .expect("the schema before");
    save_as_before(&app, &["staff"]).await;
    sqlx::raw_sql(include_str!("../../../migrations/20261130225500_create_reference.sql"))
        .execute(&app.state.pool)
        .await
        .expect("the migration");
    // Before, segments did not use segments and flags did not need flags.
    let expected = ["checkout in staging → outer", "checkout in staging → staff", "payments in production → staff"];
    assert_eq!(references(&app).await, expected);
}
