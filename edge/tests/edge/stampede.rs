//! Many event streams whose edge restarts.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::support::edge::Edge;
use crate::support::load::Load;
use crate::support::nats::free_port;
use crate::support::publisher::{SERVER_KEY, boolean};
use crate::support::{World, wait_for};

const STREAMS: usize = 500;
/// Longer than anything takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(30);
/// Too many for any stretch of half a second, were they spread over four seconds: eight times 62.
const TOGETHER_MAX: usize = STREAMS / 4;
const CLIENTS_METRIC: &str = "fluxgate_edge_sse_clients";

/// What a client of a stream does: opens it, notes the wait it is told, and comes back when the stream ends, after
/// that wait.
struct Client {
    address: String,
    request: String,
    /// Streams that said their first word, of all clients together.
    opened: Arc<AtomicUsize>,
}

impl Client {
    /// Returns the wait that was told before the stream ended, and the stream that came after.
    async fn stay(self) -> (Duration, TcpStream) {
        let (wait, mut stream) = self.open().await.expect("the first stream opens");
        let mut rest = Vec::new();
        // How it ends does not matter.
        let _ = stream.read_to_end(&mut rest).await;
        let until = Instant::now() + DEADLINE;
        loop {
            sleep(wait).await;
            if let Some((_, stream)) = self.open().await {
                return (wait, stream);
            }
            assert!(Instant::now() < until, "the stream does not come back");
        }
    }

    async fn open(&self) -> Option<(Duration, TcpStream)> {
        let mut stream = TcpStream::connect(&self.address).await.ok()?;
        stream.write_all(self.request.as_bytes()).await.ok()?;
        let mut text = String::new();
        while !text.contains("\n\n") {
            let mut buffer = [0; 1024];
            let count = timeout(DEADLINE, stream.read(&mut buffer)).await.expect("a word in time").ok()?;
            text.push_str(std::str::from_utf8(&buffer[..count]).expect("text"));
            if count == 0 {
                return None;
            }
        }
        assert!(text.starts_with("HTTP/1.1 200 "), "{text}");
        let wait = text.lines().find_map(|line| line.strip_prefix("retry: ")).expect("a wait");
        self.opened.fetch_add(1, Ordering::Relaxed);
        Some((Duration::from_millis(wait.parse().expect("a number")), stream))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_of_an_edge_that_restarts_come_back_spread_while_it_answers() {
    let world = World::new().await;
    world.publisher.put_all(1, &[boolean("checkout", true)]).await;
    let address = format!("127.0.0.1:{}", free_port());
    let listen = [("EDGE_SERVER__LISTEN", address.as_str())];
    let edge = Edge::start_with(&world.nats, tempfile::tempdir().expect("a folder"), &listen).await;
    edge.wait_until_ready().await;
    let request = edge.http.post(format!("{}/ofrep/v1/evaluate/flags", edge.address)).bearer_auth(SERVER_KEY);
    let body: Value = request.send().await.expect("an answer").json().await.expect("JSON");
    let path = body["eventStreams"][0]["endpoint"]["requestUri"].as_str().expect("an address").to_owned();
    let opened = Arc::new(AtomicUsize::new(0));
    let mut clients = JoinSet::new();
    for _ in 0..STREAMS {
        let request = format!("GET {path} HTTP/1.1\r\nhost: edge\r\n\r\n");
        clients.spawn(Client { address: address.clone(), request, opened: Arc::clone(&opened) }.stay());
    }
    wait_for("every stream is open", async || (opened.load(Ordering::Relaxed) == STREAMS).then_some(())).await;
    assert_eq!(edge.metric(CLIENTS_METRIC).await, STREAMS as f64);

    let folder = edge.stop().await;
    let edge = Edge::start_with(&world.nats, folder, &listen).await;
    edge.wait_until_ready().await;
    // From here on it is ready and answers, however many come back.
    let mut load = Load::on(&edge, 2);
    let (mut waits, mut streams) = (Vec::new(), Vec::new());
    while let Some(client) = clients.join_next().await {
        let (wait, stream) = client.expect("it came back");
        waits.push(wait);
        streams.push(stream);
        assert_eq!(edge.readiness().await.0, StatusCode::OK);
    }
    load.must_go_on();
    load.end().await;
    assert_eq!(edge.value("checkout").await, json!(true));
    wait_for("every stream is back", async || (edge.metric(CLIENTS_METRIC).await == STREAMS as f64).then_some(()))
        .await;
    waits.sort_unstable();
    let distinct = waits.iter().collect::<BTreeSet<_>>().len();
    let until = |since: Duration| waits.partition_point(|wait| *wait < since + Duration::from_millis(500));
    let most = waits.iter().enumerate().map(|(at, since)| until(*since) - at).max().expect("waits");
    assert!(distinct > STREAMS / 2 && most <= TOGETHER_MAX, "{distinct} waits, {most} together: {waits:?}");
}
