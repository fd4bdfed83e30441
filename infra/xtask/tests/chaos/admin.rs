//! Somebody who is signed in and reads figures.

use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::{Value, json};
use tokio::time::sleep;
use xtask::stack::Stack;

/// How long anything may take to come.
const PATIENCE: Duration = Duration::from_secs(60);
/// A sum that has not changed for so long stands still: longer than an edge takes to gather and send.
const STILL: Duration = Duration::from_secs(12);

pub(crate) struct Admin {
    client: Client,
    backend: String,
}

impl Admin {
    pub(crate) async fn sign_in(stack: &Stack) -> Self {
        let client = Client::builder().cookie_store(true).timeout(Duration::from_secs(30)).build().expect("a client");
        let admin = Self { client, backend: format!("{}/api/v1", stack.backend.url()) };
        let body = json!({ "email": stack.demo.email, "password": stack.demo.password });
        let answer =
            admin.client.post(format!("{}/session", admin.backend)).json(&body).send().await.expect("an answer");
        assert!(answer.status().is_success(), "{}", answer.status());
        // It is about edges: nobody has to agree to what it saves.
        let change = json!({ "kind": "set_policy", "environment": "production", "version": 1 });
        let body = json!({ "changes": [change], "break_glass": "a test of outages" });
        let url = format!("{}/projects/shop/changesets", admin.backend);
        let answer = admin.client.post(url).json(&body).send().await.expect("an answer");
        assert!(answer.status().is_success(), "{}", answer.text().await.expect("text"));
        admin
    }

    /// A flag that is on in production.
    pub(crate) async fn create_flag(&self, key: &str) {
        let variants = json!([{ "key": "on", "value": "true" }, { "key": "off", "value": "false" }]);
        let definition = json!({ "key": key, "value_type": "boolean", "kind": "release", "client_visible": false, "variants": variants });
        let body = json!({ "definition": definition, "name": key, "start": { "production": { "enabled": true } } });
        let url = format!("{}/projects/shop/flags", self.backend);
        let answer = self.client.post(url).json(&body).send().await.expect("an answer");
        assert!(answer.status().is_success(), "{}", answer.text().await.expect("text"));
    }

    /// Waits until the edge answers a flag.
    pub(crate) async fn wait_until_known(&self, stack: &Stack, flag: &str) {
        let url = format!("{}/evaluate", stack.edges[0].url());
        let body = json!({ "flagKey": flag, "context": { "targetingKey": "nobody" } });
        let end = Instant::now() + PATIENCE;
        loop {
            let request = self.client.post(&url).bearer_auth(&stack.demo.sdk_keys["production"]).json(&body);
            if request.send().await.is_ok_and(|answer| answer.status() == 200) {
                break;
            }
            assert!(Instant::now() < end, "{flag} does not arrive\n{}", stack.logs());
            sleep(Duration::from_millis(20)).await;
        }
        // That answer is counted, too, and must be before others are compared with it.
        while self.counted(flag).await == 0 {
            assert!(Instant::now() < end, "{flag} is not counted\n{}", stack.logs());
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// Evaluations of a flag that PostgreSQL holds.
    pub(crate) async fn counted(&self, flag: &str) -> u64 {
        let path = format!("/projects/shop/counts?environment=production&flag={flag}");
        self.get(&path).await["total"].as_u64().expect("a total")
    }

    /// The sum once it stands still.
    pub(crate) async fn wait_until_still(&self, flag: &str) -> u64 {
        let (mut last, mut since) = (self.counted(flag).await, Instant::now());
        while since.elapsed() < STILL {
            sleep(Duration::from_millis(500)).await;
            let counted = self.counted(flag).await;
            if counted != last {
                (last, since) = (counted, Instant::now());
            }
        }
        last
    }

    /// Waits until the ledger says for good what a killed edge lost at most.
    pub(crate) async fn wait_for_loss(&self, limit: Duration, stack: &Stack) -> u64 {
        let end = Instant::now() + limit;
        loop {
            let losses = self.get("/counts/losses").await;
            let items = losses["items"].as_array().expect("a list");
            let killed = items.iter().find(|loss| loss["cause"] == "killed" && loss["is_final"] == true);
            if let Some(loss) = killed {
                return loss["lost_max"].as_u64().expect("a bound");
            }
            assert!(Instant::now() < end, "{losses}\n{}", stack.logs());
            sleep(Duration::from_millis(500)).await;
        }
    }

    async fn get(&self, path: &str) -> Value {
        let answer = self.client.get(format!("{}{path}", self.backend)).send().await.expect("an answer");
        let (status, text) = (answer.status(), answer.text().await.expect("a body"));
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str(&text).expect("JSON")
    }
}
