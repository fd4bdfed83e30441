//! What an import does: in slices, in an order that never breaks anything, and with the approvals that are needed.

use serde_json::{Value, json};

use super::{counts, export, file, flag, import, plan, protect_production};
use crate::flag::on;
use crate::reference::{config, using};
use crate::support::App;

fn theme(variants: &[&str], served: &str) -> Value {
    let variants: Vec<Value> = variants.iter().map(|key| json!({ "key": key, "value": key })).collect();
    json!({
        "definition": { "key": "theme", "value_type": "string", "kind": "release", "client_visible": false,
                        "variants": variants },
        "name": "Theme",
        "environments": { "staging": { "enabled": true, "default_serve": { "variant": served } } },
    })
}

#[tokio::test]
async fn more_than_a_thousand_changes_are_numbered_slices_one_after_another() {
    let app = App::start().await;
    let ana = app.ana().await;
    let mut flags: Vec<Value> =
        (0..1_099).map(|n| flag(&format!("f{n:04}"), json!({ "staging": config(&[], &["staff"]) }))).collect();
    // The last flag by key is needed by the first.
    flags[0]["environments"]["staging"] = config(&["f1098"], &["staff"]);
    let staff = json!({ "definition": { "key": "staff", "included": ["ana"] }, "name": "Staff" });
    let new = file(json!(flags), json!([staff]));
    let planned = plan(&ana, &new, false).await.expect(200).body;
    // One segment, 1,099 flags, and the config that needs another flag.
    assert_eq!((counts(&planned), &planned["slices"], &planned["is_cut"]), ([1_100, 0, 0, 3], &json!(2), &json!(true)));
    let before = app.revision().await;
    let done = import(&ana, &new, false).await.expect(200).body;
    let revisions: Vec<u64> =
        done["changesets"].as_array().expect("slices").iter().filter_map(|c| c["revision"].as_u64()).collect();
    assert_eq!(revisions, [before + 1, before + 2]);
    let sentence = format!("applied in 2 changesets, r{} to r{}", before + 1, before + 2);
    assert_eq!((&done["sentence"], &done["remaining"]), (&json!(sentence), &json!(0)));
    let notes: Vec<String> = sqlx::query_scalar("select note from changesets order by revision desc limit 2")
        .fetch_all(&app.state.pool)
        .await
        .expect("changesets");
    assert_eq!(notes, ["From elsewhere", "From elsewhere"]);
    assert_eq!(plan(&ana, &export(&ana).await, true).await.expect(200).body["items"], json!([]));
}

#[tokio::test]
async fn prerequisites_and_segments_may_turn_around_and_variants_may_come_and_go() {
    let app = App::start().await;
    let ana = app.ana().await;
    let segment = |key: &str, uses: &[&str]| {
        let conditions = if uses.is_empty() { json!({ "all": [] }) } else { using(uses) };
        json!({ "definition": { "key": key, "conditions": conditions }, "name": key })
    };
    let needing = |key: &str, parents: &[&str]| flag(key, json!({ "staging": config(parents, &[]) }));
    let flags = json!([needing("a", &["b"]), needing("b", &[]), theme(&["blue", "red"], "red")]);
    let first = file(flags, json!([segment("x", &["y"]), segment("y", &[])]));
    import(&ana, &first, false).await.expect(200);
    let flags = json!([needing("a", &[]), needing("b", &["a"]), theme(&["green", "blue"], "green")]);
    let turned = file(flags, json!([segment("x", &[]), segment("y", &["x"])]));
    let planned = plan(&ana, &turned, false).await.expect(200).body;
    let items = planned["items"].as_array().expect("items");
    let told = |key: &str| items.iter().find(|item| item["key"] == key).expect("an item")["changes"].clone();
    assert_eq!(told("b"), json!(["staging: ~ Prerequisites: none → a answers on"]));
    let changes = json!(["− Variant red (red)", "+ Variant green (green)", "staging: ~ Default: red → green"]);
    assert_eq!(told("theme"), changes);
    let done = import(&ana, &turned, false).await.expect(200).body;
    assert_eq!(done["problem"], Value::Null);
    assert_eq!(export(&ana).await["flags"][2]["definition"]["variants"][0]["key"], "green");
    assert_eq!(plan(&ana, &turned, true).await.expect(200).body["items"], json!([]));
}

