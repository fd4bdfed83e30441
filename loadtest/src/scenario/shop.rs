//! A small shop: visitors come, its pages ask for the demo project's flags, some of them buy. Keeps dashboards alive and
//! gives the demo's experiment something to find.

use std::time::Duration;

use reqwest::{Client, Response};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

/// How long one request may take.
const REQUEST_LIMIT: Duration = Duration::from_secs(5);
/// Wait after an edge did not answer.
const RETRY: Duration = Duration::from_secs(1);
/// Regular customers; each comes again and again.
const VISITORS: u32 = 20_000;
const PLANS: [&str; 4] = ["free", "pro", "team", "enterprise"];
const COUNTRIES: [&str; 5] = ["DE", "FR", "IN", "US", "BR"];
/// What a page asks for beside the colour of its button.
const FLAGS: [&str; 6] = ["checkout", "search-v2", "new-payments", "dark-mode", "export/csv", "cart/items-max"];
/// A spelling mistake in some old release of the shop's own software.
const MISTAKE: &str = "chekout";
const EXPERIMENT: &str = "checkout/theme";

/// Which shop, and how busy.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Arguments {
    /// Addresses of edges, asked in turn.
    #[arg(long, env = "FLUXGATE_EDGE_URL", value_delimiter = ',')]
    edge_url: Vec<String>,
    /// A server key of the environment.
    #[arg(long, env = "FLUXGATE_SDK_KEY", hide_env_values = true)]
    sdk_key: String,
    /// Visits a second; each asks for about seven flags.
    #[arg(long, default_value_t = 3.0, value_parser = visits)]
    visits_per_second: f64,
}

fn visits(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|_| format!("'{text}' is no number"))?;
    if (0.01..=100.0).contains(&rate) { Ok(rate) } else { Err(format!("{text} is not within 0.01 and 100")) }
}

/// Goes on until it is stopped.
pub(crate) async fn run(arguments: Arguments) -> Result<(), String> {
    let client = Client::builder().timeout(REQUEST_LIMIT).build().map_err(|error| error.to_string())?;
    let interval = Duration::from_secs_f64(1.0 / arguments.visits_per_second);
    let mut due = Instant::now();
    for edge in arguments.edge_url.iter().cycle() {
        sleep_until(due).await;
        let shop = Shop { client: &client, edge: edge.trim_end_matches('/'), key: &arguments.sdk_key };
        // A shop goes on without its flags; so does this one.
        due = match shop.visit().await {
            Ok(()) => due.max(Instant::now() - RETRY) + interval,
            Err(_) => Instant::now() + RETRY,
        };
    }
    Err("--edge-url names no edge".to_owned())
}

struct Shop<'a> {
    client: &'a Client,
    edge: &'a str,
    key: &'a str,
}

impl Shop<'_> {
    async fn visit(&self) -> Result<(), reqwest::Error> {
        let visitor = rand::random_range(0..VISITORS);
        // Not at random, so that the same visitor is always the same person.
        let pick = |words: &'static [&'static str], by: u32| words[(visitor / by) as usize % words.len()];
        let context = json!({
            "targetingKey": format!("visitor-{visitor}"), "plan": pick(&PLANS, 7), "country": pick(&COUNTRIES, 31),
        });
        for flag in FLAGS {
            self.evaluate(flag, &context).await?;
        }
        if rand::random_bool(0.02) {
            self.evaluate(MISTAKE, &context).await?;
        }
        if rand::random_bool(0.1) {
            // An app of the shop takes all flags at once.
            self.post("/ofrep/v1/evaluate/flags", &json!({ "context": context })).await?;
        }
        let answer = self.evaluate(EXPERIMENT, &context).await?;
        let chance = match answer["variant"].as_str() {
            Some("green") => 0.08,
            Some("blue") => 0.06,
            _ => 0.05,
        };
        if rand::random_bool(chance) {
            let value = f64::from(rand::random_range(1_500..20_000_u32)) / 100.0;
            self.post("/track", &json!({ "eventName": "purchase", "context": context, "value": value })).await?;
        }
        Ok(())
    }

    async fn evaluate(&self, flag: &str, context: &Value) -> Result<Value, reqwest::Error> {
        let answer = self.post("/evaluate", &json!({ "flagKey": flag, "context": context })).await?;
        answer.json().await
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Response, reqwest::Error> {
        self.client.post(format!("{}{path}", self.edge)).bearer_auth(self.key).json(body).send().await
    }
}
