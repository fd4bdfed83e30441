//! Webhooks: what they send, to whom, and how they are kept.

mod delivery;
mod edge;
mod failure;

use std::sync::Arc;

use backend::config::Webhooks;
use backend::leader::webhook;
use backend::leader::webhook::send::Sender;
use reqwest::Method;
use serde_json::{Value, json};

use crate::flag::{boolean, on};
use crate::support::{App, Person, Received, Receiver};

const WEBHOOKS: &str = "/projects/shop/webhooks";
const CHECKOUT: &str = "/projects/shop/flags/checkout";

/// An app whose webhooks may send to this machine, with Ana, and what sends.
async fn start() -> (App, Person, Sender) {
    let app = App::start_with("nats://127.0.0.1:1", |state| {
        let mut config = (*state.config).clone();
        config.webhooks = Webhooks { allow_http: true, allow_private: true };
        state.config = Arc::new(config);
    })
    .await;
    let ana = app.ana().await;
    let sender = sender(&app);
    (app, ana, sender)
}

fn sender(app: &App) -> Sender {
    Sender::trusting(&app.state.config.webhooks, Vec::new())
}

/// Makes a webhook; answers its path and secret.
async fn make(ana: &Person, receiver: &Receiver, filter: Value) -> (String, String) {
    let mut body = json!({ "url": receiver.url() });
    for (name, value) in filter.as_object().expect("a filter") {
        body[name] = value.clone();
    }
    let made = ana.post(WEBHOOKS, body).await.expect(201).body;
    let path = format!("{WEBHOOKS}/{}", made["webhook"]["id"].as_str().expect("an id"));
    (path, made["secret"].as_str().expect("a secret").to_owned())
}

/// Sends all that is due; answers how often it sent.
async fn pass(app: &App, sender: &Sender) -> usize {
    webhook::pass(&app.state, sender).await.expect("a pass")
}

async fn flag(ana: &Person, key: &str) {
    ana.post("/projects/shop/flags", boolean(key)).await.expect(201);
}

async fn patch(person: &Person, path: &str, body: Value) -> Value {
    person.send(Method::PATCH, path, Some(body), &[]).await.expect(200).body
}

/// The newest delivery of a webhook, with its attempts.
async fn newest(ana: &Person, webhook: &str) -> Value {
    let page = ana.get(&format!("{webhook}/deliveries?limit=1")).await.expect(200).body;
    let id = page["items"][0]["id"].as_str().expect("a delivery");
    ana.get(&format!("{webhook}/deliveries/{id}")).await.expect(200).body
}

fn kinds(received: &[Received]) -> Vec<&str> {
    received.iter().map(Received::kind).collect()
}

#[tokio::test]
async fn a_change_arrives_signed_and_says_who_did_what_where_but_no_values() {
    let (app, ana, sender) = start().await;
    let mut receiver = Receiver::start().await;
    let (_, secret) = make(&ana, &receiver, json!({})).await;
    flag(&ana, "checkout").await;
    let mut config = on();
    config["targets"] = json!([{ "variant": "on", "keys": ["zoe@example.com"] }]);
    let saved = json!({ "config": config, "note": "for Zoe's demo" });
    ana.put(&format!("{CHECKOUT}/environments/production"), 1, saved).await.expect(200);
    assert_eq!(pass(&app, &sender).await, 4);
    let received = receiver.received();
    assert_eq!(kinds(&received), ["flag.created", "changeset.applied", "flag.changed", "changeset.applied"]);
    let changed = &received[2];
    assert!(changed.is_signed_by(&secret) && changed.header("content-type") == "application/json");
    let id = changed.header("webhook-id");
    assert!(id.starts_with("msg_") && !id.contains('.'), "{id}");
    let data = &changed.body["data"];
    assert_eq!(
        (&data["project"], &data["flag"], &data["environments"], &data["by"], &data["via"], &data["note"]),
        (
            &json!("shop"),
            &json!("checkout"),
            &json!(["production"]),
            &json!("Ana"),
            &json!("person"),
            &json!("for Zoe's demo")
        )
    );
    assert_eq!(data["sentences"], json!(["Turned on: targets in production"]));
    assert!(received.iter().all(|received| !received.text.contains("zoe@example.com")), "{}", changed.text);
}

#[tokio::test]
async fn a_kill_and_its_end_a_segment_and_keys_have_events_of_their_own() {
    let (app, ana, sender) = start().await;
    flag(&ana, "checkout").await;
    let mut receiver = Receiver::start().await;
    let types = ["flag.killed", "flag.restored", "segment.changed", "sdk_key.created", "sdk_key.revoked"];
    make(&ana, &receiver, json!({ "event_types": types })).await;
    let kill = json!({ "environments": ["production"], "reason": "payments fail" });
    ana.post(&format!("{CHECKOUT}/kill"), kill).await.expect(200);
    ana.post(&format!("{CHECKOUT}/environments/production/restore"), json!({})).await.expect(200);
    let segment = json!({ "definition": { "key": "beta", "included": ["zoe"] }, "name": "Beta" });
    ana.post("/projects/shop/segments", segment).await.expect(201);
    let key = json!({ "environment": "staging", "name": "web-1", "kind": "server" });
    let key = ana.post("/projects/shop/keys", key).await.expect(201).body;
    let path = format!("/projects/shop/keys/{}/revoke", key["key"]["id"].as_str().expect("an id"));
    ana.post(&path, json!({})).await.expect(200);
    pass(&app, &sender).await;
    let received = receiver.received();
    assert_eq!(kinds(&received), types);
    assert_eq!(received[0].body["data"]["note"], "payments fail");
    assert_eq!(received[4].body["data"]["sdk_key"], "web-1");
    let secret = key["secret"].as_str().expect("a secret");
    assert!(received.iter().all(|received| !received.text.contains(secret) && !received.text.contains("zoe")));
}