#[tokio::test]
async fn what_touches_a_protected_environment_waits_and_the_rest_does_not() {
    let app = App::start().await;
    let ana = app.ana().await;
    let staff = json!({ "definition": { "key": "staff", "included": ["ana"] }, "name": "Staff" });
    let old = file(json!([flag("old", json!({ "production": config(&[], &["staff"]) }))]), json!([staff]));
    import(&ana, &old, false).await.expect(200);
    protect_production(&app).await;
    let held = app.published("production").await;

    let more = json!({ "definition": { "key": "staff", "included": ["ana", "ben"] }, "name": "Staff" });
    let flags = json!([
        flag("old", json!({ "production": config(&[], &["staff"]), "staging": on() })),
        flag("new", json!({ "staging": on(), "production": on() })),
    ]);
    let mut wanted = file(flags, json!([more]));
    wanted["flags"][0]["name"] = json!("Old but known");
    wanted["attributes"] = json!([{ "name": "plan", "type": "text" }]);
    let planned = plan(&ana, &wanted, false).await.expect(200).body;
    assert_eq!((&planned["waits"], &planned["slices"]), (&json!(["production"]), &json!(2)));
    assert_eq!(planned["notes"], json!(["production stays protected as it is here; an import changes no policy"]));
    let done = import(&ana, &wanted, false).await.expect(200).body;
    let states: Vec<(&str, &Value)> = done["changesets"]
        .as_array()
        .expect("changesets")
        .iter()
        .map(|changeset| (changeset["state"].as_str().expect("a state"), &changeset["environments"]))
        .collect();
    assert_eq!(states, [("applied", &json!(["staging"])), ("in_review", &json!(["production"]))]);
    assert!(done["sentence"].as_str().is_some_and(|text| text.ends_with("; 1 changeset waits for others to agree")));
    assert_eq!(app.published("production").await, held, "nothing in production changed");
    let now = export(&ana).await;
    assert_eq!((&now["flags"][1]["name"], &now["attributes"][0]["name"]), (&json!("Old but known"), &json!("plan")));
    assert_eq!(now["environments"][2]["protection"]["approvals"], 1);
    // What waits is all that is left of it.
    let rest = plan(&ana, &wanted, false).await.expect(200).body;
    assert_eq!((counts(&rest), &rest["slices"]), ([0, 3, 0, 4], &json!(1)));
}

#[tokio::test]
async fn what_the_file_does_not_hold_stays_unless_it_is_to_go() {
    let app = App::start().await;
    let ana = app.ana().await;
    let segment = |key: &str, uses: &[&str]| {
        let conditions = if uses.is_empty() { json!({ "all": [] }) } else { using(uses) };
        json!({ "definition": { "key": key, "conditions": conditions }, "name": key })
    };
    let flags = json!([
        flag("child", json!({ "staging": config(&["parent"], &["outer"]) })),
        flag("kept", json!({ "staging": on() })),
        flag("parent", json!({ "staging": on() })),
    ]);
    let mut all = file(flags, json!([segment("inner", &[]), segment("outer", &["inner"])]));
    all["attributes"] = json!([{ "name": "plan", "type": "text" }]);
    all["metrics"] = json!([{ "name": "Sales", "event": "buy", "kind": "conversion" }]);
    import(&ana, &all, false).await.expect(200);
    let few = file(json!([flag("kept", json!({}))]), json!([]));
    let stays = plan(&ana, &few, false).await.expect(200).body;
    assert_eq!((counts(&stays), &stays["slices"]), ([0, 0, 0, 4], &json!(0)));
    let notes = json!([
        "kept has a config in staging that the file does not hold; it stays",
        "2 flags are not in the file and stay",
        "2 segments are not in the file and stay",
    ]);
    assert_eq!(stays["notes"], notes);

    let goes = plan(&ana, &few, true).await.expect(200).body;
    assert_eq!((counts(&goes), &goes["slices"]), ([0, 0, 6, 4], &json!(1)));
    let done = import(&ana, &few, true).await.expect(200).body;
    assert_eq!(done["problem"], Value::Null);
    let now = export(&ana).await;
    let left: Vec<usize> = ["flags", "segments", "attributes", "metrics"]
        .iter()
        .map(|part| now[part].as_array().expect("a list").len())
        .collect();
    assert_eq!(left, [1, 0, 0, 0]);
    assert_eq!(app.answers("staging", "child", 1).await, ["FLAG_NOT_FOUND"]);
    let audited: i64 = sqlx::query_scalar("select count(*) from audit_events where kind = 'project.imported'")
        .fetch_one(&app.state.pool)
        .await
        .expect("events");
    assert_eq!(audited, 2);
}
