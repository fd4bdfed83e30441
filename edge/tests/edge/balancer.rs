//! Edges that come and go behind a balancer which honours `/readyz`.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::StatusCode;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use crate::support::edge::Edge;
use crate::support::nats::free_port;
use crate::support::publisher::boolean;
use crate::support::wire::post_body;
use crate::support::{World, wait_for};

/// How often readiness is asked.
const POLL: Duration = Duration::from_millis(100);
const CLIENTS: u64 = 4;
/// Between two requests of a client: 400 a second in all.
const PACE: Duration = Duration::from_millis(10);
const ROUNDS: usize = 3;

/// Which edges are sent requests, and how that went.
#[derive(Default)]
struct Balancer {
    addresses: Vec<String>,
    /// Edges whose readiness was 200 when it was last asked; each time one joins again it has another number.
    ready: Mutex<BTreeMap<usize, u64>>,
    answered: AtomicU64,
    failures: Mutex<Vec<String>>,
    is_over: AtomicBool,
}

impl Balancer {
    async fn poll(self: Arc<Self>, edge: usize) {
        let http = reqwest::Client::builder().pool_max_idle_per_host(0).build().expect("a client");
        let url = format!("http://{}/readyz", self.addresses[edge]);
        let mut joined = 0;
        while !self.is_over.load(Ordering::Relaxed) {
            let is_ready = http.get(&url).send().await.is_ok_and(|answer| answer.status() == StatusCode::OK);
            {
                let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
                if !is_ready {
                    ready.remove(&edge);
                } else {
                    ready.entry(edge).or_insert_with(|| {
                        joined += 1;
                        joined
                    });
                }
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// The edge whose turn it is, and when it joined.
    fn turn(&self, number: u64) -> Option<(usize, u64)> {
        let ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let count = u64::try_from(ready.len()).ok()?;
        let at = usize::try_from(number.checked_rem(count)?).ok()?;
        ready.iter().nth(at).map(|(edge, joined)| (*edge, *joined))
    }

    /// Sends requests in turn over connections that are kept, without trying any request twice.
    async fn send(self: Arc<Self>, first: u64) {
        let mut kept: BTreeMap<usize, (u64, TcpStream)> = BTreeMap::new();
        let mut ticks = interval(PACE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut number = first;
        while !self.is_over.load(Ordering::Relaxed) {
            ticks.tick().await;
            number += 1;
            let Some((edge, joined)) = self.turn(number) else {
                self.fail("no edge is ready".to_owned());
                continue;
            };
            // A connection from before the edge went away is not used again.
            let stream = kept.remove(&edge).filter(|(since, _)| *since == joined).map(|(_, stream)| stream);
            match request(&self.addresses[edge], stream).await {
                Ok(stream) => {
                    self.answered.fetch_add(1, Ordering::Relaxed);
                    kept.extend(stream.map(|stream| (edge, (joined, stream))));
                }
                Err(error) => self.fail(format!("edge {edge}: {error}")),
            }
        }
    }

    fn fail(&self, what: String) {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }
}

/// One request; returns the connection if it may be used again.
async fn request(address: &str, stream: Option<TcpStream>) -> io::Result<Option<TcpStream>> {
    let mut stream = match stream {
        Some(stream) => stream,
        None => TcpStream::connect(address).await?,
    };
    stream.write_all(&post_body("/evaluate", r#"{"flagKey":"checkout"}"#)).await?;
    let mut answer = Vec::new();
    loop {
        let count = stream.read_buf(&mut answer).await?;
        let text = String::from_utf8_lossy(&answer).to_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && let Some(length) = head.lines().find_map(|line| line.strip_prefix("content-length: "))
            && length.parse() == Ok(body.len())
        {
            if !head.starts_with("http/1.1 200 ") {
                return Err(io::Error::other(text));
            }
            return Ok((!head.contains("connection: close")).then_some(stream));
        }
        if count == 0 {
            return Err(io::Error::other(format!("the connection ended after '{text}'")));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edges_restarted_in_turn_behind_a_balancer_fail_no_request() {
    let world = World::new().await;
    world.publisher.put_all(1, &[boolean("checkout", true)]).await;
    let addresses: Vec<String> = (0..2).map(|_| format!("127.0.0.1:{}", free_port())).collect();
    let start = async |edge: usize, folder: TempDir| {
        let settings =
            [("EDGE_SERVER__LISTEN", addresses[edge].as_str()), ("EDGE_SERVER__SHUTDOWN_GRACE_SECONDS", "1")];
        Edge::start_with(&world.nats, folder, &settings).await
    };
    let mut edges = Vec::new();
    for edge in 0..2 {
        edges.push(start(edge, tempfile::tempdir().expect("a folder")).await);
        edges[edge].wait_until_ready().await;
    }
    let balancer = Arc::new(Balancer { addresses: addresses.clone(), ..Balancer::default() });
    let mut tasks = JoinSet::new();
    for edge in 0..2 {
        tasks.spawn(Arc::clone(&balancer).poll(edge));
    }
    let is_whole = || balancer.turn(1).is_some_and(|one| balancer.turn(2).is_some_and(|other| one.0 != other.0));
    wait_for("both edges are used", async || is_whole().then_some(())).await;
    for client in 0..CLIENTS {
        tasks.spawn(Arc::clone(&balancer).send(client));
    }
    for turn in 0..ROUNDS * 2 {
        let answered = balancer.answered.load(Ordering::Relaxed);
        wait_for("both take requests", async || {
            (is_whole() && balancer.answered.load(Ordering::Relaxed) > answered + 100).then_some(())
        })
        .await;
        let at = turn % 2;
        let folder = edges.remove(at).stop().await;
        edges.insert(at, start(at, folder).await);
        edges[at].wait_until_ready().await;
    }
    balancer.is_over.store(true, Ordering::Relaxed);
    while let Some(ended) = tasks.join_next().await {
        ended.expect("no client panicked");
    }
    let failures = balancer.failures.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let answered = balancer.answered.load(Ordering::Relaxed);
    assert!(failures.is_empty(), "{} of {answered} failed: {:#?}", failures.len(), &failures[..failures.len().min(5)]);
    for edge in edges {
        edge.stop().await;
    }
    assert_eq!(world.publisher.counted().await, answered, "every answer was counted, on the way out too");
}

#[tokio::test]
async fn an_edge_told_to_stop_fails_readiness_first_and_answers_on_until_its_grace_is_over() {
    let world = World::new().await;
    world.publisher.put_all(1, &[boolean("checkout", true)]).await;
    let folder = tempfile::tempdir().expect("a folder");
    // So long that only the second signal can end it within this test's patience.
    let edge = Edge::start_with(&world.nats, folder, &[("EDGE_SERVER__SHUTDOWN_GRACE_SECONDS", "300")]).await;
    edge.wait_until_ready().await;
    edge.begin_to_stop();
    edge.wait_until_not_ready().await;
    let (status, body) = edge.readiness().await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(body["reason"].as_str().expect("a reason").starts_with("stopping"), "{body}");
    let request = edge.http.get(format!("{}/livez", edge.address)).send().await.expect("an answer");
    assert_eq!((request.status(), &request.headers()["connection"]), (StatusCode::OK, &"close".parse().expect("text")));
    let (status, body) = edge.evaluate("checkout").await;
    assert_eq!((status, &body["value"]), (StatusCode::OK, &serde_json::json!(true)));
    edge.stop().await;
}