#[tokio::test]
async fn a_filter_by_type_and_environment_keeps_the_rest_away() {
    let (app, ana, sender) = start().await;
    flag(&ana, "checkout").await;
    let (mut production, mut created) = (Receiver::start().await, Receiver::start().await);
    make(&ana, &production, json!({ "environments": ["production"], "event_types": ["flag.changed"] })).await;
    make(&ana, &created, json!({ "event_types": ["flag.created"] })).await;
    for environment in ["staging", "production"] {
        ana.put(&format!("{CHECKOUT}/environments/{environment}"), 1, json!({ "config": on() })).await.expect(200);
    }
    ana.patch(CHECKOUT, 1, json!({ "name": "Check-out" })).await.expect(200);
    pass(&app, &sender).await;
    let received = production.received();
    assert_eq!(received.len(), 2);
    assert_eq!(received[0].body["data"]["environments"], json!(["production"]));
    // What is the same everywhere concerns production, too.
    assert!(received[1].body["data"].get("environments").is_none());
    assert!(created.received().is_empty());
}

#[tokio::test]
async fn what_happened_before_or_in_another_project_is_not_told() {
    let (app, ana, sender) = start().await;
    flag(&ana, "before").await;
    let mut receiver = Receiver::start().await;
    make(&ana, &receiver, json!({})).await;
    let other = json!({ "key": "other", "name": "Other", "environments": [{ "key": "live", "name": "Live" }] });
    ana.post("/projects", other).await.expect(201);
    ana.post("/projects/other/flags", boolean("theirs")).await.expect(201);
    flag(&ana, "after").await;
    pass(&app, &sender).await;
    let received = receiver.received();
    let flags: Vec<&Value> = received.iter().map(|received| &received.body["data"]["flag"]).collect();
    assert_eq!(flags, [&json!("after"), &Value::Null]);
    assert!(received.iter().all(|received| received.body["data"]["project"] == "shop"));
}

#[tokio::test]
async fn an_event_that_other_parts_note_is_told_once_and_to_its_project() {
    use backend::store::webhook::{NewNote, note};
    use shared::model::webhook::EventType;
    let (app, ana, sender) = start().await;
    let mut receiver = Receiver::start().await;
    make(&ana, &receiver, json!({ "environments": ["staging"] })).await;
    let environments = [app.environment("staging").await];
    let new = |project| NewNote {
        at: app.state.clock.now(),
        project: Some(project),
        kind: EventType::ChangesetRequested,
        environments: &environments,
        data: json!({ "changeset": "c1", "by": "Ana" }),
    };
    let mut db = app.state.pool.acquire().await.expect("a connection");
    note(&mut db, &new(app.project().await)).await.expect("a note");
    pass(&app, &sender).await;
    pass(&app, &sender).await;
    let received = receiver.received();
    assert_eq!(kinds(&received), ["changeset.requested"]);
    let data = json!({ "changeset": "c1", "by": "Ana", "project": "shop", "environments": ["staging"] });
    assert_eq!(received[0].body["data"], data);
}

#[tokio::test]
async fn bad_input_is_named_with_its_field() {
    let app = App::start().await;
    let ana = app.ana().await;
    for (body, field) in [
        (json!({ "url": "http://example.com" }), "url"),
        (json!({ "url": "https://10.0.0.1/hook" }), "url"),
        (json!({ "url": "https://[::ffff:10.0.0.1]/hook" }), "url"),
        (json!({ "url": "https://2130706433/hook" }), "url"),
        (json!({ "url": "https://example.com", "environments": ["mars"] }), "environments[0]"),
        (json!({ "url": "https://example.com", "event_types": ["flag.exploded"] }), "event_types[0]"),
        (json!({ "url": "https://example.com", "secret": "mine" }), "secret"),
    ] {
        let answer = ana.post(WEBHOOKS, body.clone()).await.expect(422);
        assert_eq!(answer.fields(), [field], "{body}: {}", answer.body);
    }
    for _ in 0..20 {
        ana.post(WEBHOOKS, json!({ "url": "https://example.com" })).await.expect(201);
    }
    let answer = ana.post(WEBHOOKS, json!({ "url": "https://example.com" })).await.expect(422);
    assert!(answer.text.contains("at most 20 webhooks"), "{}", answer.text);
    let none = format!("{WEBHOOKS}/00000000-0000-0000-0000-000000000000");
    ana.get(&none).await.expect(404);
    ana.delete(&none).await.expect(404);
    ana.get(&format!("{none}/deliveries")).await.expect(404);
    let first = ana.get(WEBHOOKS).await.body["items"][0]["id"].as_str().expect("an id").to_owned();
    ana.get(&format!("{WEBHOOKS}/{first}/deliveries?limit=0")).await.expect(422);
    ana.get(&format!("{WEBHOOKS}/{first}/deliveries?after=x")).await.expect(422);
}

