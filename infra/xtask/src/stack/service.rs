//! One process of the product: PostgreSQL, NATS, the backend or an edge.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::guard::Guard;
use super::identity::Identity;
use super::port;
use super::probe::Ready;
use crate::cargo;
use crate::error::{Context, Error, Result};

/// How long a start may take until the part listens.
const START_LIMIT: Duration = Duration::from_secs(30);
/// How long a part may take to end after it was asked to.
pub(crate) const STOP_LIMIT: Duration = Duration::from_secs(20);
/// How much of a log's end is read for the last lines.
const LOG_END_BYTES: usize = 16 * 1024;

/// How a process is started.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Its program.
    pub program: PathBuf,
    /// The program's arguments.
    pub arguments: Vec<OsString>,
    /// Variables added to those of this process.
    pub variables: BTreeMap<String, OsString>,
    /// User and group to run as, when not this process's.
    pub user: Option<(u32, u32)>,
    /// What asks it to end.
    pub stop_signal: Signal,
}

/// How long a process lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// As long as the process that started it, at most.
    Bound,
    /// Until it is stopped: in its own session, so that closing the terminal does not end it.
    Detached,
}

/// One process of the product, running or not.
#[derive(Debug)]
pub struct Service {
    name: String,
    url: String,
    data: PathBuf,
    log: PathBuf,
    launch: Launch,
    lifetime: Lifetime,
    ready: Ready,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    identity: Identity,
    guard: Option<Guard>,
}

impl Service {
    /// A service that does not run yet. `data` is the folder with what it remembers.
    pub fn new(name: &str, url: String, launch: Launch, ready: Ready, data: PathBuf, log: PathBuf) -> Self {
        Self { name: name.to_owned(), url, data, log, launch, lifetime: Lifetime::Bound, ready, running: None }
    }

    /// The same, living as long as said.
    pub fn living(mut self, lifetime: Lifetime) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// Its name: `postgres`, `nats`, `backend`, `edge-1` …
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it answers; the same across restarts.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The folder with what it remembers.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// The file with all it wrote on stdout and stderr.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The process, while there is one.
    pub fn identity(&self) -> Option<Identity> {
        self.running.as_ref().map(|running| running.identity)
    }

    /// Sets a variable for the next start.
    pub fn set_variable(&mut self, name: &str, value: impl Into<OsString>) {
        self.launch.variables.insert(name.to_owned(), value.into());
    }

    /// Starts it and returns when it listens; whether it can do its work is for [`Service::wait_until_ready`].
    pub fn start(&mut self) -> Result<()> {
        self.start_unless(&|| false)
    }

    /// The same, given up when `is_stopped` says so.
    pub(crate) fn start_unless(&mut self, is_stopped: &dyn Fn() -> bool) -> Result<()> {
        self.spawn()?;
        self.wait(START_LIMIT, "listening", Ready::is_live, is_stopped)
    }

    /// Starts it without waiting for anything.
    pub fn spawn(&mut self) -> Result<()> {
        if self.is_running() {
            return Err(Error::new(format!("{} runs already", self.name)));
        }
        let step = format!("starting {}", self.name);
        // Whoever has the port would answer in its place.
        if let Some(port) = self.ready.port().filter(|port| !port::is_free(*port)) {
            return Err(Error::new(format!("{step}: port {port} is taken by {}", port::holder(port))));
        }
        let log = OpenOptions::new().append(true).create(true).open(&self.log);
        let log = log.context(format_args!("opening {}", self.log.display()))?;
        let mut command = match self.lifetime {
            Lifetime::Bound => cargo::program(&self.launch.program),
            Lifetime::Detached => {
                // setsid replaces itself by the program, so the number stays.
                let mut command = cargo::program("setsid");
                command.arg(&self.launch.program);
                command
            }
        };
        command.args(&self.launch.arguments).envs(&self.launch.variables).current_dir("/");
        // A log is for people and for `end_of`, not for a terminal.
        command.env("NO_COLOR", "1");
        command.stdin(Stdio::null()).stderr(log.try_clone().context(&step)?).stdout(log);
        if let Some((user, group)) = self.launch.user {
            command.uid(user).gid(group);
        }
        if self.lifetime == Lifetime::Bound {
            // Ctrl-C at the terminal is for the process that stops all parts in order.
            command.process_group(0);
        }
        let mut child = command.spawn().context(format_args!("{step}: {}", self.launch.program.display()))?;
        let guard = Guard::over(child.id(), signal_name(self.launch.stop_signal));
        let identity = Identity::of(child.id().cast_signed());
        let (Ok(guard), Some(identity)) = (guard, identity) else {
            let _ = child.kill();
            let _ = child.wait();
            return Err(Error::new(format!("{step}: could not watch over the new process")));
        };
        self.running = Some(Running { child, identity, guard: Some(guard) });
        Ok(())
    }

