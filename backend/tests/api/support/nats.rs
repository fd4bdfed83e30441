//! A real NATS server of the test's own.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::new_id;

/// Stops when dropped; its store is deleted.
pub(crate) struct Nats {
    program: PathBuf,
    port: u16,
    store: PathBuf,
    child: Option<Child>,
}

impl Nats {
    /// One server of every version that tests run on.
    pub(crate) fn start_all() -> Vec<Self> {
        let programs = std::env::var("FLUXGATE_TEST_NATS_SERVERS").unwrap_or_else(|_| "/usr/sbin/nats-server".into());
        programs.split(':').map(Self::start).collect()
    }

    /// The first of them.
    pub(crate) fn start_one() -> Self {
        let programs = std::env::var("FLUXGATE_TEST_NATS_SERVERS").unwrap_or_else(|_| "/usr/sbin/nats-server".into());
        Self::start(programs.split(':').next().expect("a nats-server"))
    }

    fn start(program: &str) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port").port();
        let store = std::env::temp_dir().join(format!("fluxgate-test-nats-{}", new_id().simple()));
        let mut nats = Self { program: program.into(), port, store, child: None };
        nats.run();
        nats
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Stops it and deletes its store; it comes back empty on the same port.
    pub(crate) fn wipe(&mut self) {
        self.kill();
        std::fs::remove_dir_all(&self.store).expect("a store to delete");
        self.run();
    }

    fn run(&mut self) {
        let child = Command::new(&self.program)
            .args(["-a", "127.0.0.1", "-js", "-p", &self.port.to_string(), "-sd"])
            .arg(&self.store)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.child = Some(child.expect("nats-server; run `cargo xtask test`"));
        let deadline = Instant::now() + Duration::from_secs(10);
        while std::net::TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(Instant::now() < deadline, "nats-server does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("a running server");
            child.wait().expect("its end");
        }
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
        if let Err(error) = std::fs::remove_dir_all(&self.store) {
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "the store cannot be deleted");
        }
    }
}
