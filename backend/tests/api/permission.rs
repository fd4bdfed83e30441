//! Every route × every role, in the own and in a foreign project. A new route fails until its row exists.

use std::collections::BTreeSet;

use backend::http::router::api;
use reqwest::Method;
use serde_json::{Value, json};

use crate::flag::{boolean, on};
use crate::support::{App, Person};

/// Who may: everybody, everybody signed in, or from this role on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Needs {
    Nothing,
    SignedIn,
    Viewer,
    Editor,
    Approver,
    Admin,
    InstallationAdmin,
}

/// One row per route: method, path, who may, and a body where one is needed to get past the door.
fn table() -> Vec<(&'static str, &'static str, Needs, Option<Value>)> {
    use Needs::{Admin, Approver, Editor, InstallationAdmin, Nothing, SignedIn, Viewer};
    vec![
        ("get", "/setup", Nothing, None),
        ("post", "/setup", Nothing, Some(json!({}))),
        ("get", "/session", SignedIn, None),
        ("post", "/session", Nothing, Some(json!({}))),
        ("delete", "/session", SignedIn, None),
        ("get", "/projects", SignedIn, None),
        ("post", "/projects", InstallationAdmin, Some(json!({}))),
        ("get", "/projects/{project}", Viewer, None),
        ("post", "/projects/{project}/environments", Admin, Some(json!({}))),
        ("get", "/projects/{project}/environments/{environment}/receipt", Viewer, None),
        ("get", "/projects/{project}/flags", Viewer, None),
        ("post", "/projects/{project}/flags", Editor, Some(json!({}))),
        ("get", "/projects/{project}/flags/{flag}", Viewer, None),
        ("patch", "/projects/{project}/flags/{flag}", Editor, Some(json!({}))),
        ("put", "/projects/{project}/flags/{flag}/environments/{environment}", Editor, Some(json!({ "config": on() }))),
        ("post", "/projects/{project}/flags/{flag}/kill", Editor, Some(json!({}))),
        ("post", "/projects/{project}/flags/{flag}/environments/{environment}/restore", Editor, Some(json!({}))),
        ("get", "/projects/{project}/changesets", Viewer, None),
        ("post", "/projects/{project}/changesets", Editor, Some(json!({}))),
        ("post", "/projects/{project}/changesets/dry-run", Editor, Some(json!({}))),
        ("get", "/projects/{project}/changesets/{changeset}", Viewer, None),
        ("put", "/projects/{project}/changesets/{changeset}", Editor, Some(json!({}))),
        ("post", "/projects/{project}/changesets/{changeset}/submit", Editor, Some(json!({}))),
        ("post", "/projects/{project}/changesets/{changeset}/approve", Approver, Some(json!({}))),
        ("post", "/projects/{project}/changesets/{changeset}/reject", Approver, Some(json!({}))),
        ("post", "/projects/{project}/changesets/{changeset}/cancel", Viewer, Some(json!({}))),
        ("post", "/projects/{project}/changesets/{changeset}/apply", Editor, Some(json!({}))),
        ("post", "/projects/{project}/changesets/{changeset}/break-glass", Admin, Some(json!({}))),
        ("post", "/projects/{project}/changesets/{changeset}/comments", Viewer, Some(json!({}))),
        ("get", "/projects/{project}/flags/{flag}/shares", Viewer, None),
        ("get", "/projects/{project}/counts", Viewer, None),
        ("get", "/projects/{project}/counts/summary", Viewer, None),
        ("get", "/projects/{project}/counts/flags", Viewer, None),
        ("get", "/projects/{project}/counts/errors", Viewer, None),
        ("get", "/projects/{project}/counts/unknown", Viewer, None),
        ("get", "/projects/{project}/stale-flags", Viewer, None),
        ("get", "/projects/{project}/flags/{flag}/usage", Viewer, None),
        ("get", "/projects/{project}/flags/{flag}/experiment", Viewer, None),
        ("get", "/projects/{project}/metrics", Viewer, None),
        ("post", "/projects/{project}/metrics", Editor, Some(json!({}))),
        ("patch", "/projects/{project}/metrics/{metric}", Editor, Some(json!({}))),
        ("delete", "/projects/{project}/metrics/{metric}", Editor, None),
        ("get", "/counts/losses", SignedIn, None),
        ("get", "/projects/{project}/segments", Viewer, None),
        ("post", "/projects/{project}/segments", Editor, Some(json!({}))),
        ("get", "/projects/{project}/segments/{segment}", Viewer, None),
        ("put", "/projects/{project}/segments/{segment}", Editor, Some(json!({}))),
        ("delete", "/projects/{project}/segments/{segment}", Editor, None),
        ("get", "/projects/{project}/freezes", Viewer, None),
        ("post", "/projects/{project}/freezes", Admin, Some(json!({}))),
        ("put", "/projects/{project}/freezes/{freeze}", Admin, Some(json!({}))),
        ("delete", "/projects/{project}/freezes/{freeze}", Admin, None),
        ("get", "/projects/{project}/plans", Viewer, None),
        ("post", "/projects/{project}/plans", Editor, Some(json!({}))),
        ("get", "/projects/{project}/plans/{changeset}", Viewer, None),
        ("post", "/projects/{project}/changesets/{changeset}/pause", Editor, Some(json!({}))),
        ("post", "/projects/{project}/changesets/{changeset}/resume", Editor, Some(json!({}))),
        ("post", "/projects/{project}/changesets/{changeset}/next", Editor, Some(json!({}))),
        ("post", "/projects/{project}/changesets/{changeset}/stop", Editor, Some(json!({}))),
        ("get", "/projects/{project}/keys", Viewer, None),
        ("post", "/projects/{project}/keys", Admin, Some(json!({}))),
        ("post", "/projects/{project}/keys/{key}/revoke", Admin, Some(json!({}))),
        ("get", "/edges", SignedIn, None),
        ("delete", "/edges/{process}", InstallationAdmin, None),
        ("get", "/edges/{process}/history", SignedIn, None),
        ("get", "/events", SignedIn, None),
    ]
}