    /// Waits until it can do its work; the error holds what it said last.
    pub fn wait_until_ready(&mut self, limit: Duration) -> Result<()> {
        self.wait_until_ready_unless(limit, &|| false)
    }

    /// The same, given up when `is_stopped` says so.
    pub(crate) fn wait_until_ready_unless(&mut self, limit: Duration, is_stopped: &dyn Fn() -> bool) -> Result<()> {
        self.wait(limit, "ready", Ready::is_ready, is_stopped)
    }

    /// An error with what it says, unless it can do its work now.
    pub fn is_ready(&self) -> Result<()> {
        self.ready.is_ready()
    }

    /// Whether the process is there.
    pub fn is_running(&mut self) -> bool {
        let is_running = self.running.as_mut().is_some_and(|running| matches!(running.child.try_wait(), Ok(None)));
        if !is_running {
            self.forget();
        }
        is_running
    }

    /// Asks it to end and waits; killed when it does not. Nothing happens when it does not run.
    pub fn stop(&mut self) -> Result<()> {
        self.end(self.launch.stop_signal, STOP_LIMIT)
    }

    /// Kills it, as a crash of the machine would.
    pub fn kill(&mut self) -> Result<()> {
        self.end(Signal::KILL, Duration::from_secs(5))
    }

    /// Stops and starts it.
    pub fn restart(&mut self) -> Result<()> {
        self.stop()?;
        self.start()
    }

    /// Forgets everything it remembers, as a lost disk would.
    pub fn delete_data(&mut self) -> Result<()> {
        if self.is_running() {
            return Err(Error::new(format!("{} runs: stop it first", self.name)));
        }
        let folder = fs::read_dir(&self.data).context(format_args!("reading {}", self.data.display()))?;
        for entry in folder {
            let path = entry.context(self.data.display())?.path();
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.context(format_args!("removing {}", path.display()))?;
        }
        Ok(())
    }

    /// Lets a detached process live on; it no longer belongs to this value.
    pub fn release(&mut self) {
        if let Some(guard) = self.running.take().and_then(|running| running.guard) {
            guard.release();
        }
    }

    fn wait(
        &mut self,
        limit: Duration,
        what: &str,
        ask: impl Fn(&Ready) -> Result<()>,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<()> {
        let end = Instant::now() + limit;
        loop {
            let Err(said) = ask(&self.ready) else { return Ok(()) };
            if is_stopped() {
                return Err(Error::new("interrupted"));
            }
            if !self.is_running() {
                return Err(Error::new(format!("{} ended by itself; {}", self.name, self.last_words())));
            }
            if Instant::now() >= end {
                let text = format!("{} is not {what} after {} s ({said})", self.name, limit.as_secs());
                return Err(Error::new(format!("{text}; {}", self.last_words())));
            }
            sleep(Duration::from_millis(50));
        }
    }

    /// Where its log lies and how it ends.
    pub(crate) fn last_words(&self) -> String {
        format!("its log {} ends:\n{}", self.log.display(), end_of(&self.log))
    }

    fn end(&mut self, signal: Signal, limit: Duration) -> Result<()> {
        if let Some(running) = &mut self.running {
            running.identity.stop(signal, limit).context(format_args!("stopping {}", self.name))?;
        }
        self.forget();
        Ok(())
    }

    fn forget(&mut self) {
        if let Some(mut running) = self.running.take() {
            let _ = running.child.wait();
            if let Some(guard) = running.guard {
                guard.release();
            }
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

/// The last twenty lines of a log.
pub fn end_of(log: &Path) -> String {
    let bytes = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(LOG_END_BYTES)..]);
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].iter().map(|line| format!("    {line}\n")).collect()
}

/// The name by which a shell's `kill` knows the signals used here.
fn signal_name(signal: Signal) -> &'static str {
    if signal == Signal::INT { "INT" } else { "TERM" }
}
