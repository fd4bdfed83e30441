//! Asks one edge for one flag, over and over, with a new person each time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::json;
use tokio::task::JoinSet;

use crate::latency::Latency;

/// How long one request may take.
const REQUEST_LIMIT: Duration = Duration::from_secs(10);

/// What to ask, and how hard.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Arguments {
    /// The edge's address.
    #[arg(long, env = "FLUXGATE_EDGE_URL")]
    edge_url: String,
    /// A server key of the environment.
    #[arg(long, env = "FLUXGATE_SDK_KEY", hide_env_values = true)]
    sdk_key: String,
    /// The flag to ask for.
    #[arg(long, default_value = "checkout")]
    flag: String,
    /// How long to ask.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// How many connections ask at once, each waiting for its answer.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..=1000))]
    connections: u64,
}

/// What one connection or all together saw.
struct Seen {
    latency: Latency,
    /// Requests by status, or by why there was none.
    statuses: BTreeMap<String, u64>,
}

impl Seen {
    fn nothing() -> Self {
        Self { latency: Latency::new(), statuses: BTreeMap::new() }
    }
}

/// Asks and prints what it saw; an error when nothing was answered.
pub(crate) async fn run(arguments: Arguments) -> Result<(), String> {
    let start = Instant::now();
    let end = start + Duration::from_secs(arguments.seconds);
    let mut tasks = JoinSet::new();
    for connection in 0..arguments.connections {
        // A client of its own each: they share no pool, so this is one connection.
        let client = Client::builder().timeout(REQUEST_LIMIT).build().map_err(|error| error.to_string())?;
        tasks.spawn(ask(client, arguments.clone(), connection, end));
    }
    let mut all = Seen::nothing();
    while let Some(seen) = tasks.join_next().await {
        let seen = seen.map_err(|error| error.to_string())?;
        all.latency.merge(&seen.latency);
        for (status, count) in seen.statuses {
            *all.statuses.entry(status).or_default() += count;
        }
    }
    report(&all, start.elapsed())
}

async fn ask(client: Client, arguments: Arguments, connection: u64, end: Instant) -> Seen {
    let url = format!("{}/evaluate", arguments.edge_url.trim_end_matches('/'));
    let mut seen = Seen::nothing();
    for number in 0_u64.. {
        let start = Instant::now();
        if start >= end {
            break;
        }
        let person = format!("user-{connection}-{number}");
        let body = json!({"flagKey": arguments.flag, "context": {"targetingKey": person, "plan": "pro"}});
        let answer = client.post(&url).bearer_auth(&arguments.sdk_key).json(&body).send().await;
        let status = match answer {
            // The whole answer counts, not only its head.
            Ok(answer) => {
                let status = answer.status();
                answer.bytes().await.map(|_| status.as_u16().to_string())
            }
            Err(error) => Err(error),
        };
        if status.is_ok() {
            seen.latency.add(start.elapsed());
        }
        let status = status.unwrap_or_else(|error| if error.is_timeout() { "timeout" } else { "no answer" }.to_owned());
        *seen.statuses.entry(status).or_default() += 1;
    }
    seen
}

fn report(seen: &Seen, elapsed: Duration) -> Result<(), String> {
    let answers = seen.latency.count();
    println!("answers     {answers} in {:.1} s", elapsed.as_secs_f64());
    println!("per second  {:.0}", answers as f64 / elapsed.as_secs_f64());
    let [p50, p95, p99] = [0.5, 0.95, 0.99].map(|share| seen.latency.quantile_ms(share));
    println!("p50 {p50:.2} ms   p95 {p95:.2} ms   p99 {p99:.2} ms");
    for (status, count) in &seen.statuses {
        println!("{status:<10}  {count}");
    }
    if answers == 0 { Err("nothing answered".to_owned()) } else { Ok(()) }
}
