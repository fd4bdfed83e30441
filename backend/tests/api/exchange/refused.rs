//! Files that are refused, whole and with the place of what is wrong.

use serde_json::{Value, json};

use super::{export, file, flag, import, plan};
use crate::flag::{boolean, on};
use crate::reference::{config, using};
use crate::support::{App, new_id};

/// What is done to a good file, and where it is wrong then.
type Wrong = (fn(&mut Value), &'static str);

fn wrong(change: fn(&mut Value), place: &'static str) -> Wrong {
    (change, place)
}

/// Everything that can be wrong with the good file below.
fn wrongs() -> Vec<Wrong> {
    vec![
        wrong(|file| file["kind"] = json!("fluxgate-bundle"), "kind"),
        wrong(|file| file["format"] = json!(2), "format"),
        wrong(|file| file["flags"][1]["definition"]["key"] = json!("a b"), "flags[1].definition.key"),
        wrong(|file| file["flags"][1]["definition"]["key"] = json!("a"), "flags[1].definition.key"),
        wrong(|file| file["flags"][0]["news"] = json!(1), "flags[0].news"),
        wrong(|file| file["flags"][0]["name"] = json!(" "), "flags[0].name"),
        wrong(|file| file["flags"][0]["tags"] = json!(["x", "x"]), "flags[0].tags[1]"),
        wrong(|file| file["flags"][0]["lifetime"] = json!({ "days": 0 }), "flags[0].lifetime"),
        wrong(|file| file["flags"][0]["definition"]["variants"] = json!([]), "flags[0].definition.variants"),
        wrong(|file| file["flags"][0]["environments"]["qa"] = on(), "flags[0].environments.qa"),
        wrong(
            |file| file["flags"][1]["environments"]["production"]["rules"][0]["serve"] = json!({ "variant": "blue" }),
            "flags[1].environments.production.rules[0].serve.variant",
        ),
        wrong(
            |file| file["flags"][1]["environments"]["production"]["rules"][0]["conditions"] = using(&["nobody"]),
            "flags[1].environments.production.rules[0].conditions.all[0].values[0]",
        ),
        wrong(
            |file| file["flags"][0]["environments"]["production"] = config(&["b"], &[]),
            "flags[0].environments.production.prerequisites[0].flag",
        ),
        wrong(
            |file| file["flags"][0]["environments"]["staging"] = config(&["gone"], &[]),
            "flags[0].environments.staging.prerequisites[0].flag",
        ),
        wrong(
            |file| file["segments"][0]["definition"]["conditions"] = using(&["vip"]),
            "segments[0].definition.conditions",
        ),
        wrong(
            |file| file["segments"][0]["definition"]["included"] = json!(["a\u{0}"]),
            "segments[0].definition.included[0]",
        ),
        wrong(
            |file| {
                let keys: Vec<String> = (0..10_001).map(|n| format!("u-{n}")).collect();
                file["segments"][0]["definition"]["included"] = json!(keys);
            },
            "segments[0].definition.included",
        ),
        wrong(|file| file["segments"][1]["name"] = json!(""), "segments[1].name"),
        wrong(|file| file["environments"][1]["hue"] = json!(9), "environments[1].hue"),
        wrong(|file| file["environments"][1]["key"] = json!("development"), "environments[1].key"),
        wrong(|file| file["attributes"] = json!([{ "name": "$x", "type": "text" }]), "attributes[0].name"),
        wrong(
            |file| file["metrics"] = json!([{ "name": "", "event": "buy", "kind": "conversion" }]),
            "metrics[0].name",
        ),
    ]
}

#[tokio::test]
async fn what_is_wrong_is_told_with_its_place_and_nothing_is_written() {
    let app = App::start().await;
    let ana = app.ana().await;
    let vip = json!({ "definition": { "key": "vip", "conditions": using(&["staff"]) }, "name": "Vip" });
    let staff = json!({ "definition": { "key": "staff", "included": ["ana"] }, "name": "Staff" });
    let flags =
        json!(
            [flag("a", json!({ "production": on() })), flag("b", json!({ "production": config(&["a"], &["vip"]) })),]
        );
    let good = file(flags, json!([staff, vip]));
    plan(&ana, &good, false).await.expect(200);
    let before = app.revision().await;
    for (wrong, place) in wrongs() {
        let mut file = good.clone();
        wrong(&mut file);
        let refused = plan(&ana, &file, false).await;
        assert_eq!(refused.status, 422, "{place}: {}", refused.body);
        assert_eq!(refused.fields().first(), Some(&place), "{}", refused.body);
        let body = json!({ "file": file, "digest": "" });
        let refused = ana.post("/projects/shop/import", body).await.expect(422);
        assert_eq!(refused.fields().first(), Some(&place), "{}", refused.body);
    }
    assert_eq!(app.revision().await, before);
    ana.get("/projects/shop/segments/staff").await.expect(404);
}

#[tokio::test]
async fn what_the_project_is_already_can_be_wrong_for_a_file() {
    let app = App::start().await;
    let ana = app.ana().await;
    for key in ["a", "old"] {
        ana.post("/projects/shop/flags", boolean(key)).await.expect(201);
    }
    let archived = json!({ "kind": "archive_flag", "flag": "old", "version": 1 });
    app.apply(vec![serde_json::from_value(archived).expect("a change")]).await.expect("archived");
    let refused = plan(&ana, &file(json!([flag("old", json!({}))]), json!([])), false).await.expect(422);
    assert_eq!(refused.fields(), ["flags[0].definition.key"]);
    let mut text = flag("a", json!({}));
    text["definition"]["value_type"] = json!("string");
    let refused = plan(&ana, &file(json!([text]), json!([])), false).await.expect(422);
    assert_eq!(refused.fields(), ["flags[0].definition.value_type"]);
    // Who stays needs a flag that would go.
    let mut child = export(&ana).await;
    child["flags"] = json!([flag("b", json!({ "staging": config(&["a"], &[]) }))]);
    plan(&ana, &child, false).await.expect(200);
    let refused = plan(&ana, &child, true).await.expect(422);
    assert_eq!(refused.fields(), ["flags[0].environments.staging.prerequisites[0].flag"]);
}

#[tokio::test]
async fn a_plan_that_is_no_more_what_would_be_done_is_not_applied() {
    let app = App::start().await;
    let ana = app.ana().await;
    let new = file(json!([flag("a", json!({ "staging": on() }))]), json!([]));
    let planned = plan(&ana, &new, false).await.expect(200).body;
    let mut other = new.clone();
    other["flags"][0]["name"] = json!("Another");
    let digest = &planned["digest"];
    let refused = ana.post("/projects/shop/import", json!({ "file": other, "digest": digest })).await.expect(412);
    assert_eq!(refused.code(), "plan_changed");
    let body = json!({ "file": new, "digest": digest });
    ana.post("/projects/shop/import", body.clone()).await.expect(200);
    assert_eq!(ana.post("/projects/shop/import", body).await.expect(412).code(), "plan_changed");
}

#[tokio::test]
async fn who_may_not_change_an_environment_imports_nothing_for_it() {
    let app = App::start().await;
    let ana = app.ana().await;
    let eve = app.member("Eve", Some("editor")).await;
    sqlx::query(
        "insert into member_environments (project_id, user_id, environment_id, role)
         select environments.project_id, users.id, environments.id, 'viewer' from environments, users
         where environments.key = 'production' and users.name = 'Eve'",
    )
    .execute(&app.state.pool)
    .await
    .expect("a role");
    let before = app.revision().await;
    let new = file(json!([flag("a", json!({ "staging": on(), "production": on() }))]), json!([]));
    let refused = import(&eve, &new, false).await.expect(403);
    assert!(refused.body["detail"].as_str().is_some_and(|text| text.contains("edit in production")));
    let mut wider = file(json!([flag("a", json!({ "staging": on() }))]), json!([]));
    let qa = json!({ "key": "qa", "name": "QA", "hue": 4 });
    wider["environments"].as_array_mut().expect("environments").push(qa);
    import(&eve, &wider, false).await.expect(403);
    assert_eq!(app.revision().await, before);
    import(&eve, &file(json!([flag("a", json!({ "staging": on() }))]), json!([])), false).await.expect(200);
    import(&ana, &wider, false).await.expect(200);
    assert_eq!(export(&ana).await["environments"][3]["key"], "qa");
}

#[tokio::test]
async fn large_files_are_refused_by_their_size_and_only_two_at_once_are_read() {
    let app = App::start().await;
    let ana = app.ana().await;
    let body = vec![b' '; 64 * 1024 * 1024 + 1];
    let refused = ana.post_bytes("/projects/shop/import/plan", body).await.expect(413);
    assert!(refused.body["detail"].as_str().is_some_and(|text| text.contains("67108864 bytes")));
    // More than other routes take is taken here.
    let mut keys = file(json!([]), json!([]));
    let included: Vec<String> = (0..9_000).map(|n| format!("{n:0>40}")).collect();
    let segment =
        |n: usize| json!({ "definition": { "key": format!("s{n}"), "included": included }, "name": new_id() });
    keys["segments"] = (0..8).map(segment).collect();
    assert!(keys.to_string().len() > 2 * 1024 * 1024);
    plan(&ana, &keys, false).await.expect(200);

    let held = app.state.exchanges.clone().acquire_many_owned(2).await.expect("two permits");
    for busy in [plan(&ana, &keys, false).await, ana.get("/projects/shop/export").await] {
        let busy = busy.expect(429);
        assert_eq!((busy.code(), busy.headers["retry-after"].to_str().ok()), ("busy", Some("5")));
    }
    drop(held);
    ana.get("/projects/shop/export").await.expect(200);
}
