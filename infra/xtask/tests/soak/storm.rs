//! People: changes to every flag, one after the other, as fast as they are asked for.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reqwest::header::IF_MATCH;
use reqwest::{Client, Method};
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval};
use xtask::stack::Stack;

const CHANGES_PER_SECOND: usize = 50;
/// People who change flags at the same time; each has flags of their own.
const PEOPLE: usize = 5;
const SEED: &str = "soak";

/// The key of a flag by its number.
pub(crate) fn key(flag: usize) -> String {
    format!("soak-{flag:02}")
}

/// A flag's definition, the same for all but the key.
pub(crate) fn definition(flag: usize) -> Value {
    let variants: Vec<Value> = (0..4).map(|at| json!({"key": format!("v{at}"), "value": format!("v{at}")})).collect();
    json!({"key": key(flag), "value_type": "string", "kind": "release", "client_visible": false, "variants": variants})
}

/// The config of a flag's change of this number: on and off, with rules and splits.
fn config(change: u64) -> Value {
    let variant = |at: u64| json!({"variant": format!("v{}", at % 4)});
    let boundary = 1_000 + change * 7_919 % 98_000;
    let split = json!({"split": {"bucket_by": "targetingKey", "seed": SEED, "ranges": [
        {"start": 0, "end": boundary, "variant": "v1"}, {"start": boundary, "end": 100_000, "variant": "v2"},
    ]}});
    let rule = json!([{
        "id": "018f0000-0000-7000-8000-000000000001", "serve": split.clone(),
        "conditions": {"attribute": "plan", "operator": "equals", "values": [crate::load::PLANS[change as usize % 4]]},
    }]);
    match change % 4 {
        0 => json!({"enabled": true, "off_variant": "v0", "default_serve": variant(change / 4)}),
        1 => json!({"enabled": true, "off_variant": "v0", "default_serve": split}),
        2 => json!({"enabled": true, "off_variant": "v0", "default_serve": variant(change / 4), "rules": rule}),
        _ => json!({"enabled": false, "off_variant": "v3", "default_serve": variant(change), "rules": rule}),
    }
}

/// Somebody who is signed in.
pub(crate) struct Admin {
    client: Client,
    backend: String,
    project: String,
}

impl Admin {
    pub(crate) async fn sign_in(stack: &Stack) -> Self {
        // The session's cookie is renewed while it is used.
        let client = Client::builder().cookie_store(true).timeout(Duration::from_secs(30)).build().expect("a client");
        let backend = stack.backend.url().to_owned();
        let body = json!({"email": stack.demo.email, "password": stack.demo.password});
        let answer = client.post(format!("{backend}/api/v1/session")).json(&body).send().await.expect("an answer");
        assert!(answer.status().is_success(), "{}", answer.status());
        let admin = Self { client, backend, project: stack.demo.project.clone() };
        // It is about edges: nobody has to agree to what it saves.
        let change = json!({ "kind": "set_policy", "environment": "production", "version": 1 });
        let body = json!({ "changes": [change], "break_glass": "a test of many changes" });
        admin.call(Method::POST, "/changesets", None, Some(&body)).await;
        admin
    }

    /// A call of the admin API below the project, which must succeed.
    async fn call(&self, method: Method, path: &str, version: Option<u64>, body: Option<&Value>) -> Value {
        let url = format!("{}/api/v1/projects/{}{path}", self.backend, self.project);
        let mut request = self.client.request(method, url);
        if let Some(version) = version {
            request = request.header(IF_MATCH, format!("\"{version}\""));
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = request.send().await.expect("an answer");
        let (status, text) = (answer.status(), answer.text().await.expect("a body"));
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Evaluations of a flag that PostgreSQL holds.
    pub(crate) async fn counted(&self, flag: &str) -> u64 {
        let path = format!("/counts?environment=production&flag={flag}");
        self.call(Method::GET, &path, None, None).await["total"].as_u64().expect("a total")
    }

    /// Resident memory of an edge, in KiB.
    pub(crate) async fn memory_kib(&self, edge: &str) -> f64 {
        let text =
            self.client.get(format!("{edge}/metrics")).send().await.expect("an answer").text().await.expect("text");
        let line = text.lines().find_map(|line| line.strip_prefix("fluxgate_edge_resident_memory_bytes "));
        line.and_then(|bytes| bytes.parse::<f64>().ok()).expect("a figure") / 1024.0
    }
}

/// What every flag was set to, by revision.
pub(crate) struct Storm {
    history: Vec<Mutex<Vec<(u64, Value)>>>,
}

impl Storm {
    /// Creates the flags and sets each once.
    pub(crate) async fn prepare(admin: &Admin, flags: usize) -> Arc<Self> {
        let storm = Self { history: (0..flags).map(|_| Mutex::default()).collect() };
        for flag in 0..flags {
            let body =
                json!({"definition": definition(flag), "name": key(flag), "start": {"production": {"enabled": true}}});
            admin.call(Method::POST, "/flags", None, Some(&body)).await;
            storm.change(admin, flag, 1).await;
        }
        Arc::new(storm)
    }

    /// The config that a flag had at a revision; `None` before its first.
    pub(crate) fn config_at(&self, flag: usize, revision: u64) -> Option<Value> {
        let history = self.history[flag].lock().unwrap_or_else(PoisonError::into_inner);
        let after = history.partition_point(|(known, _)| *known <= revision);
        after.checked_sub(1).map(|at| history[at].1.clone())
    }

    /// Changes flags until the time is over; returns how many changes that were.
    pub(crate) async fn rage(self: Arc<Self>, admin: Arc<Admin>, lasts: Duration) -> u64 {
        let people: Vec<_> = (0..PEOPLE)
            .map(|person| {
                let (storm, admin) = (Arc::clone(&self), Arc::clone(&admin));
                tokio::spawn(async move { storm.rage_of(&admin, person, lasts).await })
            })
            .collect();
        let mut changes = 0;
        for person in people {
            changes += person.await.expect("every change is saved");
        }
        changes
    }

    async fn rage_of(&self, admin: &Admin, person: usize, lasts: Duration) -> u64 {
        let mut tick = interval(Duration::from_secs(1) * PEOPLE as u32 / CHANGES_PER_SECOND as u32);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (began, mut changes) = (Instant::now(), 0);
        while began.elapsed() < lasts {
            for flag in (person..self.history.len()).step_by(PEOPLE) {
                tick.tick().await;
                let saves = self.history[flag].lock().unwrap_or_else(PoisonError::into_inner).len() as u64;
                self.change(admin, flag, saves + 1).await;
                changes += 1;
            }
        }
        changes
    }

    /// Saves a flag's config as its `version`-th save.
    async fn change(&self, admin: &Admin, flag: usize, version: u64) {
        let config = config(version);
        let path = format!("/flags/{}/environments/production", key(flag));
        let saved = admin.call(Method::PUT, &path, Some(version), Some(&json!({"config": config}))).await;
        let revision = saved["revision"].as_u64().expect("a revision");
        self.history[flag].lock().unwrap_or_else(PoisonError::into_inner).push((revision, config));
    }
}
