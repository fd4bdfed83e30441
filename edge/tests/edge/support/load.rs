//! Applications that ask without pause.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use serde_json::json;
use tokio::task::JoinSet;

use super::edge::Edge;
use super::publisher::SERVER_KEY;
use super::wait_for;

/// Clients that ask without pause and count the answers they got.
pub(crate) struct Load {
    answered: Arc<AtomicU64>,
    /// In microseconds.
    slowest: Arc<AtomicU64>,
    ends: Arc<AtomicBool>,
    clients: JoinSet<()>,
}

impl Load {
    pub(crate) fn on(edge: &Edge, clients: usize) -> Self {
        let (answered, ends) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let slowest = Arc::new(AtomicU64::new(0));
        let mut set = JoinSet::new();
        for _ in 0..clients {
            let (answered, ends, http) = (Arc::clone(&answered), Arc::clone(&ends), edge.http.clone());
            let slowest = Arc::clone(&slowest);
            let url = format!("{}/evaluate", edge.address);
            set.spawn(async move {
                while !ends.load(Ordering::Relaxed) {
                    let body = json!({"flagKey": "checkout", "context": {"targetingKey": "u"}}).to_string();
                    let began = Instant::now();
                    let sent = http.post(&url).bearer_auth(SERVER_KEY).body(body).send().await;
                    let Ok(response) = sent else { return };
                    let is_answer = response.status() == StatusCode::OK;
                    // The edge is on its way out.
                    if response.bytes().await.is_err() || !is_answer {
                        return;
                    }
                    answered.fetch_add(1, Ordering::Relaxed);
                    let took = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
                    slowest.fetch_max(took, Ordering::Relaxed);
                }
            });
        }
        Self { answered, slowest, ends, clients: set }
    }

    pub(crate) async fn reaches(&self, answers: u64) {
        wait_for("enough was asked", async || (self.answered.load(Ordering::Relaxed) >= answers).then_some(())).await;
    }

    /// Ends the clients; returns how many answers they got.
    pub(crate) async fn end(mut self) -> u64 {
        self.ends.store(true, Ordering::Relaxed);
        while self.clients.join_next().await.is_some() {}
        self.answered.load(Ordering::Relaxed)
    }

    /// Fails when a client got anything but an answer.
    pub(crate) fn must_go_on(&mut self) {
        assert!(self.clients.try_join_next().is_none(), "a request was not answered");
    }

    /// The longest that an answer took.
    pub(crate) fn slowest(&self) -> Duration {
        Duration::from_micros(self.slowest.load(Ordering::Relaxed))
    }
}
