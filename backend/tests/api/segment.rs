//! Segments reach an environment only through a flag that names them there, or names a segment that uses them.

use serde_json::{Value, json};
use shared::model::change::Change;

use crate::flag::boolean;
use crate::reference::{config, new_flag, using};
use crate::support::{Answer, App, Person};

fn staff(keys: &[&str]) -> Value {
    json!({ "definition": { "key": "staff", "included": keys }, "name": "Staff" })
}

async fn create(ana: &Person, key: &str, uses: &[&str]) -> Answer {
    let conditions = if uses.is_empty() { json!({ "all": [] }) } else { using(uses) };
    let definition = json!({ "key": key, "included": ["ana"], "conditions": conditions });
    ana.post("/projects/shop/segments", json!({ "definition": definition, "name": key })).await
}

async fn update(ana: &Person, key: &str, version: u64, uses: &[&str]) -> Answer {
    let conditions = if uses.is_empty() { json!({ "all": [] }) } else { using(uses) };
    let body = json!({ "name": key, "included": ["ana"], "conditions": conditions });
    ana.put(&format!("/projects/shop/segments/{key}"), version, body).await
}

/// Saves a config with a rule for each of these segments.
async fn save(ana: &Person, environment: &str, version: u64, segments: &[&str]) -> Answer {
    let path = format!("/projects/shop/flags/checkout/environments/{environment}");
    ana.put(&path, version, json!({ "config": config(&[], segments) })).await
}

async fn segment_rows(app: &App) -> Vec<(String, bool)> {
    sqlx::query_as(
        "select environments.key, state.deleted from state
                    join environments on environments.id = environment_id
                    where state.key like '%.segment.%' order by environments.position",
    )
    .fetch_all(&app.state.pool)
    .await
    .expect("state")
}

/// Where segments are published, as `staging/staff`.
async fn published(app: &App) -> Vec<String> {
    sqlx::query_scalar(
        "select environments.key || '/' || segments.key as place from state
                    join environments on environments.id = environment_id
                    join segments on state.key = environments.id || '.segment.' || segments.id
                    where not state.deleted order by place",
    )
    .fetch_all(&app.state.pool)
    .await
    .expect("state")
}

#[tokio::test]
async fn a_segment_is_published_where_a_flag_names_it_and_nowhere_else() {
    let app = App::start().await;
    let ana = app.ana().await;
    let created = ana.post("/projects/shop/segments", staff(&["ana"])).await.expect(201);
    assert_eq!(created.body["environments"], json!([]));
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    assert_eq!(segment_rows(&app).await, []);

    save(&ana, "staging", 1, &["staff"]).await.expect(200);
    assert_eq!(segment_rows(&app).await, [("staging".into(), false)]);

    let update = json!({ "name": "Staff", "included": ["ana", "ben"] });
    let updated = ana.put("/projects/shop/segments/staff", 1, update.clone()).await.expect(200);
    assert_eq!(updated.body["environments"], json!(["staging"]));
    ana.put("/projects/shop/segments/staff", 1, update).await.expect(412);
    let refused = ana.delete("/projects/shop/segments/staff").await.expect(409);
    assert_eq!(refused.code(), "in_use");
    assert!(refused.body["detail"].as_str().is_some_and(|text| text.contains("flag 'checkout'")));

    save(&ana, "staging", 2, &[]).await.expect(200);
    assert_eq!(segment_rows(&app).await, [("staging".into(), true)], "a tombstone");
    ana.delete("/projects/shop/segments/staff").await.expect(200);
    ana.get("/projects/shop/segments/staff").await.expect(404);
}

#[tokio::test]
async fn a_segment_inside_another_is_published_and_withdrawn_with_it() {
    let app = App::start().await;
    let ana = app.ana().await;
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    for (key, uses) in
        [("inner", &[] as &[&str]), ("middle", &["inner"]), ("outer", &["middle"]), ("other", &["inner"])]
    {
        let created = create(&ana, key, uses).await.expect(201);
        assert_eq!(created.body["environments"], json!([]));
    }
    save(&ana, "staging", 1, &["outer"]).await.expect(200);
    assert_eq!(published(&app).await, ["staging/inner", "staging/middle", "staging/outer"]);
    save(&ana, "production", 1, &["middle"]).await.expect(200);
    let changed = ana.put("/projects/shop/segments/inner", 1, json!({ "name": "Inner", "included": ["ben"] })).await;
    assert_eq!(changed.expect(200).body["environments"], json!(["staging", "production"]));

    // The way to it may end in the middle, and it stays where another way leads to it.
    let narrowed = update(&ana, "middle", 1, &[]).await.expect(200);
    assert_eq!(narrowed.body["environments"], json!(["staging", "production"]));
    assert_eq!(published(&app).await, ["production/middle", "staging/middle", "staging/outer"]);
    save(&ana, "staging", 2, &["outer", "other"]).await.expect(200);
    let widened = update(&ana, "middle", 2, &["inner"]).await.expect(200);
    assert_eq!(widened.body["environments"], json!(["staging", "production"]));
    let all =
        ["production/inner", "production/middle", "staging/inner", "staging/middle", "staging/other", "staging/outer"];
    assert_eq!(published(&app).await, all);
    let saved = save(&ana, "staging", 3, &["other"]).await.expect(200);
    assert_eq!(saved.body["environments"], json!(["staging"]));
    assert_eq!(published(&app).await, ["production/inner", "production/middle", "staging/inner", "staging/other"]);
    save(&ana, "staging", 4, &[]).await.expect(200);
    save(&ana, "production", 2, &[]).await.expect(200);
    assert_eq!(published(&app).await, [""; 0]);
}

