//! What a flag needs and what needs it, as one answer.

use serde_json::{Value, json};
use shared::evaluation::{Context, Query, State, evaluate};
use shared::model::sdk_key::SdkKeyKind;

use crate::flag::boolean;
use crate::reference::{config, new_flag, using};
use crate::support::App;

/// A tree of flags in brackets: `a(b(d) c)`.
fn shape(flag: &Value) -> String {
    let below: Vec<String> = flag["flags"].as_array().expect("flags").iter().map(shape).collect();
    let key = flag["flag"].as_str().expect("a key");
    if below.is_empty() { key.to_owned() } else { format!("{key}({})", below.join(" ")) }
}

#[tokio::test]
async fn a_flag_stands_among_what_it_needs_and_what_needs_it_each_with_its_answer() {
    let app = App::start().await;
    let ana = app.ana().await;
    let segment = |key: &str, uses: &[&str]| {
        let conditions = if uses.is_empty() { json!({ "all": [] }) } else { using(uses) };
        json!({ "definition": { "key": key, "conditions": conditions }, "name": key })
    };
    ana.post("/projects/shop/segments", segment("inner", &[])).await.expect(201);
    ana.post("/projects/shop/segments", segment("outer", &["inner"])).await.expect(201);
    let flags = [
        new_flag("d", "staging", &[], &["outer"]),
        new_flag("b", "staging", &["d"], &[]),
        new_flag("c", "staging", &["d"], &[]),
        new_flag("a", "staging", &["b", "c"], &[]),
        new_flag("top", "staging", &["a", "d"], &[]),
    ];
    app.apply(flags.into()).await.expect("five flags");
    ana.post("/projects/shop/flags/c/kill", json!({ "environments": ["staging"], "reason": "x" })).await.expect(200);

    let graph = ana.get("/projects/shop/flags/a/prerequisites?environment=staging").await.expect(200).body;
    assert_eq!(shape(&graph["needs"]), "a(b(d) c)", "d once, though c needs it, too");
    let c = &graph["needs"]["flags"][1];
    assert_eq!((&c["answer"], &c["shape"]), (&json!("Killed. Everyone gets off (false)."), &json!("killed")));
    assert_eq!(c["prerequisites"], json!([{ "flag": "d", "variants": ["on"] }]));
    let d = &graph["needs"]["flags"][0]["flags"][0];
    assert_eq!(d["answer"], "On. 1 rule first, everyone else gets off (false).");
    assert_eq!((shape(&graph["needed_by"][0]), &graph["needed_by_total"]), ("top".into(), &json!(1)));
    let reached: Vec<&str> =
        graph["segments"].as_array().expect("segments").iter().filter_map(|s| s["segment"].as_str()).collect();
    assert_eq!(reached, ["inner", "outer"]);
    let outer = &graph["segments"][1];
    assert_eq!((&outer["flags"], &outer["used_by"]), (&json!(1), &json!(["d"])));
    assert_eq!(graph["segments"][0]["used_by_segments"], json!(["outer"]));

    let graph = ana.get("/projects/shop/flags/d/prerequisites?environment=staging").await.expect(200).body;
    let below: Vec<String> = graph["needed_by"].as_array().expect("flags").iter().map(shape).collect();
    assert_eq!((below, &graph["needed_by_total"]), (vec!["b(a)".into(), "c".into(), "top".into()], &json!(4)));
    ana.get("/projects/shop/flags/d/prerequisites?environment=production").await.expect(404);
    ana.get("/projects/shop/flags/d/prerequisites?environment=nowhere").await.expect(404);
    ana.get("/projects/shop/flags/none/prerequisites?environment=staging").await.expect(404);
    ana.get("/projects/shop/flags/d/prerequisites").await.expect(400);
}

#[tokio::test]
async fn of_many_that_need_a_flag_sixty_four_are_named_and_all_are_counted() {
    let app = App::start().await;
    let ana = app.ana().await;
    let mut flags = vec![new_flag("base", "staging", &[], &[])];
    flags.extend((0..100).map(|n| new_flag(&format!("f{n:03}"), "staging", &["base"], &[])));
    app.apply(flags).await.expect("101 flags");
    let graph = ana.get("/projects/shop/flags/base/prerequisites?environment=staging").await.expect(200).body;
    assert_eq!(graph["needed_by"].as_array().map(Vec::len), Some(64));
    assert_eq!((&graph["needed_by_total"], &graph["needed_by"][63]["flag"]), (&json!(100), &json!("f063")));
}

#[tokio::test]
async fn two_rules_may_need_the_same_flag_and_its_change_alone_changes_who_needs_it() {
    let app = App::start().await;
    let ana = app.ana().await;
    for flag in ["parent", "child"] {
        ana.post("/projects/shop/flags", boolean(flag)).await.expect(201);
    }
    ana.post("/projects/shop/segments", json!({ "definition": { "key": "s", "included": ["u"] }, "name": "S" }))
        .await
        .expect(201);
    let place = |flag: &str| format!("/projects/shop/flags/{flag}/environments/staging");
    ana.put(&place("child"), 1, json!({ "config": config(&["parent"], &["s", "s"]) })).await.expect(200);
    let said = async || {
        let state = State::compile(&app.published("staging").await);
        let context: Context<'_> = serde_json::from_str(r#"{"targetingKey":"u"}"#).expect("a context");
        let query = Query { context: &context, now_ms: 0, asker: SdkKeyKind::Server };
        evaluate(&state, "child", &query).variant.map(str::to_owned)
    };
    assert_eq!(said().await.as_deref(), Some("off"), "the parent is off");
    let on = json!({ "enabled": true, "off_variant": "off", "default_serve": { "variant": "on" } });
    let saved = ana.put(&place("parent"), 1, json!({ "config": on })).await.expect(200).body;
    assert_eq!((&saved["environments"], said().await.as_deref()), (&json!(["staging"]), Some("on")));
}
