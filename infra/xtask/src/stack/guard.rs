//! Ends a process when the one that started it is gone, however that went.
//!
//! A guard is a shell waiting at a pipe whose other end this process holds. Killed, crashed or interrupted, the pipe
//! closes with us and the shell ends what it guards. (The kernel's own "signal at parent's death" follows the thread
//! that started the child, and the threads of a test end while their servers must stay.)

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::error::{Context, Result};

/// Watches over one process.
#[derive(Debug)]
pub(super) struct Guard(Child);

impl Guard {
    /// Ends process `pid` with `signal`, two seconds later its group with KILL, should this process end first.
    pub(super) fn over(pid: u32, signal: &str) -> Result<Self> {
        let script = "read -r word || { kill -s \"$2\" \"$1\"; sleep 2; kill -s KILL -- \"-$1\"; }";
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script, "guard", &pid.to_string(), signal]);
        // Its own group: Ctrl-C at the terminal must not end the guard.
        command.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        command.spawn().map(Self).context("starting a guard")
    }

    /// Lets the process be.
    pub(super) fn release(mut self) {
        if let Some(mut pipe) = self.0.stdin.take() {
            let _ = pipe.write_all(b"released\n");
        }
        let _ = self.0.wait();
    }
}