#[tokio::test]
async fn a_segment_names_what_uses_it_and_stays_while_anything_does() {
    let app = App::start().await;
    let ana = app.ana().await;
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    create(&ana, "inner", &[]).await.expect(201);
    create(&ana, "outer", &["inner"]).await.expect(201);
    save(&ana, "staging", 1, &["outer", "inner"]).await.expect(200);
    save(&ana, "production", 1, &["inner"]).await.expect(200);
    let inner = ana.get("/projects/shop/segments/inner").await.expect(200).body;
    assert_eq!((&inner["used_by"], &inner["used_by_segments"]), (&json!(["checkout"]), &json!(["outer"])));
    let list = ana.get("/projects/shop/segments").await.expect(200).body;
    let uses = |at: usize| (list["items"][at]["used_by"].clone(), list["items"][at]["used_by_segments"].clone());
    assert_eq!([uses(0), uses(1)], [(json!(["checkout"]), json!(["outer"])), (json!(["checkout"]), json!([]))]);

    save(&ana, "staging", 2, &[]).await.expect(200);
    let refused = ana.delete("/projects/shop/segments/inner").await.expect(409);
    let detail = "segment 'inner' is used by flag 'checkout', segment 'outer'; change these first";
    assert_eq!((refused.code(), &refused.body["detail"]), ("in_use", &json!(detail)));
    // In one changeset whoever uses it may go first.
    let key = |text: &str| text.parse().expect("a key");
    let config = serde_json::from_value(config(&[], &[])).expect("a config");
    let save = Change::SaveConfig {
        flag: "checkout".parse().expect("a key"),
        environment: "production".parse().expect("a key"),
        version: 2,
        config,
    };
    let delete = |text: &str| Change::DeleteSegment { segment: key(text) };
    let brief = json!({ "key": "brief", "conditions": using(&["inner"]) });
    let brief =
        Change::CreateSegment { definition: serde_json::from_value(brief).expect("a segment"), name: "B".into() };
    app.apply(vec![brief, delete("brief")]).await.expect("nothing is left of it");
    app.apply(vec![delete("outer"), save, delete("inner")]).await.expect("nobody uses them");
    let rows = segment_rows(&app).await;
    assert!(rows.iter().all(|(_, deleted)| *deleted), "no row is left without its segment: {rows:?}");
    assert_eq!(rows.len(), 3);
}

#[tokio::test]
async fn what_a_segment_uses_exists_and_does_not_use_it_in_turn() {
    let app = App::start().await;
    let ana = app.ana().await;
    let refused = create(&ana, "outer", &["nobody"]).await.expect(422);
    assert_eq!(refused.fields(), ["definition.conditions.all[0].values[0]"]);
    create(&ana, "inner", &[]).await.expect(201);
    create(&ana, "left", &["inner"]).await.expect(201);
    create(&ana, "right", &["inner"]).await.expect(201);
    create(&ana, "outer", &["left", "right"]).await.expect(201);
    let refused = update(&ana, "inner", 1, &["inner"]).await.expect(422);
    assert_eq!(refused.fields(), ["conditions"]);
    let refused = update(&ana, "inner", 1, &["outer"]).await.expect(422);
    assert_eq!(refused.fields(), ["conditions"]);
    let text = refused.body["detail"].as_str().unwrap_or_default();
    assert!(text.contains("inner uses outer, which uses left, which uses inner"), "{text}");
    let refused = update(&ana, "inner", 1, &["left", "nobody"]).await.expect(422);
    assert_eq!(refused.fields(), ["conditions.all[0].values[1]", "conditions"]);
    update(&ana, "inner", 2, &["nobody"]).await.expect(412);
}

