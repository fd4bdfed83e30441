//! The client of web pages, in Node.js and in a page of a foreign origin: it holds all flags and hears of changes.

mod flow;
mod origin;
pub(super) mod page;
mod table;

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use super::script::Script;
use crate::support::{PATIENCE, Product};
use page::Page;

/// The web client, somewhere.
struct Web {
    place: Place,
    /// Everything that happened and was not looked for yet.
    events: Vec<Value>,
}

enum Place {
    Node(Box<Script>),
    Page(Page),
}

/// A client key of production.
pub(super) struct ClientKey {
    id: String,
    pub(super) secret: String,
}

impl Web {
    fn node() -> Self {
        Self { place: Place::Node(Box::new(Script::node("web-node.mjs"))), events: Vec::new() }
    }

    async fn page() -> Self {
        Self { place: Place::Page(Page::open().await), events: Vec::new() }
    }

    fn name(&self) -> &'static str {
        match self.place {
            Place::Node(_) => "Node.js",
            Place::Page(_) => "Chromium",
        }
    }

    async fn call(&mut self, command: &Value) -> Result<Value, String> {
        match &mut self.place {
            Place::Node(script) => script.call(command).await,
            Place::Page(page) => page.call(command).await,
        }
    }

    /// Points it at an edge; what it tells comes from there and not from an earlier visit.
    async fn connect(&mut self, edge: &str, key: &str, context: Value) -> Result<(), String> {
        self.connect_with(edge, key, context, json!({ "cacheMode": "disabled" })).await
    }

    /// The same with options of its own.
    async fn connect_with(&mut self, edge: &str, key: &str, context: Value, options: Value) -> Result<(), String> {
        let headers = json!({ "Authorization": format!("Bearer {key}") });
        let command =
            json!({ "do": "connect", "edge": edge, "headers": headers, "context": context, "options": options });
        self.call(&command).await.map(drop)
    }

    /// Another user, or another attribute of the same.
    async fn become_user(&mut self, context: Value) {
        self.call(&json!({ "do": "become", "context": context })).await.expect("a context");
    }

    /// What it tells of a boolean flag.
    async fn boolean(&mut self, flag: &str, fallback: bool) -> Value {
        let question = json!({ "do": "ask", "flag": flag, "type": "boolean", "fallback": fallback });
        self.call(&question).await.expect("an answer")
    }

    /// Waits for an event that happened since the last one that was waited for, and returns it.
    async fn event(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let new = self.call(&json!({ "do": "events" })).await.expect("events");
            self.events.extend(new.as_array().cloned().unwrap_or_default());
            if let Some(at) = self.events.iter().position(&is_it) {
                return self.events.drain(..=at).next_back().expect("the event");
            }
            assert!(Instant::now() < end, "{}: no {what} among {:#?}", self.name(), self.events);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until it tells that this flag changed.
    async fn change_of(&mut self, flag: &str) -> Value {
        self.event(&format!("change of {flag}"), |event| {
            event["event"] == "PROVIDER_CONFIGURATION_CHANGED"
                && event["flags"].as_array().is_some_and(|flags| flags.iter().any(|changed| changed == flag))
        })
        .await
    }

    async fn end(self) {
        if let Place::Page(page) = self.place {
            page.end().await;
        }
    }
}

/// A client key for pages from anywhere, which every edge knows.
pub(super) async fn client_key(product: &Product) -> ClientKey {
    client_key_for(product, json!([])).await
}

/// A client key for pages of these web origins, which every edge knows.
async fn client_key_for(product: &Product, origins: Value) -> ClientKey {
    let body = json!({ "environment": "production", "name": "page", "kind": "client", "origins": origins });
    let made = product.api(Method::POST, "/keys", None, Some(body)).await;
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let key = ClientKey { id: text(&made["key"]["id"]), secret: text(&made["secret"]) };
    for edge in &product.stack.edges {
        product
            .wait_for("the edge knows the key", || async { status(product, edge.url(), &key.secret).await == 200 })
            .await;
    }
    key
}

/// How an edge answers a bulk call with this key.
async fn status(product: &Product, edge: &str, key: &str) -> u16 {
    let request = product.client.post(format!("{edge}/ofrep/v1/evaluate/flags")).bearer_auth(key);
    request.send().await.map_or(0, |answer| answer.status().as_u16())
}
