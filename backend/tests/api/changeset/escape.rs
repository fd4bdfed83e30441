//! Nothing gets into a protected environment past those who have to agree, checked in what edges hold.

use serde_json::{Value, json};

use super::{CHANGESETS, Shop, approved, ask, request, turn_on};
use crate::flag::{boolean, on};

/// Every write that there is, as an editor would send it; new ones belong here.
fn writes() -> Vec<(&'static str, String, Value)> {
    let shop = |path: &str| format!("/projects/shop{path}");
    let staff = json!({ "definition": { "key": "staff-2", "included": ["x"] }, "name": "Staff" });
    let off = json!([{ "key": "on", "value": "true" }, { "key": "off", "value": "false" }]);
    let change = |change: Value| json!({ "changes": [change] });
    let needs = json!({ "kind": "save_config", "flag": "checkout", "environment": "production", "version": 1,
        "config": { "enabled": true, "off_variant": "off", "default_serve": { "variant": "on" },
                    "prerequisites": [{ "flag": "parent", "variants": ["on"] }] } });
    vec![
        ("put", shop("/flags/checkout/environments/production"), json!({ "config": on() })),
        ("patch", shop("/flags/checkout"), json!({ "kind": "operational", "client_visible": true })),
        ("patch", shop("/flags/theme"), json!({ "variants": [{ "key": "a", "value": "changed" }] })),
        ("patch", shop("/flags/checkout"), json!({ "variants": off, "name": "only a name" })),
        ("post", shop("/flags"), {
            let mut new = boolean("brand-new");
            new["start"] = json!({ "production": { "enabled": true } });
            new
        }),
        ("put", shop("/segments/staff"), json!({ "name": "Staff", "included": ["everybody"] })),
        ("delete", shop("/segments/staff"), json!({})),
        ("post", shop("/segments"), staff),
        ("post", CHANGESETS.to_owned(), change(turn_on("production", 1))),
        ("post", CHANGESETS.to_owned(), json!({ "changes": [turn_on("staging", 1), turn_on("production", 1)] })),
        ("post", CHANGESETS.to_owned(), change(needs)),
        ("post", CHANGESETS.to_owned(), json!({ "changes": [turn_on("production", 1)], "break_glass": "because" })),
        ("post", CHANGESETS.to_owned(), json!({ "changes": [turn_on("production", 1)], "draft": true })),
        ("post", format!("{CHANGESETS}/dry-run"), change(turn_on("production", 1))),
        ("post", shop("/keys"), json!({ "environment": "production", "name": "mine", "kind": "server" })),
        ("post", shop("/environments"), json!({ "key": "more", "name": "More" })),
    ]
}

#[tokio::test]
async fn no_write_of_an_editor_changes_production_without_approval() {
    let shop = Shop::start().await;
    prepare(&shop).await;
    // An editor of the project, and one of staging alone.
    let sid = shop.app.member("Sid", Some("viewer")).await;
    shop.execute(
        "insert into member_environments (project_id, user_id, environment_id, role)
         select members.project_id, members.user_id, environments.id, 'editor' from members
         join users on users.id = members.user_id and users.name = 'Sid'
         join environments on environments.project_id = members.project_id and environments.key = 'staging'",
    )
    .await;
    let before = shop.state_of("production").await;
    assert!(before.len() >= 4, "flags and a segment are there: {before:?}");
    for (name, person) in [("Eve", &shop.eve), ("Sid", &sid)] {
        for (method, path, body) in writes() {
            let verb = method.to_uppercase().parse().expect("a method");
            let answer = person.send(verb, &path, Some(body.clone()), &[("if-match", "\"1\"")]).await;
            assert!(answer.status < 500, "{name}: {method} {path}: {}", answer.body);
            assert_eq!(shop.state_of("production").await, before, "{name}: {method} {path} {body}");
        }
    }
    // Sid may not even ask for production.
    assert_eq!(ask(&sid, vec![turn_on("production", 1)]).await.expect(403).code(), "forbidden");
}

/// A flag that production uses, and a segment that it reaches there.
async fn prepare(shop: &Shop) {
    shop.ana.post("/projects/shop/flags", boolean("parent")).await.expect(201);
    let theme = json!({ "definition": { "key": "theme", "value_type": "string", "kind": "release", "client_visible": true,
                                        "variants": [{ "key": "a", "value": "first" }] }, "name": "Theme" });
    let made = shop.ana.post("/projects/shop/flags", theme).await.expect(201).body;
    let requested = made["requested"]["id"].as_str().expect("production waits");
    assert_eq!(approved(&shop.ben, &format!("{CHANGESETS}/{requested}")).await["state"], "applied");
    let staff = json!({ "definition": { "key": "staff", "included": ["ana"] }, "name": "Staff" });
    shop.ana.post("/projects/shop/segments", staff).await.expect(201);
    let rule = json!({ "id": crate::support::new_id(), "serve": { "variant": "a" },
                       "conditions": { "all": [{ "operator": "in_segment", "values": ["staff"] }] } });
    let config = json!({ "enabled": true, "default_serve": { "variant": "a" }, "rules": [rule] });
    let used =
        json!({ "kind": "save_config", "flag": "theme", "environment": "production", "version": 1, "config": config });
    let path = request(&shop.ana, vec![used]).await;
    assert_eq!(approved(&shop.ben, &path).await["state"], "applied");
}

#[tokio::test]
async fn what_production_reaches_through_a_segment_or_a_variant_waits_as_a_whole() {
    let shop = Shop::start().await;
    prepare(&shop).await;
    let before = shop.state_of("production").await;
    let segment =
        shop.eve.put("/projects/shop/segments/staff", 1, json!({ "name": "Staff", "included": ["all"] })).await;
    assert_eq!(segment.expect(200).body["state"], "in_review");
    let variant = json!({ "variants": [{ "key": "a", "value": "changed" }] });
    let variant = shop.eve.patch("/projects/shop/flags/theme", 1, variant).await.expect(200).body;
    assert_eq!(
        (&variant["state"], &variant["environments"]),
        (&json!("in_review"), &json!(["development", "staging", "production"]))
    );
    assert_eq!(shop.state_of("production").await, before);
    let path = format!("{CHANGESETS}/{}", variant["id"].as_str().expect("an id"));
    let seen = shop.ben.get(&path).await.expect(200).body;
    let states: Vec<&Value> =
        seen["policies"].as_array().expect("policies").iter().map(|p| &p["is_protected"]).collect();
    assert_eq!(states, [&json!(false), &json!(false), &json!(true)]);
    assert_eq!(approved(&shop.ben, &path).await["state"], "applied");
    assert_ne!(shop.state_of("production").await, before);
}

#[tokio::test]
async fn a_kill_asks_nobody() {
    let shop = Shop::start().await;
    let before = shop.state_of("production").await;
    let body = json!({ "environments": ["production"], "reason": "payments fail" });
    shop.eve.post("/projects/shop/flags/checkout/kill", body).await.expect(200);
    assert_ne!(shop.state_of("production").await, before);
}
