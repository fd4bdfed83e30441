//! Logs: sentences plus fields, to standard error.

use tracing_subscriber::EnvFilter;

use crate::config::{Log, LogFormat};

/// Starts logging; a second call changes nothing.
pub(crate) fn start(log: &Log) {
    let filter = EnvFilter::try_new(&log.filter).unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match log.format {
        LogFormat::Pretty => lines.compact().try_init(),
        LogFormat::Json => lines.json().try_init(),
    };
    if started.is_err() {
        tracing::debug!("logging was started before");
    }
}