#[test]
fn every_route_has_its_row() {
    let described: Value = serde_json::to_value(api().into_openapi()).expect("JSON");
    let mut routes = BTreeSet::new();
    for (path, methods) in described["paths"].as_object().expect("paths") {
        for method in methods.as_object().expect("methods").keys() {
            routes.insert(format!("{method} {}", path.trim_start_matches("/api/v1")));
        }
    }
    let rows: BTreeSet<String> = table().iter().map(|(method, path, _, _)| format!("{method} {path}")).collect();
    assert_eq!(routes, rows);
}

#[tokio::test]
async fn every_role_may_what_the_table_says_and_nothing_else() {
    let app = App::start().await;
    let ana = app.ana().await;
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    let people: Vec<(Option<Needs>, Person)> = vec![
        (Some(Needs::Nothing), app.nobody()),
        (Some(Needs::SignedIn), app.member("Sam", None).await),
        (Some(Needs::Viewer), app.member("Vic", Some("viewer")).await),
        (Some(Needs::Editor), app.member("Eve", Some("editor")).await),
        (Some(Needs::Approver), app.member("Abe", Some("approver")).await),
        (Some(Needs::Admin), app.member("Ada", Some("admin")).await),
        (Some(Needs::InstallationAdmin), ana),
    ];
    for (method, path, needs, body) in table() {
        // These two end or never end what the next rows need.
        if (method, path) == ("delete", "/session") || path == "/events" {
            continue;
        }
        for (has, person) in &people {
            let has = has.expect("a role");
            let path = path
                .replace("{project}", "shop")
                .replace("{flag}", "checkout")
                .replace("{environment}", "production")
                .replace("{segment}", "none")
                .replace("{freeze}", "00000000-0000-0000-0000-000000000000")
                .replace("{changeset}", "00000000-0000-0000-0000-000000000000")
                .replace("{metric}", "00000000-0000-0000-0000-000000000000")
                .replace("{key}", "00000000-0000-0000-0000-000000000000")
                .replace("{process}", "00000000-0000-0000-0000-000000000000");
            let verb: Method = method.to_uppercase().parse().expect("a method");
            let headers: &[(&str, &str)] =
                if method == "put" || method == "patch" { &[("if-match", "\"999\"")] } else { &[] };
            let answer = person.send(verb, &path, body.clone(), headers).await;
            let in_project = path.starts_with("/projects/");
            let expected = match has {
                _ if has >= needs => "past the door",
                Needs::Nothing => "signed_out",
                Needs::SignedIn if in_project => "not_found",
                _ => "forbidden",
            };
            let code = answer.code();
            let is_refused = matches!(code, "signed_out" | "forbidden")
                || (code == "not_found" && answer.body["detail"] == "project 'shop' does not exist");
            let got = if is_refused { code } else { "past the door" };
            assert_eq!(got, expected, "{method} {path} as {has:?}: {} {}", answer.status, answer.body);
        }
    }
}

#[tokio::test]
async fn a_foreign_project_does_not_exist_and_is_not_listed() {
    let app = App::start().await;
    app.ana().await;
    let sam = app.member("Sam", None).await;
    assert_eq!(sam.get("/projects").await.expect(200).body["items"], json!([]));
    let foreign = sam.get("/projects/shop").await.expect(404).body;
    let absent = sam.get("/projects/shoq").await.expect(404).body;
    assert_eq!(foreign["code"], absent["code"]);
}
