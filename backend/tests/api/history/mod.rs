//! What happened, how things were, and going back.

mod audit;
mod chain;
mod command;
mod revert;
mod then;

use serde_json::{Value, json};

use crate::flag::{boolean, on};
use crate::support::{App, Person};

pub(crate) const CHECKOUT: &str = "/projects/shop/flags/checkout";

/// Ana, and a flag that is off (r1: the project's; then the flag), turned on in production, renamed, and killed.
pub(crate) async fn told() -> (App, Person, [u64; 4]) {
    let app = App::start().await;
    let ana = app.ana().await;
    let made = revision(&ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201).body);
    let turned = revision(&save(&ana, 1, on(), "for everybody").await);
    let body = json!({ "name": "Checkout page", "tags": ["web"] });
    let renamed = revision(&ana.patch(CHECKOUT, 1, body).await.expect(200).body);
    let kill = json!({ "environments": ["production"], "reason": "payments fail" });
    let killed = revision(&ana.post(&format!("{CHECKOUT}/kill"), kill).await.expect(200).body);
    (app, ana, [made, turned, renamed, killed])
}

/// Saves the config of production.
pub(crate) async fn save(person: &Person, version: u64, config: Value, note: &str) -> Value {
    let path = format!("{CHECKOUT}/environments/production");
    person.put(&path, version, json!({ "config": config, "note": note })).await.expect(200).body
}

pub(crate) fn revision(body: &Value) -> u64 {
    body["revision"].as_u64().unwrap_or_else(|| panic!("a revision: {body}"))
}

pub(crate) fn off() -> Value {
    json!({ "enabled": true, "off_variant": "off", "default_serve": { "variant": "off" } })
}

/// Makes production need an approval.
pub(crate) async fn protect(app: &App) {
    sqlx::query(
        "insert into policies (environment_id, format, document, version, changed_at)
         select id, 1, '{\"approvals\": 1}', 1, now() from environments where key = 'production'",
    )
    .execute(&app.state.pool)
    .await
    .expect("a policy");
}

async fn revisions(person: &Person, query: &str) -> Vec<u64> {
    let page = person.get(&format!("/projects/shop/history{query}")).await.expect(200).body;
    page["items"].as_array().expect("items").iter().map(revision).collect()
}

#[tokio::test]
async fn history_says_who_did_what_and_why_in_words() {
    let (_app, ana, [_, turned, renamed, killed]) = told().await;
    let page = ana.get("/projects/shop/history?limit=3").await.expect(200).body;
    let items = page["items"].as_array().expect("items");
    assert_eq!(items.iter().map(revision).collect::<Vec<_>>(), [killed, renamed, turned]);
    let turned = &items[2];
    assert_eq!(
        (&turned["who"], &turned["via"], &turned["note"]),
        (&json!("Ana"), &json!("person"), &json!("for everybody"))
    );
    let entry = json!({
        "entity": "config", "key": "checkout", "environment": "production",
        "sentences": ["~ Turned on", "~ Default: off → on"],
    });
    let told = &turned["entries"][0]["sentences"];
    assert!(told.as_array().is_some_and(|lines| lines.contains(&json!("~ Turned on"))), "{told}");
    assert_eq!(turned["entries"][0]["environment"], entry["environment"]);
    assert_eq!(items[1]["entries"][0]["sentences"], json!(["~ Name: checkout → Checkout page", "+ Tags: web"]));
    assert_eq!(items[0]["entries"][0]["sentences"], json!(["− Killed: payments fail"]));
    assert_eq!(items[0]["entries_total"], 1);

    let mut walked = Vec::new();
    let mut path = "/projects/shop/history?limit=1".to_owned();
    loop {
        let page = ana.get(&path).await.expect(200).body;
        walked.extend(page["items"].as_array().expect("items").iter().map(revision));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/projects/shop/history?limit=1&after={next}");
    }
    assert_eq!(walked, revisions(&ana, "").await, "pages leave nothing out and repeat nothing");
    assert!(walked.windows(2).all(|pair| pair[0] > pair[1]));
}

