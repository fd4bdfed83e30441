//! Stopping what `up` started.

use std::fs;

use rustix::process::Signal;

use crate::checkout;
use crate::error::{Context, Result};
use crate::say;
use crate::stack::{Identity, end_of};
use crate::up::{Home, PARTS, STOP_LIMIT, SUPERVISOR};

/// Stops the stack of this checkout; nothing happens when it does not run.
pub(crate) fn run() -> Result<()> {
    let home = Home::of_checkout();
    report_ended(&home);
    if stop(&home)? {
        say::step("stopped");
    } else {
        say::step("nothing was running");
    }
    Ok(())
}

/// Stops whatever runs and says whether anything did.
pub(crate) fn stop(home: &Home) -> Result<bool> {
    let mut was_running = false;
    // An `up` in the foreground stops its parts itself; without it they would look crashed to it.
    if let Some(supervisor) = alive(home, SUPERVISOR) {
        was_running = true;
        say::step("asking the running `up` to stop");
        supervisor.stop(Signal::TERM, STOP_LIMIT * 5)?;
    }
    for part in PARTS.iter().rev() {
        if let Some(process) = alive(home, part) {
            was_running = true;
            say::step(format_args!("stopping {part}"));
            let signal = if *part == "postgres" { Signal::INT } else { Signal::TERM };
            if !process.stop(signal, STOP_LIMIT).context(part)? {
                say::note("it did not end by itself and was killed");
            }
        }
        let _ = fs::remove_file(home.identity(part));
    }
    let _ = fs::remove_file(home.identity(SUPERVISOR));
    Ok(was_running)
}

/// The process of a part, while it runs.
pub(crate) fn alive(home: &Home, part: &str) -> Option<Identity> {
    Identity::read(&home.identity(part), &checkout::root()).filter(Identity::is_alive)
}

/// Says which parts ended by themselves while others still run.
pub(crate) fn report_ended(home: &Home) {
    let is_any_alive = PARTS.iter().any(|part| alive(home, part).is_some());
    for part in PARTS {
        if is_any_alive && home.identity(part).is_file() && alive(home, part).is_none() {
            let log = home.log(part);
            say::note(format_args!("{part} had ended by itself; its log {} ends:\n{}", log.display(), end_of(&log)));
        }
    }
}
