//! Applications: so many connections to each edge, asking one flag after the other for one user after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::time::sleep_until;
use xtask::stack::Stack;

use crate::connection::Connection;
use crate::storm;

/// How many users there are.
const USERS: u64 = 10_000_000;
/// Shares no factor with the number of users, so that all of them come before one comes again.
const STRIDE: u64 = 7_368_787;
pub(crate) const PLANS: [&str; 4] = ["free", "pro", "team", "enterprise"];
const CONNECTIONS_PER_EDGE: usize = 8;
const LATE: Duration = Duration::from_millis(50);
/// The most failures that are written down.
const FAILURES_MAX: usize = 100;

/// How to ask.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// Evaluations a second over all edges; as fast as answers come when absent.
    pub(crate) per_second: Option<f64>,
    pub(crate) lasts: Duration,
    /// One answer of so many is kept; none for 0.
    pub(crate) keep_every: u64,
}

/// One answer that was kept.
pub(crate) struct Sample {
    pub(crate) flag: usize,
    pub(crate) user: u64,
    pub(crate) body: Value,
}

/// What came of it.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) asked: u64,
    pub(crate) failures: Vec<String>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) slowest: Duration,
    pub(crate) late: u64,
}

pub(crate) struct Load {
    addresses: Vec<String>,
    key: String,
    answered: Vec<AtomicU64>,
    turn: AtomicU64,
}

impl Load {
    pub(crate) fn new(stack: &Stack, flags: usize) -> Self {
        let address = |edge: &xtask::stack::Service| edge.url().trim_start_matches("http://").to_owned();
        Self {
            addresses: stack.edges.iter().map(address).collect(),
            key: stack.demo.sdk_keys["production"].clone(),
            answered: (0..flags).map(|_| AtomicU64::new(0)).collect(),
            turn: AtomicU64::new(0),
        }
    }

    /// How often a flag was answered.
    pub(crate) fn answered(&self, flag: usize) -> u64 {
        self.answered[flag].load(Ordering::Relaxed)
    }

    pub(crate) async fn run(self: &Arc<Self>, plan: Plan) -> Outcome {
        let connections = self.addresses.len() * CONNECTIONS_PER_EDGE;
        let tasks: Vec<_> = (0..connections)
            .map(|number| {
                let load = Arc::clone(self);
                tokio::spawn(async move { load.ask(number, connections, plan).await })
            })
            .collect();
        let mut whole = Outcome::default();
        for task in tasks {
            let part = task.await.expect("a connection's task ends");
            whole.asked += part.asked;
            whole.failures.extend(part.failures);
            whole.samples.extend(part.samples);
            whole.slowest = whole.slowest.max(part.slowest);
            whole.late += part.late;
        }
        whole
    }

    /// One connection. A slow answer delays the next question but never leaves one out.
    async fn ask(&self, number: usize, connections: usize, plan: Plan) -> Outcome {
        let mut outcome = Outcome::default();
        let address = &self.addresses[number % self.addresses.len()];
        let mut connection = Connection::open(address).await.expect("a connection");
        let interval = plan.per_second.map(|rate| Duration::from_secs_f64(connections as f64 / rate));
        let began = Instant::now();
        let mut due = began + interval.unwrap_or_default().mul_f64(number as f64 / connections as f64);
        while began.elapsed() < plan.lasts {
            if let Some(interval) = interval {
                if due > Instant::now() {
                    sleep_until(due.into()).await;
                }
                due += interval;
            }
            let turn = self.turn.fetch_add(1, Ordering::Relaxed);
            let (flag, user) = (turn as usize % self.answered.len(), turn.wrapping_mul(STRIDE) % USERS);
            let asked = Instant::now();
            outcome.asked += 1;
            match connection.evaluate(&self.key, &question(flag, user)).await {
                Ok(body) => {
                    self.answered[flag].fetch_add(1, Ordering::Relaxed);
                    if plan.keep_every > 0 && turn.is_multiple_of(plan.keep_every) {
                        outcome.samples.push(Sample { flag, user, body: serde_json::from_slice(body).expect("JSON") });
                    }
                }
                Err(error) => {
                    if outcome.failures.len() < FAILURES_MAX {
                        outcome.failures.push(format!("{error}, {:?} after the begin", began.elapsed()));
                    }
                    connection = Connection::open(address).await.expect("a new connection");
                }
            }
            let took = asked.elapsed();
            outcome.slowest = outcome.slowest.max(took);
            outcome.late += u64::from(took > LATE);
        }
        outcome
    }
}

fn question(flag: usize, user: u64) -> String {
    let (flag, plan) = (storm::key(flag), plan_of(user));
    format!("{{\"flagKey\":\"{flag}\",\"context\":{{\"targetingKey\":\"user-{user}\",\"plan\":\"{plan}\"}}}}")
}

/// A user's plan.
pub(crate) fn plan_of(user: u64) -> &'static str {
    PLANS[(user / 7) as usize % PLANS.len()]
}
