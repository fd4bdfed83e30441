//! A real nats-server with the credentials and rights of production.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use async_nats::{Client, ConnectOptions};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::wait_for;

const FIRST_PORT: u16 = 20_000;
const LAST_PORT: u16 = 31_999;
/// Ports given out by this process.
static GIVEN_PORTS: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

const BACKEND_PASSWORD: &str = "backend-of-a-test";
pub(crate) const EDGE_PASSWORD: &str = "edge-of-a-test";

/// The servers to test with.
pub(crate) fn binaries() -> Vec<String> {
    let named = std::env::var("FLUXGATE_TEST_NATS_SERVERS").unwrap_or_default();
    let named: Vec<String> = named.split(':').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    if !named.is_empty() {
        return named;
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let folders = ["/usr/sbin"].into_iter().chain(path.split(':'));
    let found = folders.map(|folder| Path::new(folder).join("nats-server")).find(|file| file.exists());
    let found = found.expect("nats-server; install it or name it in FLUXGATE_TEST_NATS_SERVERS");
    vec![found.to_str().expect("a path of text").to_owned()]
}

/// A port nobody listens at, below those the system gives to outgoing connections: a server that was down for a while
/// finds it free again.
pub(crate) fn free_port() -> u16 {
    let ports = FIRST_PORT..=LAST_PORT;
    let mut given = GIVEN_PORTS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut tries = (0..1000).map(|_| rand::random_range(ports.clone()));
    let port = tries.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok() && given.insert(*port));
    port.expect("a free port")
}

pub(crate) struct Nats {
    binary: String,
    host: &'static str,
    port: u16,
    store: TempDir,
    child: Option<Child>,
}

impl Nats {
    pub(crate) async fn start(binary: &str) -> Self {
        Self::start_at(binary, "127.0.0.1").await
    }

    /// On an address of this machine, as it stands in a URL.
    pub(crate) async fn start_at(binary: &str, host: &'static str) -> Self {
        let port = free_port();
        let store = tempfile::tempdir().expect("a folder");
        let mut nats = Self { binary: binary.into(), host, port, store, child: None };
        nats.restart().await;
        nats
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://{}:{}", self.host, self.port)
    }

    /// Connects with all rights.
    pub(crate) async fn connect(&self) -> Option<Client> {
        connect(&self.url()).await
    }

    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("killed");
            child.wait().expect("gone");
        }
    }

    /// Lets it hang: connections stand, nobody answers.
    pub(crate) fn pause(&self) {
        self.signal(Signal::STOP);
    }

    pub(crate) fn wake(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let child = self.child.as_ref().expect("a running server");
        kill_process(Pid::from_child(child), signal).expect("signalled");
    }

    /// Starts it again on the same port with what is left of its store.
    pub(crate) async fn restart(&mut self) {
        self.kill();
        let config = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../infra/nats/server.conf");
        let log = self.store.path().join("nats.log");
        let child = Command::new(&self.binary)
            .arg("-c")
            .arg(config)
            .args(["-a", self.host.trim_matches(['[', ']']), "-p", &self.port.to_string()])
            .arg("-sd")
            .arg(self.store.path().join("jetstream"))
            .arg("-l")
            .arg(log)
            .env("FLUXGATE_NATS_BACKEND_PASSWORD", BACKEND_PASSWORD)
            .env("FLUXGATE_NATS_EDGE_PASSWORD", EDGE_PASSWORD)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nats-server starts");
        let url = self.url();
        let child = self.child.insert(child);
        wait_for("nats-server answers", async || {
            let answer = connect(&url).await;
            // Whoever answers once the child has ended is somebody else.
            let ended = child.try_wait().expect("a state");
            assert!(ended.is_none(), "nats-server ended: {ended:?}");
            answer
        })
        .await;
    }

    /// A copy of everything it stored; it must be down.
    pub(crate) fn copy_store(&self) -> TempDir {
        assert!(self.child.is_none(), "the store of a running server");
        let copy = tempfile::tempdir().expect("a folder");
        copy_folder(&self.store.path().join("jetstream"), copy.path());
        copy
    }

    /// Replaces everything it stored by a copy; it must be down.
    pub(crate) fn put_store_back(&self, copy: &Path) {
        self.wipe();
        copy_folder(copy, &self.store.path().join("jetstream"));
    }

    /// Deletes everything it stored; it must be down.
    pub(crate) fn wipe(&self) {
        assert!(self.child.is_none(), "the store of a running server");
        std::fs::remove_dir_all(self.store.path().join("jetstream")).expect("wiped");
    }
}

/// With all that is in it.
pub(crate) fn copy_folder(from: &Path, to: &Path) {
    let mut copy = Command::new("cp");
    let status = copy.arg("-a").arg("-T").arg(from).arg(to).status().expect("cp runs");
    assert!(status.success(), "{} is copied", from.display());
}

async fn connect(url: &str) -> Option<Client> {
    let options = ConnectOptions::new().user_and_password("backend".into(), BACKEND_PASSWORD.into());
    options.connect(url).await.ok()
}

impl Drop for Nats {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = std::fs::read_to_string(self.store.path().join("nats.log")).unwrap_or_default();
            eprintln!("--- nats-server {}\n{log}", self.binary);
        }
        self.kill();
    }
}
