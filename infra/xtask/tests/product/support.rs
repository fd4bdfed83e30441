//! A running product and the two people who use it: somebody with a session, and an application with a key.

use std::future::Future;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reqwest::header::{IF_MATCH, SET_COOKIE};
use reqwest::{Client, Method};
use serde_json::{Value, json};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::task::JoinHandle;
use xtask::stack::{Options, Stack};

/// How long anything may take to come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A product that is up, with Ana signed in.
pub(crate) struct Product {
    pub(crate) stack: Stack,
    pub(crate) client: Client,
    cookie: String,
    /// Of Ben, who approves what waits.
    approver: String,
    /// One product at a time: two would only wait for each other's processor.
    _turn: OwnedMutexGuard<()>,
}

/// What an edge answered.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Product {
    pub(crate) async fn start(options: &Options) -> Self {
        static TURN: std::sync::OnceLock<Arc<Mutex<()>>> = std::sync::OnceLock::new();
        let turn = TURN.get_or_init(Arc::default).clone().lock_owned().await;
        let stack = tokio::task::block_in_place(|| Stack::start(options)).expect("a running product");
        let client = Client::builder().timeout(Duration::from_secs(10)).build().expect("a client");
        let mut product = Self { stack, client, cookie: String::new(), approver: String::new(), _turn: turn };
        product.cookie = product.sign_in(&product.stack.demo.email).await;
        product.approver = product.sign_in(&product.stack.demo.approver).await;
        product
    }

    async fn sign_in(&self, email: &str) -> String {
        let body = json!({ "email": email, "password": self.stack.demo.password });
        let url = format!("{}/api/v1/session", self.stack.backend.url());
        let answer = self.client.post(url).json(&body).send().await.expect("an answer");
        let cookie = answer.headers()[SET_COOKIE].to_str().expect("text");
        cookie.split(';').next().expect("a pair").to_owned()
    }

    /// A call of the admin API below the project, which must succeed. What waits for approval then, because production is
    /// protected, Ben approves at once.
    pub(crate) async fn api(&self, method: Method, path: &str, version: Option<u64>, body: Option<Value>) -> Value {
        let said = self.call(&self.cookie, method, path, version, body).await;
        if said["state"] == "in_review" {
            return self.approve(&said["id"]).await;
        }
        if !said["requested"].is_null() {
            self.approve(&said["requested"]["id"]).await;
        }
        said
    }

    /// Ends the protection of production, which Ben agrees to, for tests that save there as where nobody has to agree.
    pub(crate) async fn unprotect(&self) {
        let change = json!({ "kind": "set_policy", "environment": "production", "version": 1 });
        let body = json!({ "changes": [change], "note": "a test" });
        self.api(Method::POST, "/changesets", None, Some(body)).await;
    }

    /// Ben reads what Ana asks for and agrees, which applies it.
    pub(crate) async fn approve(&self, changeset: &Value) -> Value {
        let path = format!("/changesets/{}", changeset.as_str().expect("an id"));
        let seen = self.call(&self.approver, Method::GET, &path, None, None).await;
        let body = json!({ "digest": seen["digest"] });
        let done = self.call(&self.approver, Method::POST, &format!("{path}/approve"), None, Some(body)).await;
        assert_eq!(done["state"], "applied", "{done}");
        done
    }

    async fn call(&self, cookie: &str, method: Method, path: &str, version: Option<u64>, body: Option<Value>) -> Value {
        let url = format!("{}/api/v1/projects/{}{path}", self.stack.backend.url(), self.stack.demo.project);
        let mut request = self.client.request(method, url).header("cookie", cookie);
        if let Some(version) = version {
            request = request.header(IF_MATCH, format!("\"{version}\""));
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.expect("an answer");
        let (status, text) = (response.status(), response.text().await.expect("a body"));
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    /// What the admin API answers at an address, which must succeed.
    pub(crate) async fn get(&self, url: &str) -> Value {
        let answer = self.client.get(url).header("cookie", &self.cookie).send().await.expect("an answer");
        answer.json().await.expect("JSON")
    }

    /// A string flag that is on in production and serves `v0`, of `v0` to `v1`.
    pub(crate) async fn create_flag(&self, key: &str) {
        let variants = json!([{ "key": "v0", "value": "v0" }, { "key": "v1", "value": "v1" }]);
        let definition = json!({ "key": key, "value_type": "string", "kind": "release", "client_visible": false, "variants": variants });
        let start = json!({ "production": { "enabled": true } });
        let body = json!({ "definition": definition, "name": key, "start": start });
        self.api(Method::POST, "/flags", None, Some(body)).await;
    }

    /// Makes the flag serve this variant in production, as its `version`-th save.
    pub(crate) async fn serve(&self, key: &str, variant: &str, version: u64) -> Value {
        let config = json!({ "enabled": true, "off_variant": "v0", "default_serve": { "variant": variant } });
        let path = format!("/flags/{key}/environments/production");
        self.api(Method::PUT, &path, Some(version), Some(json!({ "config": config }))).await
    }

    /// What an edge answers in production.
    pub(crate) async fn evaluate(&self, edge: usize, flag: &str, user: &str) -> Result<Answer, reqwest::Error> {
        self.evaluate_as(&self.stack.demo.sdk_keys["production"], edge, flag, user).await
    }

    /// What an edge answers to somebody with this SDK key.
    pub(crate) async fn evaluate_as(
        &self,
        key: &str,
        edge: usize,
        flag: &str,
        user: &str,
    ) -> Result<Answer, reqwest::Error> {
        let url = format!("{}/evaluate", self.stack.edges[edge].url());
        let body = json!({ "flagKey": flag, "context": { "targetingKey": user } });
        let request = self.client.post(url).bearer_auth(key).json(&body);
        let response = request.send().await?;
        Ok(Answer { status: response.status().as_u16(), body: response.json().await? })
    }

    /// Waits until every edge answers this variant.
    pub(crate) async fn wait_for_variant(&self, flag: &str, variant: &str) {
        for edge in 0..self.stack.edges.len() {
            let what = format!("edge {} answers {variant}", edge + 1);
            self.wait_for(&what, || async {
                self.evaluate(edge, flag, "u1").await.is_ok_and(|answer| answer.body["variant"] == variant)
            })
            .await;
        }
    }

    /// Waits until the counts of a flag in production have this sum.
    pub(crate) async fn wait_for_total(&self, flag: &str, total: u64) {
        let path = format!("/counts?environment=production&flag={flag}");
        let end = Instant::now() + PATIENCE;
        loop {
            let counted = self.api(Method::GET, &path, None, None).await["total"].as_u64().expect("a total");
            if counted == total {
                return;
            }
            assert!(counted < total && Instant::now() < end, "{counted} counted of {total}\n{}", self.stack.logs());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Waits until something holds.
    pub(crate) async fn wait_for<F: Future<Output = bool>>(&self, what: &str, mut holds: impl FnMut() -> F) {
        let end = Instant::now() + PATIENCE;
        while !holds().await {
            assert!(Instant::now() < end, "{what}: not within {PATIENCE:?}\n{}", self.stack.logs());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Asks edges without a pause; anything but a 200 fails the test that watches.
pub(crate) struct Watch {
    is_over: Arc<AtomicBool>,
    asked: JoinHandle<u64>,
}

impl Watch {
    /// Over these of the edges.
    pub(crate) fn over(product: &Product, edges: Range<usize>) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let urls: Vec<String> =
            product.stack.edges[edges].iter().map(|edge| format!("{}/evaluate", edge.url())).collect();
        let (client, key) = (product.client.clone(), product.stack.demo.sdk_keys["production"].clone());
        let stop = is_over.clone();
        let asked = tokio::spawn(async move {
            let body = json!({ "flagKey": "hot", "context": { "targetingKey": "u1" } });
            let mut asked = 0;
            while !stop.load(Ordering::Relaxed) {
                for url in &urls {
                    let answer = client.post(url).bearer_auth(&key).json(&body).send().await.expect("an answer");
                    assert_eq!(answer.status(), 200, "{url}");
                    asked += 1;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            asked
        });
        Self { is_over, asked }
    }

    /// Stops asking; returns how many answers there were.
    pub(crate) async fn end(self) -> u64 {
        self.is_over.store(true, Ordering::Relaxed);
        let asked = self.asked.await.expect("every answer was a 200");
        assert!(asked > 0);
        asked
    }
}

/// Says a measured figure, also when the test passes: what goes through `println!` is shown for failures alone.
pub(crate) fn report(figure: &str) {
    writeln!(std::io::stderr(), "{figure}").expect("a terminal or a log");
}
