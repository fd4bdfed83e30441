//! Which process is meant: its number together with when it started, so that a reused number is never mistaken for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::error::{Context, Error, Result};

/// One process, now or in the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    pid: i32,
    /// Clock ticks since the machine started, as in `/proc/<pid>/stat`.
    started: u64,
}

impl Identity {
    /// The process that has this number at the moment.
    pub fn of(pid: i32) -> Option<Self> {
        let (_, started) = stat(pid)?;
        Some(Self { pid, started })
    }

    /// What an earlier [`Identity::write`] left for this checkout. A file that was copied with another checkout tells of
    /// that one's process; only a checkout that was moved, and so left nothing behind, keeps what it noted.
    pub fn read(file: &Path, checkout: &Path) -> Option<Self> {
        let text = fs::read_to_string(file).ok()?;
        let mut words = text.trim_end_matches('\n').splitn(3, ' ');
        let (pid, started) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let owner = Path::new(words.next()?);
        (owner == canonical(checkout) || !owner.exists()).then_some(Self { pid, started })
    }

    /// Notes it in `file` as a process of this checkout.
    pub fn write(&self, file: &Path, checkout: &Path) -> Result<()> {
        let text = format!("{} {} {}\n", self.pid, self.started, canonical(checkout).display());
        fs::write(file, text).context(format_args!("writing {}", file.display()))
    }

    /// Its number.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Whether it still runs; one that ended and was not yet collected by its parent does not.
    pub fn is_alive(&self) -> bool {
        stat(self.pid).is_some_and(|(state, started)| started == self.started && !matches!(state, 'Z' | 'X'))
    }

    /// Sends `signal` if it still runs.
    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.pid).filter(|_| self.is_alive()) {
            // It may have ended since: that is what was wanted.
            let _ = kill_process(pid, signal);
        }
    }

    /// Asks it to end with `signal`; after `limit` it and its process group are killed. Says whether it ended by itself.
    pub fn stop(&self, signal: Signal, limit: Duration) -> Result<bool> {
        self.signal(signal);
        if self.has_ended_within(limit) {
            return Ok(true);
        }
        if let Some(pid) = Pid::from_raw(self.pid).filter(|_| self.is_alive()) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        self.signal(Signal::KILL);
        if self.has_ended_within(Duration::from_secs(5)) {
            return Ok(false);
        }
        Err(Error::new(format!("process {} does not end", self.pid)))
    }

    fn has_ended_within(&self, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        while self.is_alive() {
            if Instant::now() >= end {
                return false;
            }
            sleep(Duration::from_millis(20));
        }
        true
    }
}

fn canonical(checkout: &Path) -> PathBuf {
    checkout.canonicalize().unwrap_or_else(|_| checkout.to_path_buf())
}

/// State and start of a process.
fn stat(pid: i32) -> Option<(char, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything, so count from its end: state is field 3, the start is field 22.
    let mut fields = text.rsplit_once(") ")?.1.split(' ');
    let state = char::from_str(fields.next()?).ok()?;
    Some((state, fields.nth(18)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::stack::scratch::Scratch;

    #[test]
    fn a_copied_checkout_does_not_know_the_processes_of_the_original_and_a_moved_one_does() {
        let scratch = Scratch::new().expect("a folder");
        let (original, copy) = (scratch.folder("the original").expect("one"), scratch.folder("copy").expect("two"));
        let own = Identity::of(std::process::id().cast_signed()).expect("this process");
        let file = original.join("part.pid");
        own.write(&file, &original).expect("written");
        assert_eq!(Identity::read(&file, &original), Some(own));
        fs::copy(&file, copy.join("part.pid")).expect("a copy");
        assert_eq!(Identity::read(&copy.join("part.pid"), &copy), None);
        fs::remove_dir_all(&original).expect("away");
        assert_eq!(Identity::read(&copy.join("part.pid"), &copy), Some(own));
    }

    #[test]
    fn a_reused_number_is_another_process() {
        let own = Identity::of(std::process::id().cast_signed()).expect("this process");
        assert!(own.is_alive());
        assert!(!Identity { started: own.started + 1, ..own }.is_alive());
    }

    #[test]
    fn an_ended_process_is_not_alive_even_before_it_is_collected() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep");
        let identity = Identity::of(child.id().cast_signed()).expect("the child");
        assert!(identity.stop(Signal::TERM, Duration::from_secs(5)).expect("stop"));
        child.wait().expect("wait");
        assert!(!identity.is_alive());
    }
}
