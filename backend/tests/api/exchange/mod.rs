//! A project as one file: what comes back as it went out, what is refused, what waits.

mod apply;
mod command;
mod kill;
mod property;
mod refused;

use backend::app::demo;
use serde_json::{Value, json};

use crate::support::{Answer, App, PASSWORD, Person};

pub(crate) async fn export(person: &Person) -> Value {
    person.get("/projects/shop/export").await.expect(200).body
}

pub(crate) async fn plan(person: &Person, file: &Value, remove: bool) -> Answer {
    person.post(&format!("/projects/shop/import/plan?remove={remove}"), file.clone()).await
}

/// Plans a file and imports it as planned.
pub(crate) async fn import(person: &Person, file: &Value, remove: bool) -> Answer {
    let planned = plan(person, file, remove).await.expect(200).body;
    let body = json!({ "file": file, "digest": planned["digest"], "note": "From elsewhere", "remove": remove });
    person.post("/projects/shop/import", body).await
}

/// A file with these flags and segments and three environments.
pub(crate) fn file(flags: Value, segments: Value) -> Value {
    let environment = |name: &str, hue: u8| json!({ "key": name.to_lowercase(), "name": name, "hue": hue });
    json!({
        "kind": "fluxgate-project", "format": 1, "project": { "key": "shop", "name": "Acme shop" },
        "environments": [environment("Development", 1), environment("Staging", 2), environment("Production", 3)],
        "segments": segments, "flags": flags, "attributes": [], "metrics": [],
    })
}

/// A boolean flag of a file.
pub(crate) fn flag(key: &str, environments: Value) -> Value {
    let mut flag = crate::flag::boolean(key);
    flag["environments"] = environments;
    flag
}

/// Makes production need somebody else to agree, as it stands once such a policy is applied.
pub(crate) async fn protect_production(app: &App) {
    app.member("Ben", Some("approver")).await;
    sqlx::query(
        r#"insert into policies (environment_id, format, document, version, changed_at, changed_by)
           select environments.id, 1, '{"approvals":1}', 1, now(), users.id from environments, users
           where environments.key = 'production' and users.name = 'Ana'"#,
    )
    .execute(&app.state.pool)
    .await
    .expect("a policy");
}

/// How often each thing happens.
fn counts(plan: &Value) -> [u64; 4] {
    ["created", "changed", "removed", "unchanged"].map(|name| plan[name].as_u64().expect("a count"))
}

#[tokio::test]
async fn the_demo_comes_back_as_it_went_out() {
    let app = App::start().await;
    demo::create(&app.state, "ana@example.com", PASSWORD.into()).await.expect("the demo");
    let ana = app.signed_in("ana@example.com").await;
    ana.post("/projects/shop/attributes", json!({ "name": "company", "type": "text", "suggestions": ["acme"] }))
        .await
        .expect(201);
    let first = ana.get("/projects/shop/export").await.expect(200);
    assert_eq!(first.text, ana.get("/projects/shop/export").await.expect(200).text, "the same bytes");
    assert!(first.text.starts_with("{\n  \"kind\": \"fluxgate-project\",\n  \"format\": 1,"), "readable");
    assert!(first.headers["content-disposition"].to_str().is_ok_and(|text| text.contains("shop.json")));
    for secret in ["fg_srv_", "ana@example.com", "Ana Kov", "argon2"] {
        assert!(!first.text.contains(secret), "{secret}");
    }
    let planned = plan(&ana, &first.body, true).await.expect(200).body;
    assert_eq!((counts(&planned)[..3].to_vec(), &planned["slices"]), (vec![0, 0, 0], &json!(0)));
    assert_eq!((&planned["items"], &planned["notes"]), (&json!([]), &json!([])));
    assert!(counts(&planned)[3] >= 12 + 1 + 1 + 2 + 3, "everything is compared");
    let before = app.revision().await;
    let done = import(&ana, &first.body, true).await.expect(200).body;
    assert_eq!(
        (&done["changesets"], &done["sentence"]),
        (&json!([]), &json!("nothing in the file changes what flags answer"))
    );
    assert_eq!(app.revision().await, before);
}

#[tokio::test]
async fn another_installation_gives_everybody_the_same_answers() {
    let app = App::start().await;
    demo::create(&app.state, "ana@example.com", PASSWORD.into()).await.expect("the demo");
    let file = export(&app.signed_in("ana@example.com").await).await;

    let other = App::start().await;
    let ana = other.ana().await;
    let planned = plan(&ana, &file, false).await.expect(200).body;
    let flags = planned["items"].as_array().expect("items").iter().filter(|item| item["noun"] == "flag");
    assert_eq!((flags.count(), counts(&planned)), (12, [15, 0, 0, 3]));
    let told = planned["items"].as_array().expect("items").iter().find(|item| item["key"] == "dark-mode");
    let changes = told.expect("a flag")["changes"].as_array().expect("sentences").clone();
    assert_eq!(changes[0], "+ Name: Dark mode");
    assert!(changes[1].as_str().is_some_and(|line| line.starts_with("+ development: On. ")), "{}", changes[1]);
    let done = import(&ana, &file, false).await.expect(200).body;
    assert_eq!((&done["remaining"], &done["problem"]), (&json!(0), &Value::Null));

    let copy = export(&ana).await;
    for part in ["flags", "segments", "attributes", "metrics"] {
        assert_eq!(copy[part], file[part], "{part}");
    }
    let keys: Vec<&str> =
        file["flags"].as_array().expect("flags").iter().filter_map(|f| f["definition"]["key"].as_str()).collect();
    for environment in ["development", "staging", "production"] {
        for key in &keys {
            let (here, there) = (app.answers(environment, key, 300).await, other.answers(environment, key, 300).await);
            assert_eq!(here, there, "{key} in {environment}");
        }
    }
}
