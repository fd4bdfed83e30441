//! The names of all settings, with an example each, for sources that give them as text.

use std::fmt;
use std::path::PathBuf;

use figment::value::Value;

use crate::config::ConfigError;

/// What variables of the edge begin with.
pub(super) const PREFIX: &str = "EDGE_";

/// A setting as a text source may give it.
pub(super) struct Setting {
    pub(super) path: &'static str,
    kind: Kind,
    example: &'static str,
}

/// How the text of a setting is read.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Number,
    Ratio,
    Switch,
}

const fn text(path: &'static str, example: &'static str) -> Setting {
    Setting { path, kind: Kind::Text, example }
}

const fn number(path: &'static str, example: &'static str) -> Setting {
    Setting { path, kind: Kind::Number, example }
}

const fn ratio(path: &'static str, example: &'static str) -> Setting {
    Setting { path, kind: Kind::Ratio, example }
}

const fn switch(path: &'static str, example: &'static str) -> Setting {
    Setting { path, kind: Kind::Switch, example }
}

const SETTINGS: [Setting; 23] = [
    text("server.listen", "127.0.0.1:8081"),
    text("server.name", "edge-1"),
    number("server.connections_max", "20000"),
    number("server.streams_max", "15000"),
    number("server.header_timeout_seconds", "60"),
    number("server.shutdown_grace_seconds", "5"),
    text("nats.url", "nats://127.0.0.1:4222"),
    text("nats.user", "edge"),
    text("nats.password", "a-long-password"),
    text("nats.password_file", "/run/secrets/nats-password"),
    switch("nats.offline", "true"),
    text("storage.dir", "/var/lib/fluxgate-edge"),
    text("storage.bundle", "/etc/fluxgate/bundle.json"),
    number("counts.interval_seconds", "5"),
    number("cache.assignment_max_capacity", "10000"),
    text("log.format", "json"),
    text("log.filter", "info,edge=debug"),
    text("traces.endpoint", "http://127.0.0.1:4318"),
    ratio("traces.sample_ratio", "0.01"),
    text("traces.headers", "api-key=abc"),
    text("traces.headers_file", "/run/secrets/traces-headers"),
    text("traces.resource_attributes", "deployment.environment.name=production"),
    switch("traces.targeting_key", "true"),
];

impl Setting {
    /// The setting of this path, as `server.listen`.
    pub(super) fn of(path: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.path == path)
    }

    /// The value that a text stands for.
    pub(super) fn parse(&self, text: &str) -> Result<Value, ConfigError> {
        let trimmed = text.trim();
        let parsed = match self.kind {
            Kind::Text => Some(Value::from(text)),
            Kind::Number => trimmed.parse::<u64>().ok().map(Value::from),
            Kind::Ratio => trimmed.parse::<f64>().ok().filter(|ratio| ratio.is_finite()).map(Value::from),
            Kind::Switch => trimmed.parse::<bool>().ok().map(Value::from),
        };
        parsed.ok_or_else(|| {
            let wanted = if matches!(self.kind, Kind::Switch) { "true or false" } else { "a number" };
            self.invalid(format!("'{text}' is not {wanted}"))
        })
    }

    fn variable(&self) -> String {
        format!("{PREFIX}{}", self.path.to_ascii_uppercase().replace('.', "__"))
    }

    /// As a person would write it into the environment.
    pub(super) fn example(&self) -> String {
        format!("{}={}", self.variable(), self.example)
    }

    /// The error that names the setting and shows an example.
    pub(super) fn invalid(&self, problem: impl fmt::Display) -> ConfigError {
        ConfigError::Invalid(format!("{} ({})", self.variable(), self.path), problem.to_string(), self.example())
    }
}

/// The setting that shares most of the beginning, for the example in a message.
pub(super) fn nearest(path: &str) -> &'static Setting {
    let shared = |setting: &&Setting| setting.path.bytes().zip(path.bytes()).take_while(|(a, b)| a == b).count();
    let best = SETTINGS.iter().map(|setting| shared(&setting)).max().unwrap_or(0);
    SETTINGS.iter().find(|setting| shared(setting) == best).unwrap_or(&SETTINGS[0])
}

/// Reads a secret from its file, where it lies in one.
pub(super) fn secret(
    path: &str,
    file_path: &str,
    value: &mut Option<String>,
    file: &mut Option<PathBuf>,
) -> Result<(), ConfigError> {
    let (Some(file), Some(setting)) = (file.take(), Setting::of(file_path)) else { return Ok(()) };
    if value.is_some() {
        return Err(setting.invalid(format!("{path} is set too; keep one of the two")));
    }
    match std::fs::read_to_string(&file) {
        Ok(text) => *value = Some(text.trim_end_matches(['\r', '\n']).to_owned()),
        Err(error) => return Err(setting.invalid(format!("{} cannot be read: {error}", file.display()))),
    }
    Ok(())
}
