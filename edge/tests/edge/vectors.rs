//! The published vectors, asked over HTTP.

use std::collections::BTreeMap;

use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use shared::evaluation::StateDocument;
use shared::model::id::EnvironmentId;
use shared::wire::state::Entity;

use crate::support::World;
use crate::support::edge::Edge;
use crate::support::publisher::flag_id;
use crate::support::wait_for;

#[derive(Deserialize)]
struct File {
    environments: BTreeMap<String, StateDocument>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    environment: String,
    flag: String,
    context: Box<RawValue>,
    now: Option<String>,
    #[serde(default)]
    asker: String,
    expect: Expected,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Expected {
    value: Option<Box<RawValue>>,
    variant: Option<String>,
    reason: String,
    error_code: Option<String>,
    blocked_by: Option<String>,
}

/// What an answer says, whatever its form.
#[derive(Debug, PartialEq)]
struct Said {
    value: Option<String>,
    variant: Option<String>,
    reason: String,
    error_code: Option<String>,
    blocked_by: Option<String>,
}

impl From<&Expected> for Said {
    fn from(expected: &Expected) -> Self {
        Self {
            value: expected.value.as_ref().map(|value| value.get().to_owned()),
            variant: expected.variant.clone(),
            reason: expected.reason.clone(),
            error_code: expected.error_code.clone(),
            blocked_by: expected.blocked_by.clone(),
        }
    }
}

fn said(text: &str) -> Said {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer {
        value: Option<Box<RawValue>>,
        variant: Option<String>,
        // OFREP has none on errors.
        reason: Option<String>,
        error_code: Option<String>,
        metadata: BTreeMap<String, Value>,
    }
    let answer: Answer = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    Said {
        value: answer.value.map(|value| value.get().to_owned()),
        variant: answer.variant,
        reason: answer.reason.unwrap_or_else(|| "ERROR".into()),
        error_code: answer.error_code,
        blocked_by: answer.metadata.get("blockedBy").and_then(Value::as_str).map(str::to_owned),
    }
}

fn files() -> BTreeMap<String, File> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/tests/vectors");
    let entries = std::fs::read_dir(folder).expect("the vectors").map(|entry| entry.expect("an entry").path());
    let read = |path: std::path::PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("text");
        (name != "algorithms").then(|| (name, serde_json::from_str(&text).expect("a file of cases")))
    };
    entries.filter_map(read).collect()
}

async fn ask(edge: &Edge, key: &str, path: &str, body: String) -> (StatusCode, String) {
    let request = edge.http.post(format!("{}{path}", edge.address)).bearer_auth(key).body(body);
    let response = request.send().await.expect("an answer");
    (response.status(), response.text().await.expect("text"))
}

#[tokio::test]
async fn every_vector_that_does_not_name_a_time_holds_over_http() {
    let world = World::new().await;
    let files = files();
    let mut names = Vec::new();
    for (file, File { environments, .. }) in &files {
        for (environment, state) in environments {
            let name = format!("{file}/{environment}");
            let id: EnvironmentId = flag_id(&name).uuid().into();
            for kind in ["srv", "cli"] {
                world.publisher.put_key_in(id, 1, &format!("fg_{kind}_{name}"), json!({})).await;
            }
            for flag in &state.flags {
                let body = json!({"flag": flag.flag, "config": flag.config});
                let envelope = json!({"format": 1, "revision": 1, "killed": flag.killed, "body": body});
                let id_of_flag = flag_id(&format!("{name}/{}", flag.flag.key));
                world.publisher.put(id, Entity::Flag(id_of_flag), envelope).await;
            }
            for segment in &state.segments {
                let envelope = json!({"format": 1, "revision": 1, "body": segment});
                let id_of_segment = flag_id(&format!("{name}/segment/{}", segment.key)).uuid().into();
                world.publisher.put(id, Entity::Segment(id_of_segment), envelope).await;
            }
            let body = json!({"project": "vectors", "key": format!("e{}", names.len())});
            world.publisher.put(id, Entity::Environment, json!({"format": 1, "revision": 1, "body": body})).await;
            names.push(name);
        }
    }
    let edge = world.ready_edge().await;
    for name in &names {
        wait_for("the environment is there", async || {
            let (status, _) = ask(&edge, &format!("fg_srv_{name}"), "/evaluate", r#"{"flagKey":"-"}"#.into()).await;
            (status == StatusCode::NOT_FOUND).then_some(())
        })
        .await;
    }
    let mut asked = 0;
    let mut failures = Vec::new();
    for (file, File { cases, .. }) in &files {
        for case in cases.iter().filter(|case| case.now.is_none()) {
            let kind = if case.asker == "client" { "cli" } else { "srv" };
            let key = format!("fg_{kind}_{file}/{}", case.environment);
            let context = case.context.get();
            let native = format!(r#"{{"flagKey":{},"context":{context}}}"#, json!(case.flag));
            let mut questions = vec![("/evaluate".to_owned(), native)];
            // Without a key the path is another one, and of dots alone a client makes another one.
            if !case.flag.chars().all(|letter| letter == '.') {
                let path = format!("/ofrep/v1/evaluate/flags/{}", url_encoded(&case.flag));
                questions.push((path, format!(r#"{{"context":{context}}}"#)));
            }
            for (path, body) in questions {
                let (_, answer) = ask(&edge, &key, &path, body).await;
                let (expected, got) = (Said::from(&case.expect), said(&answer));
                if got != expected {
                    failures.push(format!("{file}: {}: {path}: expected {expected:?}, got {got:?}", case.name));
                }
                asked += 1;
            }
        }
    }
    assert!(failures.is_empty(), "{} of {asked} fail:\n{}", failures.len(), failures.join("\n"));
    assert!(asked > 2_000, "only {asked}");
}

/// A key as one part of a path.
fn url_encoded(key: &str) -> String {
    let encode = |byte: u8| match byte {
        letter if letter.is_ascii_alphanumeric() => char::from(letter).to_string(),
        other => format!("%{other:02X}"),
    };
    key.bytes().map(encode).collect()
}
