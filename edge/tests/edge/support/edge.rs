//! The real edge, as a process.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use reqwest::StatusCode;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::nats::{EDGE_PASSWORD, Nats};
use super::publisher::SERVER_KEY;
use super::wait_for;

pub(crate) struct Edge {
    pub(crate) address: String,
    pub(crate) http: reqwest::Client,
    child: Child,
    folder: Option<TempDir>,
}

/// A status and a body.
pub(crate) type Answer = (StatusCode, Value);

impl Edge {
    pub(crate) async fn start(nats: &Nats, folder: TempDir) -> Self {
        Self::start_with(nats, folder, &[]).await
    }

    /// With other settings than those of a test: names of variables, and values.
    pub(crate) async fn start_with(nats: &Nats, folder: TempDir, settings: &[(&str, &str)]) -> Self {
        let mut command = command(&nats.url(), folder.path());
        command.envs(settings.iter().copied());
        Self::run(command, folder)
    }

    /// An edge with a command line or settings of the test's own.
    pub(crate) fn run(mut command: Command, folder: TempDir) -> Self {
        let log = File::options().create(true).append(true).open(folder.path().join("edge.log")).expect("a log");
        let mut child = command.stderr(log).spawn().expect("the edge starts");
        let output = child.stdout.take().expect("its output");
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).expect("a line");
        let address = line.trim().rsplit(' ').next().expect("an address").to_owned();
        if !address.starts_with("http://") {
            let log = std::fs::read_to_string(folder.path().join("edge.log")).unwrap_or_default();
            panic!("the edge did not start: {log}");
        }
        Self { address, http: reqwest::Client::new(), child, folder: Some(folder) }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.as_ref().expect("a folder").path()
    }

    /// `POST /evaluate` with the server key.
    pub(crate) async fn evaluate(&self, flag: &str) -> Answer {
        self.evaluate_as(SERVER_KEY, flag).await
    }

    pub(crate) async fn evaluate_as(&self, key: &str, flag: &str) -> Answer {
        self.evaluate_for(key, flag, json!({"targetingKey": "user-1"})).await
    }

    pub(crate) async fn evaluate_for(&self, key: &str, flag: &str, context: Value) -> Answer {
        let body = json!({"flagKey": flag, "context": context}).to_string();
        let request = self.http.post(format!("{}/evaluate", self.address)).bearer_auth(key).body(body);
        let response = request.send().await.expect("an answer");
        (response.status(), response.json().await.expect("JSON"))
    }

    /// The value a flag answers; null when there is none.
    pub(crate) async fn value(&self, flag: &str) -> Value {
        self.evaluate(flag).await.1["value"].clone()
    }

    pub(crate) async fn wait_for_value(&self, flag: &str, value: Value) {
        let what = format!("{flag} answers {value}");
        wait_for(&what, async || (self.value(flag).await == value).then_some(())).await;
    }

    pub(crate) async fn get(&self, path: &str) -> (StatusCode, String) {
        let response = self.http.get(format!("{}{path}", self.address)).send().await.expect("an answer");
        (response.status(), response.text().await.expect("text"))
    }

    pub(crate) async fn readiness(&self) -> Answer {
        let (status, body) = self.get("/readyz").await;
        (status, serde_json::from_str(&body).expect("JSON"))
    }

    pub(crate) async fn wait_until_ready(&self) {
        wait_for("the edge is ready", async || (self.readiness().await.0 == StatusCode::OK).then_some(())).await;
    }

    pub(crate) async fn wait_until_not_ready(&self) {
        wait_for("the edge is not ready", async || (self.readiness().await.0 != StatusCode::OK).then_some(())).await;
    }

    /// One figure of `/metrics`, labels included in its name.
    pub(crate) async fn metric(&self, name: &str) -> f64 {
        let (_, text) = self.get("/metrics").await;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|value| value.parse().ok()).unwrap_or(0.0)
    }

    /// Evaluations it answered so far.
    pub(crate) async fn evaluated(&self) -> u64 {
        let (_, text) = self.get("/metrics").await;
        let lines = text.lines().filter(|line| line.starts_with("fluxgate_edge_evaluations_total{"));
        let count = |line: &str| line.rsplit(' ').next()?.parse::<u64>().ok();
        lines.map(|line| count(line).expect("a count")).sum()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it wrote to its log so far, earlier processes on the folder included.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder().join("edge.log")).expect("a log")
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("signalled");
    }

    /// Tells it to stop, without waiting.
    pub(crate) fn begin_to_stop(&self) {
        self.signal(Signal::TERM);
    }

    /// Waits for its end, and hands back its folder.
    pub(crate) async fn ended(mut self) -> TempDir {
        wait_for("the edge ends", async || self.child.try_wait().expect("a state")).await;
        self.folder.take().expect("a folder")
    }

    pub(crate) async fn stop(self) -> TempDir {
        self.begin_to_stop();
        self.ended().await
    }

    pub(crate) async fn kill(self) -> TempDir {
        self.signal(Signal::KILL);
        self.ended().await
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        // Already gone after a stop.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let (true, Some(folder)) = (std::thread::panicking(), &self.folder) {
            let log = std::fs::read_to_string(folder.path().join("edge.log")).unwrap_or_default();
            eprintln!("--- edge\n{log}");
        }
    }
}

/// The binary with the settings of a test.
pub(crate) fn command(nats_url: &str, folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fluxgate-edge"));
    command
        .env_clear()
        .env("EDGE_SERVER__LISTEN", "127.0.0.1:0")
        .env("EDGE_SERVER__NAME", "edge-1")
        .env("EDGE_NATS__URL", nats_url)
        .env("EDGE_NATS__USER", "edge")
        .env("EDGE_NATS__PASSWORD", EDGE_PASSWORD)
        .env("EDGE_STORAGE__DIR", folder.join("data"))
        .env("EDGE_SERVER__SHUTDOWN_GRACE_SECONDS", "0")
        .env("EDGE_COUNTS__INTERVAL_SECONDS", "1")
        .env("EDGE_LOG__FILTER", "info,edge=debug")
        .env("NO_COLOR", "1")
        .current_dir(folder)
        .stdout(Stdio::piped());
    command
}

/// Runs the binary to its end, which is expected to be a refusal to start.
pub(crate) fn refusal(command: &mut Command) -> String {
    let Output { status, stderr, .. } = command.stderr(Stdio::piped()).output().expect("the edge runs");
    assert!(!status.success(), "the edge should refuse to start");
    String::from_utf8(stderr).expect("text")
}
