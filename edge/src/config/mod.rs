//! Every setting of the edge with its default, unit and meaning.
//!
//! Defaults, then `edge.toml`, then the environment (`EDGE_NATS__URL` is `nats.url`), then `--set`; the later wins.
//! Of the edge's own variables only those with `__` are read, because Kubernetes adds `EDGE_PORT` and the like of its
//! own. An unknown or invalid setting stops the start with its name and an example.

mod setting;
#[cfg(test)]
mod tests;
mod traces;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use figment::Figment;
use figment::providers::{Format, Serialized, Toml};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

pub use traces::{Endpoint, Traces};

use setting::{PREFIX, Setting, nearest, secret};

/// Read from the working folder when `--config` is not given and the file exists.
const DEFAULT_FILE: &str = "edge.toml";

/// All settings.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where and how requests are taken.
    pub server: Server,
    /// Where the state comes from.
    pub nats: Nats,
    /// What survives a restart.
    pub storage: Storage,
    /// How evaluations are brought home.
    pub counts: Counts,
    /// What is remembered to save work.
    pub cache: Cache,
    /// What is logged.
    pub log: Log,
    /// Where traces go.
    pub traces: Traces,
}

/// Where and how requests are taken.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Address and port to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Display name of this edge, 1 to 100 characters; the host's name when absent.
    pub name: String,
    /// The most connections at once, 1 to 1,000,000; further ones wait in the kernel's queue.
    pub connections_max: u32,
    /// The most event streams at once, 1 to 1,000,000; never more than three quarters of the connections.
    pub streams_max: u32,
    /// How long a client may take for a request's head, and a connection may idle, in seconds, 1 to 3,600.
    pub header_timeout_seconds: u64,
    /// How long requests are still taken after SIGTERM while readiness already fails, in seconds, 0 to 300.
    pub shutdown_grace_seconds: u64,
}

/// Where the state comes from.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nats {
    /// One or more server addresses, separated by commas.
    pub url: String,
    /// User of the role `edge`; absent when the server asks for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Its password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// A file holding the password, in place of `password`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_file: Option<PathBuf>,
    /// No connection at all: answers come from `storage.bundle` alone, nothing is counted or reported, and nothing is
    /// written to disk.
    pub offline: bool,
}

/// What survives a restart.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Storage {
    /// Folder of this edge alone; made when absent, with mode 0700.
    pub dir: PathBuf,
    /// A state bundle to start from, as `fluxgate-backend export-bundle` writes it; of it and the folder's last good
    /// state the newer one answers, per environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundle: Option<PathBuf>,
}

/// How evaluations are brought home.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// How often counters are gathered and sent, in seconds, 1 to 60.
    pub interval_seconds: u64,
}

/// What is remembered to save work; none of it changes an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// How many assignments of experiments are remembered as told, 8 bytes each, 0 to 10,000,000; 0 tells each time.
    pub assignment_max_capacity: u64,
}

/// What is logged.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// For people or for machines.
    pub format: LogFormat,
    /// Levels by module, as `info,edge::feed=debug`.
    pub filter: String,
}

/// How a line of the log looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text for people.
    Pretty,
    /// One JSON object per line.
    Json,
}

impl fmt::Debug for Nats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nats").field("user", &self.user).finish_non_exhaustive()
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            server: Server {
                listen: SocketAddr::from(([127, 0, 0, 1], 8081)),
                name: host_name(),
                connections_max: 20_000,
                streams_max: 15_000,
                header_timeout_seconds: 60,
                shutdown_grace_seconds: 5,
            },
            nats: Nats {
                url: "nats://127.0.0.1:4222".into(),
                user: None,
                password: None,
                password_file: None,
                offline: false,
            },
            storage: Storage { dir: "./edge-data".into(), bundle: None },
            counts: Counts { interval_seconds: 5 },
            cache: Cache { assignment_max_capacity: 10_000 },
            log: Log { format: LogFormat::Pretty, filter: "info".into() },
            traces: Traces::default(),
        }
    }
}

/// Why the edge does not start.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// No setting of this name.
    #[error("{0} is not a setting of the edge; settings look like {1}")]
    Unknown(String, String),
    /// A setting that cannot be used.
    #[error("the setting {0} is invalid: {1}; for example {2}")]
    Invalid(String, String, String),
    /// The file named by `--config`.
    #[error("the configuration file {} cannot be used: {problem}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        problem: String,
    },
}

