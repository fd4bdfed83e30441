//! What `infra/nats/server.conf` lets an edge do, on every nats-server there is.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_nats::jetstream::{self, kv, stream};
use async_nats::{Client, ConnectOptions};
use tokio::time::timeout;
use xtask::stack::scratch::Scratch;
use xtask::stack::{Service, nats, port, secret};

const LIMIT: Duration = Duration::from_secs(10);
/// How long to wait for what must not come.
const SILENCE: Duration = Duration::from_millis(500);

struct Server {
    nats: Service,
    passwords: nats::Passwords,
    _scratch: Scratch,
}

impl Server {
    fn start(program: &Path) -> Self {
        let scratch = Scratch::new().expect("a folder");
        let passwords = nats::Passwords {
            backend: secret::password().expect("a password"),
            edge: secret::password().expect("a password"),
        };
        let store = scratch.folder("nats").expect("a folder");
        let log = scratch.path().join("nats.log");
        let mut nats = nats::service(program, port::free().expect("a port"), store, &passwords, log);
        nats.start().expect("nats-server starts");
        Self { nats, passwords, _scratch: scratch }
    }

    async fn backend(&self) -> Client {
        let options = ConnectOptions::with_user_and_password("backend".to_owned(), self.passwords.backend.clone());
        options.connect(self.nats.url()).await.expect("the backend connects")
    }

    async fn edge(&self) -> Client {
        let options = ConnectOptions::with_user_and_password("edge".to_owned(), self.passwords.edge.clone());
        let options = options.custom_inbox_prefix("_INBOX_edge").request_timeout(Some(Duration::from_secs(2)));
        options.connect(self.nats.url()).await.expect("the edge connects")
    }
}

/// Each nats-server to test with: those `cargo xtask test` names, or the installed one.
fn servers() -> Vec<PathBuf> {
    match std::env::var_os("FLUXGATE_TEST_NATS_SERVERS") {
        Some(list) => std::env::split_paths(&list).collect(),
        None => vec![nats::program().expect("nats-server is installed")],
    }
}

/// The bucket and the stream of counts, made as the backend makes them.
async fn make_streams(backend: &Client) -> kv::Store {
    let jetstream = jetstream::new(backend.clone());
    let counts = stream::Config {
        name: "FLUXGATE_COUNTS".to_owned(),
        subjects: vec!["fluxgate.count.>".to_owned()],
        discard: stream::DiscardPolicy::New,
        ..Default::default()
    };
    jetstream.create_stream(counts).await.expect("the stream of counts");
    // `create_key_value` asks for the account's limits first and cannot read what NATS 2.9 answers.
    let bucket = stream::Config {
        name: "KV_fluxgate_state".to_owned(),
        subjects: vec!["$KV.fluxgate_state.>".to_owned()],
        max_messages_per_subject: 1,
        discard: stream::DiscardPolicy::New,
        allow_rollup: true,
        deny_delete: true,
        allow_direct: true,
        ..Default::default()
    };
    jetstream.create_stream(bucket).await.expect("the bucket");
    jetstream.get_key_value("fluxgate_state").await.expect("the bucket")
}

#[tokio::test]
async fn an_edge_reads_the_bucket_and_follows_it() {
    use futures::StreamExt;

    for program in servers() {
        let server = Server::start(&program);
        let backend = server.backend().await;
        let bucket = make_streams(&backend).await;
        bucket.put("e1.flag.f1", "one".into()).await.expect("a put");

        let edge = jetstream::new(server.edge().await);
        let read = timeout(LIMIT, edge.get_key_value("fluxgate_state")).await.expect("in time").expect("the bucket");
        let value = timeout(LIMIT, read.get("e1.flag.f1")).await.expect("in time").expect("a read");
        assert_eq!(value.as_deref(), Some("one".as_bytes()), "{}", program.display());

        let mut watch = timeout(LIMIT, read.watch_with_history(">")).await.expect("in time").expect("a watch");
        let first = timeout(LIMIT, watch.next()).await.expect("in time").expect("an entry").expect("readable");
        assert_eq!((first.key.as_str(), &first.value[..]), ("e1.flag.f1", &b"one"[..]));
        bucket.put("e1.environment", "two".into()).await.expect("a put");
        let second = timeout(LIMIT, watch.next()).await.expect("in time").expect("an entry").expect("readable");
        assert_eq!((second.key.as_str(), &second.value[..]), ("e1.environment", &b"two"[..]));
        timeout(LIMIT, edge.get_stream("FLUXGATE_COUNTS")).await.expect("in time").expect("it sees the other stream");
    }
}