#[tokio::test]
async fn a_webhook_of_another_project_does_not_exist_here() {
    let (_app, ana, _) = start().await;
    let receiver = Receiver::start().await;
    let (path, _) = make(&ana, &receiver, json!({})).await;
    let other = json!({ "key": "other", "name": "Other", "environments": [{ "key": "live", "name": "Live" }] });
    ana.post("/projects", other).await.expect(201);
    let foreign = path.replace("/shop/", "/other/");
    ana.get(&foreign).await.expect(404);
    ana.post(&format!("{foreign}/rotate"), json!({})).await.expect(404);
    ana.post(&format!("{foreign}/test"), json!({})).await.expect(404);
    ana.delete(&foreign).await.expect(404);
    ana.get(&path).await.expect(200);
}

#[tokio::test]
async fn a_secret_is_shown_once_and_nowhere_in_clear() {
    let (app, ana, sender) = start().await;
    let mut receiver = Receiver::start().await;
    let (path, first) = make(&ana, &receiver, json!({})).await;
    let second = ana.post(&format!("{path}/rotate"), json!({})).await.expect(200).body["secret"].clone();
    flag(&ana, "checkout").await;
    pass(&app, &sender).await;
    let mut said: Vec<String> = vec![
        ana.get(WEBHOOKS).await.text,
        ana.get(&path).await.text,
        ana.get(&format!("{path}/deliveries")).await.text,
        newest(&ana, &path).await.to_string(),
    ];
    said.extend(receiver.received().into_iter().map(|received| format!("{:?} {}", received.headers, received.text)));
    for table in ["webhooks", "webhook_deliveries", "webhook_attempts", "audit_events", "webhook_events"] {
        let sql = format!("select coalesce(string_agg(to_jsonb(rows)::text, ' '), '') from {table} rows");
        let text = sqlx::query_scalar::<_, String>(sqlx::AssertSqlSafe(sql)).fetch_one(&app.state.pool).await;
        said.push(text.expect("rows"));
    }
    for secret in [first.as_str(), second.as_str().expect("a secret")] {
        use base64::Engine;
        let plain = secret.strip_prefix("whsec_").expect("a prefix");
        let bytes = base64::engine::general_purpose::STANDARD.decode(plain).expect("base64");
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(said.iter().all(|text| !text.contains(plain) && !text.contains(&hex)));
    }
    let audit: Vec<String> = sqlx::query_scalar("select kind || ' ' || subject from audit_events order by number")
        .fetch_all(&app.state.pool)
        .await
        .expect("the audit");
    let host = format!("http://{}", receiver.address);
    let written: Vec<&String> = audit.iter().filter(|line| line.starts_with("webhook.")).collect();
    assert_eq!(written, [&format!("webhook.created {host}"), &format!("webhook.rotated {host}")]);
}

#[tokio::test]
async fn what_waits_for_people_is_told_and_so_is_each_step_of_it() {
    let (app, ana, sender) = start().await;
    flag(&ana, "checkout").await;
    app.protect_with_ben("production").await;
    let ben = app.again("Ben").await;
    let mut receiver = Receiver::start().await;
    let types = ["changeset.requested", "changeset.approved", "changeset.rejected", "changeset.applied"];
    make(&ana, &receiver, json!({ "event_types": types })).await;
    let path = format!("{CHECKOUT}/environments/production");
    for (version, config, step) in [(1, on(), "approve"), (2, off(), "reject")] {
        let asked = ana.put(&path, version, json!({ "config": config, "note": "looks fine" })).await.expect(200).body;
        assert_eq!(asked["state"], "in_review");
        let changeset = format!("/projects/shop/changesets/{}", asked["id"].as_str().expect("an id"));
        let digest = ben.get(&changeset).await.expect(200).body["digest"].clone();
        let body = if step == "approve" { json!({ "digest": digest }) } else { json!({ "reason": "not now" }) };
        ben.post(&format!("{changeset}/{step}"), body).await.expect(200);
    }
    pass(&app, &sender).await;
    let received = receiver.received();
    let mut told = kinds(&received);
    told.sort_unstable();
    let mut expected = types.to_vec();
    expected.push("changeset.requested");
    expected.sort_unstable();
    assert_eq!(told, expected);
    let rejected = received.iter().find(|received| received.kind() == "changeset.rejected").expect("it");
    let data = &rejected.body["data"];
    let words = [&data["by"], &data["reason"], &data["note"], &data["environments"]];
    assert_eq!(words, [&json!("Ben"), &json!("not now"), &json!("looks fine"), &json!(["production"])]);
}

fn off() -> Value {
    let mut config = on();
    config["enabled"] = json!(false);
    config
}
