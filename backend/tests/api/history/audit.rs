//! The audit log: changesets and everything else, together.

use backend::store;
use backend::store::audit::NewEvent;
use serde_json::{Value, json};
use shared::model::changeset::Via;
use time::Duration;

use crate::history::{off, save, told};
use crate::support::{App, Person};

/// Writes an event down, as whatever part of the product would.
pub(super) async fn event(app: &App, kind: &'static str, subject: &str, in_project: bool) {
    let project = if in_project { Some(app.project().await) } else { None };
    let event = NewEvent {
        at: app.state.clock.now(),
        actor: None,
        via: Via::Person,
        project,
        kind,
        subject,
        detail: json!({ "environment": "production" }),
    };
    let mut db = app.state.pool.acquire().await.expect("a connection");
    store::audit::insert(&mut db, &event).await.expect("an event");
}

async fn kinds(person: &Person, path: &str) -> Vec<String> {
    let page = person.get(path).await.expect(200).body;
    let items = page["items"].as_array().expect("items").iter();
    items
        .map(|item| format!("{} {}", item["kind"].as_str().expect("a kind"), item["subject"].as_str().expect("a name")))
        .collect()
}

#[tokio::test]
async fn changesets_and_events_stand_together_newest_first() {
    let (app, ana, _) = told().await;
    app.state.clock.advance(Duration::seconds(1));
    event(&app, "token.created", "deploy", true).await;
    app.state.clock.advance(Duration::seconds(1));
    event(&app, "user.invited", "ben@example.com", false).await;
    app.state.clock.advance(Duration::seconds(1));
    save(&ana, 2, off(), "quiet").await;
    let all = kinds(&ana, "/audit?limit=4").await;
    let told = [
        "changeset.applied config checkout in production",
        "user.invited ben@example.com",
        "token.created deploy",
        "changeset.applied kill checkout in production",
    ];
    assert_eq!(all, told);
    let here = kinds(&ana, "/projects/shop/audit?limit=2").await;
    assert_eq!(here, [told[0], told[2]]);
    let page = ana.get("/audit?limit=1").await.body;
    assert_eq!((&page["items"][0]["note"], &page["items"][0]["project"]), (&json!("quiet"), &json!("shop")));

    let mut walked = Vec::new();
    let mut path = "/audit?limit=2".to_owned();
    loop {
        let page = ana.get(&path).await.expect(200).body;
        walked.extend(page["items"].as_array().expect("items").clone());
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/audit?limit=2&after={next}");
    }
    let all = ana.get("/audit?limit=100").await.body["items"].clone();
    assert_eq!(Value::Array(walked), all, "pages leave nothing out and repeat nothing");
}

#[tokio::test]
async fn the_log_is_filtered_and_written_as_files() {
    let (app, ana, _) = told().await;
    app.state.clock.advance(Duration::seconds(1));
    event(&app, "token.created", "=deploy", true).await;
    event(&app, "token.revoked", "deploy", true).await;
    assert_eq!(kinds(&ana, "/audit?kind=token").await, ["token.revoked deploy", "token.created =deploy"]);
    assert_eq!(kinds(&ana, "/audit?kind=token.created").await, ["token.created =deploy"]);
    assert_eq!(kinds(&ana, "/audit?q=payments").await, ["changeset.applied kill checkout in production"]);
    assert_eq!(kinds(&ana, "/audit?environment=production&kind=token").await.len(), 2);
    assert_eq!(kinds(&ana, "/audit?environment=staging&kind=token").await.len(), 0);
    let who = ana.get("/audit?kind=changeset").await.body["items"][0]["who_id"].as_str().expect("an id").to_owned();
    assert!(kinds(&ana, &format!("/audit?actor={who}")).await.iter().all(|kind| !kind.starts_with("token")));
    assert_eq!(ana.get("/audit?after=x").await.expect(422).fields(), ["after"]);
    ana.get("/audit?limit=1000").await.expect(422);

    let csv = ana.get("/audit?kind=token&format=csv").await.expect(200).text;
    assert!(csv.contains(",'=deploy,"), "{csv}");
    let jsonl = ana.get("/projects/shop/audit?format=jsonl").await.expect(200).text;
    let lines: Vec<Value> = jsonl.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(lines.len() > 5 && lines[0]["kind"] == "token.revoked", "{jsonl}");
}

#[tokio::test]
async fn the_log_is_for_those_who_manage() {
    let (app, ..) = told().await;
    let admin = app.member("Ada", Some("admin")).await;
    admin.get("/projects/shop/audit").await.expect(200);
    admin.get("/audit").await.expect(403);
    app.member("Eve", Some("editor")).await.get("/projects/shop/audit").await.expect(403);
}