#[tokio::test]
async fn an_edge_sends_counts_and_receipts() {
    use futures::StreamExt;

    for program in servers() {
        let server = Server::start(&program);
        let backend = server.backend().await;
        make_streams(&backend).await;
        let mut receipts = backend.subscribe("fluxgate.edge.>").await.expect("a subscription");
        backend.flush().await.expect("flush");

        let edge = server.edge().await;
        let sent = jetstream::new(edge.clone()).publish("fluxgate.count.p1", "{}".into()).await.expect("sent");
        let ack = timeout(LIMIT, sent).await.expect("in time").expect("acknowledged");
        assert_eq!((ack.stream.as_str(), ack.sequence), ("FLUXGATE_COUNTS", 1), "{}", program.display());

        edge.publish("fluxgate.edge.receipt", "{}".into()).await.expect("sent");
        let receipt = timeout(LIMIT, receipts.next()).await.expect("in time").expect("a receipt");
        assert_eq!(receipt.subject.as_str(), "fluxgate.edge.receipt");
    }
}

#[tokio::test]
async fn an_edge_changes_nothing_and_hears_nobody_else() {
    use futures::StreamExt;

    for program in servers() {
        let server = Server::start(&program);
        let backend = server.backend().await;
        let bucket = make_streams(&backend).await;
        bucket.put("e1.flag.f1", "one".into()).await.expect("a put");

        let client = server.edge().await;
        let edge = jetstream::new(client.clone());
        // The server answers none of these: what is forbidden is dropped.
        let read = edge.get_key_value("fluxgate_state").await.expect("the bucket");
        assert!(!matches!(timeout(SILENCE, read.put("e1.flag.f1", "stolen".into())).await, Ok(Ok(_))));
        assert!(!matches!(timeout(SILENCE, read.delete("e1.flag.f1")).await, Ok(Ok(_))));
        for stream in ["KV_fluxgate_state", "FLUXGATE_COUNTS"] {
            assert!(!matches!(timeout(SILENCE, edge.delete_stream(stream)).await, Ok(Ok(_))), "{stream}");
            let subject = format!("$JS.API.STREAM.PURGE.{stream}");
            assert!(!matches!(timeout(SILENCE, client.request(subject, "".into())).await, Ok(Ok(_))), "{stream}");
        }
        let new = stream::Config { name: "OWN".to_owned(), ..Default::default() };
        assert!(!matches!(timeout(SILENCE, edge.create_stream(new)).await, Ok(Ok(_))));

        // Plain messages, too, neither out nor in.
        let mut own = backend.subscribe("$KV.fluxgate_state.>").await.expect("a subscription");
        let mut foreign = client.subscribe("fluxgate.>").await.expect("sent; the refusal comes later");
        backend.flush().await.expect("flush");
        client.flush().await.expect("flush");
        client.publish("$KV.fluxgate_state.e1.flag.f1", "stolen".into()).await.expect("sent");
        backend.publish("fluxgate.edge.heartbeat", "{}".into()).await.expect("sent");
        assert!(timeout(SILENCE, own.next()).await.is_err(), "{}", program.display());
        assert!(!matches!(timeout(SILENCE, foreign.next()).await, Ok(Some(_))), "{}", program.display());
        let value = bucket.get("e1.flag.f1").await.expect("a read");
        assert_eq!(value.as_deref(), Some("one".as_bytes()));
    }
}