#[tokio::test]
async fn sixty_four_segments_can_be_reached_and_no_more_wherever_one_is_added() {
    let app = App::start().await;
    let ana = app.ana().await;
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    ana.post("/projects/shop/flags", boolean("child")).await.expect(201);
    let new = |n: usize| {
        let next = format!("s{:02}", n + 1);
        let conditions = if n < 63 { using(&[&next]) } else { json!({ "all": [] }) };
        let definition = json!({ "key": format!("s{n:02}"), "conditions": conditions });
        Change::CreateSegment { definition: serde_json::from_value(definition).expect("a segment"), name: "S".into() }
    };
    // Each uses the next, made later in the same changeset, but for the last two: s00 and those it reaches are 64.
    app.apply((0..=64).map(new).collect()).await.expect("segments in a chain");
    save(&ana, "staging", 1, &["s00"]).await.expect(200);
    assert_eq!(published(&app).await.len(), 64);
    let refused = save(&ana, "staging", 2, &["s00", "s64"]).await.expect(422);
    assert_eq!(refused.fields(), ["config.rules"]);
    let child = "/projects/shop/flags/child/environments/staging";
    let refused = ana.put(child, 1, json!({ "config": config(&["checkout"], &["s64"]) })).await.expect(422);
    assert_eq!(refused.fields(), ["config.rules"], "what its parent reaches counts too");
    ana.put(child, 1, json!({ "config": config(&["checkout"], &["s63"]) })).await.expect(200);

    let body = json!({ "name": "S", "conditions": using(&["s64"]) });
    let refused = ana.put("/projects/shop/segments/s63", 1, body.clone()).await.expect(422);
    let mut fields = refused.fields();
    fields.sort_unstable();
    assert_eq!(fields, ["flags[checkout].environments.staging.rules", "flags[child].environments.staging.rules"]);
    let messages = refused.body["errors"].to_string();
    assert!(messages.contains("flag 'checkout' in staging: reaches 65 segments"), "{messages}");
    ana.put(child, 2, json!({ "config": config(&[], &[]) })).await.expect(200);
    save(&ana, "staging", 2, &["s01"]).await.expect(200);
    ana.put("/projects/shop/segments/s63", 1, body).await.expect(200);
    assert_eq!(published(&app).await.len(), 64, "s64 came and s00 went");
    let refused = create(&ana, "first", &["s00"]).await.expect(422);
    assert_eq!(refused.fields(), ["definition.conditions"]);
    let refused = update(&ana, "s64", 1, &["first"]).await.expect(422);
    assert_eq!(refused.fields(), ["conditions.all[0].values[0]"]);
}

#[tokio::test]
async fn of_many_flags_that_use_a_segment_the_one_that_it_breaks_is_found() {
    let app = App::start().await;
    let ana = app.ana().await;
    let keys: Vec<String> = (0..64).map(|n| format!("s{n:02}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    for key in &keys {
        create(&ana, key, &[]).await.expect(201);
    }
    create(&ana, "shared", &[]).await.expect(201);
    // More than are read at once, all but the last far from the limit.
    let new = |n: usize| new_flag(&format!("f{n:03}"), "staging", &[], if n < 249 { &["shared"] } else { &keys[..63] });
    app.apply((0..250).map(new).collect()).await.expect("250 flags");
    let last = "/projects/shop/flags/f249/environments/staging";
    let both: Vec<&str> = keys[..63].iter().copied().chain(["shared"]).collect();
    ana.put(last, 1, json!({ "config": config(&[], &both) })).await.expect(200);
    update(&ana, "shared", 1, &["s00"]).await.expect(200);
    let refused = update(&ana, "shared", 2, &["s63"]).await.expect(422);
    assert_eq!(refused.fields(), ["flags[f249].environments.staging.rules"]);
}

#[tokio::test]
async fn who_is_in_a_segment_changes_whatever_those_who_use_it_look_like() {
    let app = App::start().await;
    let ana = app.ana().await;
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    create(&ana, "inner", &[]).await.expect(201);
    create(&ana, "outer", &["inner"]).await.expect(201);
    save(&ana, "staging", 1, &["outer"]).await.expect(200);
    // As after a newer version saved it.
    sqlx::raw_sql("update flag_configs set format = 99").execute(&app.state.pool).await.expect("configs");
    let changed = ana.put("/projects/shop/segments/inner", 1, json!({ "name": "Inner", "included": ["ben"] })).await;
    assert_eq!(changed.expect(200).body["environments"], json!(["staging"]));
}

#[tokio::test]
async fn ten_thousand_keys_are_taken_and_one_more_is_refused() {
    let app = App::start().await;
    let ana = app.ana().await;
    let keys: Vec<String> = (0..10_001).map(|n| format!("u{n}")).collect();
    let names: Vec<&str> = keys.iter().map(String::as_str).collect();
    let refused = ana.post("/projects/shop/segments", staff(&names)).await.expect(422);
    assert_eq!(refused.fields(), ["definition.included"]);
    ana.post("/projects/shop/segments", staff(&names[..10_000])).await.expect(201);
}
