//! A world for one test: its own NATS, a publisher that writes what it likes, and edges.

pub(crate) mod bundle;
pub(crate) mod collector;
pub(crate) mod edge;
pub(crate) mod ingester;
pub(crate) mod load;
pub(crate) mod nats;
pub(crate) mod publisher;
pub(crate) mod wire;

use std::time::{Duration, Instant};

use edge::Edge;
use nats::Nats;
use publisher::Publisher;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Longer than anything takes on a busy machine; a test that passes never waits for it.
const DEADLINE: Duration = Duration::from_secs(30);

/// Whether tests shall take the time for the real size of what they usually do in small.
pub(crate) fn is_long() -> bool {
    std::env::var_os("FLUXGATE_TEST_LONG").is_some()
}

/// Waits until `condition` yields something.
pub(crate) async fn wait_for<T>(what: &str, mut condition: impl AsyncFnMut() -> Option<T>) -> T {
    let until = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = condition().await {
            return found;
        }
        assert!(Instant::now() < until, "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Tests of hundreds of connections run beside each other, and the usual limit of open files is 1,024.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).expect("raised as far as it may be");
}

/// NATS with a bucket and the stream of counts.
pub(crate) struct World {
    pub(crate) nats: Nats,
    pub(crate) publisher: Publisher,
}

impl World {
    /// On the first server that is named.
    pub(crate) async fn new() -> Self {
        Self::on(&nats::binaries()[0]).await
    }

    pub(crate) async fn on(binary: &str) -> Self {
        Self::over(Nats::start(binary).await).await
    }

    /// On the first server, listening at this address of this machine.
    pub(crate) async fn on_host(host: &'static str) -> Self {
        Self::over(Nats::start_at(&nats::binaries()[0], host).await).await
    }

    async fn over(nats: Nats) -> Self {
        raise_open_files();
        let publisher = Publisher::new(&nats).await;
        publisher.make_bucket().await;
        publisher.make_counts().await;
        Self { nats, publisher }
    }

    /// An edge in a folder of its own.
    pub(crate) async fn edge(&self) -> Edge {
        Edge::start(&self.nats, tempfile::tempdir().expect("a folder")).await
    }

    /// The same with further settings, as variables.
    pub(crate) async fn edge_with(&self, settings: &[(&str, &str)]) -> Edge {
        Edge::start_with(&self.nats, tempfile::tempdir().expect("a folder"), settings).await
    }

    /// An edge that answers one flag, `checkout`, which is on for everybody.
    pub(crate) async fn ready_edge(&self) -> Edge {
        self.publisher.put_all(1, &[publisher::boolean("checkout", true)]).await;
        let edge = self.edge().await;
        edge.wait_until_ready().await;
        edge
    }
}
