//! Logs: sentences plus fields, on standard error, for people or for machines.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::{Log, LogFormat};

/// Starts logging as the settings say. The filter was checked with the settings; calling it twice changes nothing.
pub fn start(log: &Log) {
    let filter = EnvFilter::try_new(&log.filter).unwrap_or_else(|_| EnvFilter::new("info"));
    let has_colours = std::io::stderr().is_terminal();
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(has_colours);
    // A second start, as in tests, keeps the first.
    let _ = match log.format {
        LogFormat::Pretty => logs.try_init(),
        LogFormat::Json => logs.json().flatten_event(true).try_init(),
    };
}
