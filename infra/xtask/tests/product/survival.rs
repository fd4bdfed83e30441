//! The table "What happens when … is gone" of `edge/README.md`, cell by cell: each dependency gone, and each way in
//! which an edge can meet that.

use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::block_in_place;
use xtask::stack::Options;

use crate::bundle::export;
use crate::support::{Product, Watch};

/// What is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gone {
    Nats,
    Postgres,
    Backend,
    Everything,
}

/// What an edge then answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    status: u16,
    is_stale: bool,
    /// How the reason of `/readyz` begins; absent when it is ready.
    unready: Option<&'static str>,
    /// The status for an SDK key that nobody knows.
    unknown_key: u16,
    /// The status for one that was revoked before.
    revoked_key: u16,
}

const FRESH: Cell = Cell { status: 200, is_stale: false, unready: None, unknown_key: 401, revoked_key: 401 };
const STALE: Cell = Cell { status: 200, is_stale: true, unready: Some("stale"), unknown_key: 503, revoked_key: 401 };
const EMPTY: Cell =
    Cell { status: 503, is_stale: false, unready: Some("no state"), unknown_key: 503, revoked_key: 503 };

/// The edges by what happens to them meanwhile: it goes on running, restarts with its disk, with a bundle alone, with
/// nothing.
const RUNNING: usize = 0;
const WITH_DISK: usize = 1;
const WITH_BUNDLE: usize = 2;
const WITH_NOTHING: usize = 3;
const EDGES: usize = 4;

const TABLE: [(Gone, [Cell; EDGES]); 4] = [
    (Gone::Nats, [STALE, STALE, STALE, EMPTY]),
    (Gone::Postgres, [FRESH; EDGES]),
    (Gone::Backend, [FRESH; EDGES]),
    (Gone::Everything, [STALE, STALE, STALE, EMPTY]),
];

/// A product whose every answer about one flag is counted here too.
struct Counted {
    product: Product,
    answered: u64,
    /// Saves of the flag so far.
    version: u64,
    revoked_key: String,
}

impl Counted {
    async fn start() -> Self {
        let variables = [("EDGE_COUNTS__INTERVAL_SECONDS".to_owned(), "1".to_owned())];
        let options =
            Options { edges: EDGES, own_postgres: true, edge_variables: variables.into(), ..Options::default() };
        let product = Product::start(&options).await;
        product.create_flag("hot").await;
        let key = json!({ "environment": "production", "name": "lost", "kind": "server" });
        let key = product.api(Method::POST, "/keys", None, Some(key)).await;
        let path = format!("/keys/{}/revoke", key["key"]["id"].as_str().expect("an id"));
        product.api(Method::POST, &path, None, Some(json!({}))).await;
        let revoked_key = key["secret"].as_str().expect("a secret").to_owned();
        let mut counted = Self { product, answered: 0, version: 0, revoked_key };
        counted.wait_for_value("v0").await;
        counted
    }

    async fn ask(&mut self, edge: usize) -> (u16, Value) {
        let answer = self.product.evaluate(edge, "hot", "u1").await.expect("an answer");
        self.answered += u64::from(answer.status == 200);
        (answer.status, answer.body)
    }