impl Config {
    /// Reads all sources. `file` is what `--config` names, `overrides` are texts as `server.name=edge-1`.
    pub fn read(
        file: Option<&Path>,
        variables: impl IntoIterator<Item = (String, String)>,
        overrides: &[String],
    ) -> Result<Self, ConfigError> {
        let mut figment = Figment::from(Serialized::defaults(Self::default()));
        let variables: BTreeMap<String, String> = variables.into_iter().collect();
        for (name, path) in BORROWED {
            if let Some(value) = variables.get(name) {
                figment = merge(figment, name, path, value)?;
            }
        }
        if let Some(path) = file {
            if let Err(error) = std::fs::metadata(path) {
                return Err(ConfigError::File { path: path.into(), problem: error.to_string() });
            }
            figment = figment.merge(Toml::file_exact(path));
        } else if Path::new(DEFAULT_FILE).exists() {
            figment = figment.merge(Toml::file_exact(DEFAULT_FILE));
        }
        for (name, value) in &variables {
            if let Some(own) = name.strip_prefix(PREFIX).filter(|own| own.contains("__")) {
                let path = own.to_ascii_lowercase().replace("__", ".");
                figment = merge(figment, name, &path, value)?;
            }
        }
        for text in overrides {
            let (path, value) = text.split_once('=').unwrap_or((text, ""));
            figment = merge(figment, path, path, value)?;
        }
        let config: Self = figment.extract().map_err(|error| named(&error, file))?;
        config.checked()
    }

    fn checked(mut self) -> Result<Self, ConfigError> {
        let require = |path: &str, holds: bool, problem: &str| match (holds, Setting::of(path)) {
            (false, Some(setting)) => Err(setting.invalid(problem)),
            _ => Ok(()),
        };
        let server = &self.server;
        require("server.name", (1..=100).contains(&server.name.chars().count()), "use 1 to 100 characters")?;
        require("server.connections_max", (1..=1_000_000).contains(&server.connections_max), "use 1 to 1000000")?;
        require("server.streams_max", (1..=1_000_000).contains(&server.streams_max), "use 1 to 1000000")?;
        let head = server.header_timeout_seconds;
        require("server.header_timeout_seconds", (1..=3_600).contains(&head), "use 1 to 3600 seconds")?;
        let grace = server.shutdown_grace_seconds;
        require("server.shutdown_grace_seconds", grace <= 300, "use 0 to 300 seconds")?;
        require("counts.interval_seconds", (1..=60).contains(&self.counts.interval_seconds), "use 1 to 60 seconds")?;
        let capacity = self.cache.assignment_max_capacity;
        require("cache.assignment_max_capacity", capacity <= 10_000_000, "use 0 to 10000000")?;
        require("log.filter", EnvFilter::try_new(&self.log.filter).is_ok(), "this is not a filter of levels")?;
        // A word alone would be taken for a module's name, and silence all others.
        let is_word = |part: &&str| !part.contains(['=', '[']) && part.trim().parse::<LevelFilter>().is_err();
        let word = self.log.filter.split(',').find(is_word).map(|word| format!("'{word}' is not a level"));
        require("log.filter", word.is_none(), word.as_deref().unwrap_or_default())?;
        let is_url = |url: &str| url.trim().parse::<async_nats::ServerAddr>().is_ok();
        require("nats.url", self.nats.url.split(',').all(is_url), "this is not an address of a NATS server")?;
        require("storage.dir", !self.storage.dir.as_os_str().is_empty(), "a folder is needed")?;
        let is_file = self.storage.bundle.as_ref().is_none_or(|path| !path.as_os_str().is_empty());
        require("storage.bundle", is_file, "name the file, or leave the setting out")?;
        let problem = "it is missing, and an edge that is offline (nats.offline) has nothing else to answer from";
        require("storage.bundle", !self.nats.offline || self.storage.bundle.is_some(), problem)?;
        let Nats { password, password_file, .. } = &mut self.nats;
        secret("nats.password", "nats.password_file", password, password_file)?;
        let is_pair = self.nats.user.is_some() == self.nats.password.is_some();
        require("nats.password", is_pair, "nats.user and nats.password go together")?;
        self.traces.check()?;
        Ok(self)
    }
}

/// Variables of others that stand for a setting which neither a file nor a variable of the edge's own gives.
const BORROWED: [(&str, &str); 2] =
    [("OTEL_EXPORTER_OTLP_ENDPOINT", "traces.endpoint"), ("OTEL_RESOURCE_ATTRIBUTES", "traces.resource_attributes")];

/// Adds one setting that came as text.
fn merge(figment: Figment, name: &str, path: &str, value: &str) -> Result<Figment, ConfigError> {
    let Some(setting) = Setting::of(path) else {
        return Err(ConfigError::Unknown(name.into(), nearest(path).example()));
    };
    Ok(figment.merge((path, setting.parse(value)?)))
}

/// Names the setting that figment complains about, with an example.
fn named(error: &figment::Error, file: Option<&Path>) -> ConfigError {
    let path = error.path.join(".");
    match (&error.kind, Setting::of(&path)) {
        (figment::error::Kind::UnknownField(field, _), _) => {
            let whole =
                if path.is_empty() || path.ends_with(field.as_str()) { path } else { format!("{path}.{field}") };
            let whole = if whole.is_empty() { field.clone() } else { whole };
            let example = nearest(&whole).example();
            ConfigError::Unknown(whole, example)
        }
        (kind, Some(setting)) => setting.invalid(kind),
        (kind, None) => {
            ConfigError::File { path: file.unwrap_or(Path::new(DEFAULT_FILE)).into(), problem: kind.to_string() }
        }
    }
}

/// The host's name as Linux knows it.
fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name: String = name.trim().chars().take(100).collect();
    if name.is_empty() { "edge".into() } else { name }
}