#[tokio::test]
async fn history_is_filtered_by_thing_place_person_way_time_and_text() {
    let (app, ana, [made, turned, renamed, killed]) = told().await;
    ana.post("/projects/shop/flags", boolean("other")).await.expect(201);
    let ben = app.member("Ben", Some("editor")).await;
    let segment = json!({ "definition": { "key": "staff", "included": ["ben"] }, "name": "Staff" });
    let staff = revision(&ben.post("/projects/shop/segments", segment).await.expect(201).body);
    assert_eq!(revisions(&ana, "?flag=checkout").await, [killed, renamed, turned, made]);
    assert_eq!(revisions(&ana, "?flag=checkout&environment=production").await, [killed, turned, made]);
    assert_eq!(revisions(&ana, "?segment=staff").await, [staff]);
    assert_eq!(revisions(&ana, "?kind=kill").await, [killed]);
    assert_eq!(revisions(&ana, "?q=EVERYBODY").await, [turned]);
    assert_eq!(revisions(&ana, "?via=token").await, [0; 0]);
    let item = ana.get("/projects/shop/history?segment=staff").await.body["items"][0].clone();
    let ben_id = item["who_id"].as_str().expect("an id").to_owned();
    assert_eq!(revisions(&ana, &format!("?actor={ben_id}")).await, [staff]);
    let at = item["at"].as_str().expect("a time");
    assert!(revisions(&ana, &format!("?to={at}")).await.iter().all(|number| *number < staff));
    assert_eq!(revisions(&ana, &format!("?from={at}&actor={ben_id}")).await, [staff]);
    // Only what is about the flag is told of a revision that touched more.
    let page = ana.get("/projects/shop/history?flag=checkout&environment=staging").await.expect(200).body;
    assert_eq!(page["items"][0]["entries_total"], 4, "a flag and three configs");

    for (query, field) in [
        ("?flag=checkout&segment=staff", "segment"),
        ("?limit=0", "limit"),
        ("?limit=101", "limit"),
        ("?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "from"),
    ] {
        assert_eq!(ana.get(&format!("/projects/shop/history{query}")).await.expect(422).fields(), [field], "{query}");
    }
    ana.get("/projects/shop/history?environment=nowhere").await.expect(404);
    ana.get("/projects/shop/history?mood=good").await.expect(400);
}

#[tokio::test]
async fn one_document_that_nobody_can_read_never_fails_the_list() {
    let (app, ana, [_, turned, ..]) = told().await;
    sqlx::query(
        "update revision_entries set after = '{\"format\": 9, \"of\": {\"the\": \"future\"}}' where revision = $1",
    )
    .bind(i64::try_from(turned).expect("a number"))
    .execute(&app.state.pool)
    .await
    .expect("an update");
    let page = ana.get("/projects/shop/history?flag=checkout").await.expect(200).body;
    assert_eq!(page["items"].as_array().expect("items").len(), 4);
    let told = page["items"][2]["entries"][0]["sentences"].as_array().expect("lines");
    assert!(!told.is_empty());
}

#[tokio::test]
async fn a_revision_is_shown_with_documents_before_and_after() {
    let (_app, ana, [made, turned, ..]) = told().await;
    let detail = ana.get(&format!("/projects/shop/history/{turned}")).await.expect(200).body;
    assert_eq!(detail["documents"][0]["before"]["enabled"], false);
    assert_eq!(detail["documents"][0]["after"]["enabled"], true);
    let detail = ana.get(&format!("/projects/shop/history/{made}?after=2")).await.expect(200).body;
    assert_eq!(detail["documents"].as_array().expect("documents").len(), 2, "the third and the fourth");
    assert_eq!(detail["documents"][0].get("before"), None);
    ana.get("/projects/shop/history/99999").await.expect(404);
    ana.get("/projects/shop/history/x").await.expect(404);
}

#[tokio::test]
async fn history_is_a_file_too_with_every_entry() {
    let (_app, ana, [made, ..]) = told().await;
    let csv = ana.get("/projects/shop/history?flag=checkout&format=csv").await.expect(200);
    assert!(csv.headers["content-type"].to_str().expect("text").starts_with("text/csv"));
    let lines: Vec<&str> = csv.text.split("\r\n").filter(|line| !line.is_empty()).collect();
    assert_eq!(lines[0], "revision,at,who,via,entity,key,environment,changes,note,break_glass");
    assert_eq!(lines.iter().filter(|line| line.starts_with(&format!("{made},"))).count(), 4);
    assert!(csv.text.contains("Killed: payments fail"), "{}", csv.text);

    let jsonl = ana.get("/projects/shop/history?format=jsonl").await.expect(200);
    let lines: Vec<Value> = jsonl.text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let about = lines.iter().filter(|line| line["key"] == "checkout").count();
    assert_eq!(about, 4 + 3, "the flag with three configs, and one entry each");
    assert!(lines.iter().any(|line| line["after"]["reason"] == "payments fail"));
}