    /// Waits until every edge answers this, with nothing stale about it.
    async fn wait_for_value(&mut self, value: &str) {
        let end = std::time::Instant::now() + crate::support::PATIENCE;
        for edge in 0..EDGES {
            loop {
                let (status, body) = self.ask(edge).await;
                if status == 200 && body["value"] == value && body["metadata"].get("stale").is_none() {
                    break;
                }
                let logs = self.product.stack.logs();
                assert!(std::time::Instant::now() < end, "edge {edge}, {value}: {status} {body}\n{logs}");
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        }
    }

    /// The value that the last change set.
    fn value(&self) -> String {
        format!("v{}", self.version % 2)
    }

    async fn change(&mut self) {
        self.version += 1;
        let value = self.value();
        self.product.serve("hot", &value, self.version).await;
    }

    fn take_away(&mut self, gone: Gone) {
        let stack = &mut self.product.stack;
        let taken = block_in_place(|| {
            if matches!(gone, Gone::Backend | Gone::Everything) {
                stack.backend.kill()?;
            }
            if matches!(gone, Gone::Postgres | Gone::Everything) {
                // Not killed: that of a test runs without syncing to disk, so a crash would take back what was saved.
                stack.postgres.iter_mut().try_for_each(|postgres| postgres.stop())?;
            }
            if matches!(gone, Gone::Nats | Gone::Everything) {
                stack.nats.kill()?;
            }
            Ok::<_, xtask::Error>(())
        });
        taken.expect("it is gone");
    }

    fn bring_back(&mut self, gone: Gone) {
        let stack = &mut self.product.stack;
        let back = block_in_place(|| {
            if matches!(gone, Gone::Postgres | Gone::Everything) {
                stack.postgres.iter_mut().try_for_each(|postgres| postgres.start())?;
            }
            if matches!(gone, Gone::Nats | Gone::Everything) {
                stack.nats.start()?;
            }
            if matches!(gone, Gone::Backend | Gone::Everything) {
                stack.backend.start()?;
            }
            stack.wait_until_ready()
        });
        back.expect("everything is back");
    }

    /// What the edge says of its readiness.
    async fn unready(&self, edge: usize) -> Option<String> {
        let url = format!("{}/readyz", self.product.stack.edges[edge].url());
        let answer = self.product.client.get(url).send().await.expect("an answer");
        let status = answer.status();
        let body: Value = answer.json().await.expect("JSON");
        assert_eq!(status == 200, body["ready"] == true, "{body}");
        body["reason"].as_str().map(str::to_owned)
    }

    async fn check(&mut self, gone: Gone, edge: usize, cell: Cell) {
        let is_as_told = |reason: &Option<String>| match cell.unready {
            None => reason.is_none(),
            Some(begin) => reason.as_ref().is_some_and(|reason| reason.starts_with(begin)),
        };
        let what = format!("{gone:?} gone, edge {edge}: {cell:?}");
        // A restarted edge reads the bucket, a running one notices the silence: both take a moment.
        self.product.wait_for(&what, || async { is_as_told(&self.unready(edge).await) }).await;
        for _ in 0..3 {
            let (status, body) = self.ask(edge).await;
            assert_eq!(status, cell.status, "{what}: {body}");
            if status == 200 {
                assert_eq!(body["value"], self.value(), "{what}: {body}");
                assert_eq!(body["metadata"].get("stale").is_some(), cell.is_stale, "{what}: {body}");
            } else {
                assert_eq!(body["errorCode"], "PROVIDER_NOT_READY", "{what}: {body}");
            }
        }
        for (key, status) in [("fg_srv_nobody", cell.unknown_key), (&self.revoked_key, cell.revoked_key)] {
            let refused = self.product.evaluate_as(key, edge, "hot", "u1").await.expect("an answer");
            assert_eq!(refused.status, status, "{what}: {refused:?}");
        }
        assert!(is_as_told(&self.unready(edge).await), "{what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_dependency_may_be_gone_in_every_way_an_edge_can_meet_it() {
    let mut counted = Counted::start().await;
    for (gone, cells) in TABLE {
        counted.change().await;
        let value = counted.value();
        counted.wait_for_value(&value).await;
        // Counts are acknowledged before the disk is lost that holds them.
        for edge in [WITH_BUNDLE, WITH_NOTHING] {
            block_in_place(|| counted.product.stack.edges[edge].stop()).expect("it stops");
        }
        let bundle = counted.product.stack.edges[RUNNING].data().parent().expect("a folder").join("bundle.json");
        export(&counted.product, &bundle);
        counted.product.stack.edges[WITH_BUNDLE].set_variable("EDGE_STORAGE__BUNDLE", &bundle);
        let watch = Watch::over(&counted.product, RUNNING..RUNNING + 1);
        counted.take_away(gone);
        block_in_place(|| {
            counted.product.stack.edges[WITH_DISK].restart()?;
            [WITH_BUNDLE, WITH_NOTHING].into_iter().try_for_each(|edge| {
                counted.product.stack.edges[edge].delete_data()?;
                counted.product.stack.edges[edge].start()
            })
        })
        .expect("edges start with whatever they have");
        for (edge, cell) in cells.into_iter().enumerate() {
            counted.check(gone, edge, cell).await;
        }
        counted.bring_back(gone);
        counted.change().await;
        let value = counted.value();
        counted.wait_for_value(&value).await;
        for edge in 0..EDGES {
            counted.check(gone, edge, FRESH).await;
        }
        counted.answered += watch.end().await;
        counted.product.wait_for_total("hot", counted.answered).await;
    }
}
