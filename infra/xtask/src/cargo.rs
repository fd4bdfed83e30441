//! Running cargo and other programs from within `cargo xtask`.

use std::env;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::checkout;
use crate::error::{Context, Error, Result};
use crate::signal::Stop;

/// A cargo command in the checkout's root.
pub(crate) fn cargo() -> Command {
    let mut command = program(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(checkout::root());
    command
}

/// A command without the variables that `cargo run` set for xtask itself.
///
/// Build scripts (ring's for one) ask cargo to rebuild when these change, so leaving them in would make every switch
/// between `cargo xtask` and plain cargo a rebuild.
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"].iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
    command.env_remove("CARGO");
    command
}

/// Runs to the end with the terminal's output.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let text = text_of(command);
    let status = command.status().context(format_args!("running {text}"))?;
    if status.success() { Ok(()) } else { Err(Error::new(format!("{text} failed ({status})"))) }
}

/// Runs a command in a process group of its own and ends all of the group when asked to stop.
pub(crate) fn run_until(command: &mut Command, stop: &Stop) -> Result<()> {
    let text = text_of(command);
    let mut child = command.stdin(Stdio::null()).process_group(0).spawn().context(format_args!("running {text}"))?;
    let group = Pid::from_child(&child);
    let mut asked = 0;
    loop {
        if let Some(status) = child.try_wait().context(&text)? {
            if asked > 0 {
                let _ = kill_process_group(group, Signal::KILL);
                return Err(Error::new("interrupted"));
            }
            return if status.success() { Ok(()) } else { Err(Error::new(format!("{text} failed ({status})"))) };
        }
        if stop.is_set() {
            // First politely; what does not listen is killed two seconds later.
            let signal = if asked < 20 { Signal::TERM } else { Signal::KILL };
            if asked % 20 == 0 {
                let _ = kill_process_group(group, signal);
            }
            asked += 1;
        }
        sleep(Duration::from_millis(100));
    }
}

/// Runs to the end and returns what it wrote on stdout; what it wrote on stderr is part of an error.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    finish(command.stdout(Stdio::piped()))
}

/// The same with stdout going where the command says.
pub(crate) fn finish(command: &mut Command) -> Result<String> {
    let text = text_of(command);
    let child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn();
    let output = child.and_then(Child::wait_with_output).context(format_args!("running {text}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(Error::new(format!("{text} failed ({}): {}", output.status, said.trim())))
    }
}

/// Runs quietly for at most `limit`; the error says how it ended, with what it wrote on stderr.
pub(crate) fn run_within(command: &mut Command, limit: Duration) -> Result<()> {
    let text = text_of(command);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().context(format_args!("running {text}"))?;
    let mut stderr = child.stderr.take();
    // Read beside the wait: a program that fills the pipe would otherwise never end.
    let reader = std::thread::spawn(move || {
        let mut said = String::new();
        if let Some(stderr) = &mut stderr {
            let _ = stderr.read_to_string(&mut said);
        }
        said
    });
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait().context(&text)? {
            if status.success() {
                return Ok(());
            }
            let said = reader.join().unwrap_or_default();
            return Err(Error::new(format!("{text} failed ({status}): {}", said.trim())));
        }
        if Instant::now() >= end {
            let _ = child.kill();
            let _ = child.wait();
            return Err(Error::new(format!("{text} did not end within {} s", limit.as_secs())));
        }
        sleep(Duration::from_millis(100));
    }
}

/// The file that `name` would run, looked for in `PATH` and in the folders Debian keeps out of a user's `PATH`.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let fixed = ["/usr/sbin", "/usr/local/sbin", "/sbin"].map(PathBuf::from);
    env::split_paths(&path).chain(fixed).map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn text_of(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
