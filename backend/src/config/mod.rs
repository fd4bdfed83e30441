//! Every setting, with its default, unit and meaning: defaults, then `backend.toml`, then `BACKEND_…` variables.

mod counts;
mod webhooks;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

pub use counts::Counts;
use figment::Figment;
use figment::providers::{Format, Toml};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use thiserror::Error;
pub use webhooks::Webhooks;

const PREFIX: &str = "BACKEND_";

/// All settings, grouped as in `backend.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// HTTP.
    #[serde(default)]
    pub server: Server,
    /// PostgreSQL.
    pub database: Database,
    /// NATS.
    #[serde(default)]
    pub nats: Nats,
    /// Sessions and secrets.
    pub auth: Auth,
    /// How counts are kept.
    #[serde(default)]
    pub counts: Counts,
    /// Where webhooks may send.
    #[serde(default)]
    pub webhooks: Webhooks,
    /// What is logged.
    #[serde(default)]
    pub log: Log,
}

/// `[server]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Server {
    /// Where to listen.
    pub listen: SocketAddr,
    /// How browsers reach it. Cookies are `Secure` unless it begins with `http://`.
    pub public_url: String,
    /// The built web UI, as `cargo xtask ui` writes it; without it only the API is served.
    pub ui_dir: Option<PathBuf>,
}

/// `[database]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Database {
    /// `postgres://user:password@host:port/name`
    pub url: String,
}

/// `[nats]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Nats {
    /// `nats://host:port`, several separated by commas.
    pub url: String,
    /// User, where NATS asks for one.
    pub user: Option<String>,
    /// The user's password.
    pub password: Option<String>,
}

/// `[auth]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Auth {
    /// 32 random bytes as 64 hex digits, the same on every backend; all keys are derived from it.
    pub secret: String,
}

/// `[log]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// `pretty` for people, `json` for machines.
    pub format: LogFormat,
    /// As `RUST_LOG`: `info`, `backend=debug`.
    pub filter: String,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Pretty,
    /// For machines.
    Json,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            public_url: "http://127.0.0.1:8080".into(),
            ui_dir: None,
        }
    }
}

impl Default for Nats {
    fn default() -> Self {
        Self { url: "nats://127.0.0.1:4222".into(), user: None, password: None }
    }
}

impl Default for Log {
    fn default() -> Self {
        Self { format: LogFormat::Pretty, filter: "info,sqlx=warn,async_nats=warn".into() }
    }
}

/// Why the settings cannot be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// A setting is unknown, missing or of the wrong kind.
    #[error(
        "{0}\n  settings stand in backend.toml or in variables such as BACKEND_SERVER__LISTEN=0.0.0.0:8080, \
         BACKEND_DATABASE__URL=postgres://user:password@localhost/fluxgate, BACKEND_AUTH__SECRET=<64 hex digits>"
    )]
    Invalid(Box<figment::Error>),
    /// A `_FILE` variable names a file that cannot be read.
    #[error("{name} names '{path}', which cannot be read: {source}")]
    File {
        /// The variable.
        name: String,
        /// What it names.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A variable is not UTF-8.
    #[error("{0} is not UTF-8")]
    Encoding(String),
    /// `auth.secret` has the wrong form.
    #[error("auth.secret must be 64 hex digits (32 random bytes); make one with `openssl rand -hex 32`")]
    Secret,
    /// A setting of `[counts]` is out of its range.
    #[error(
        "counts.{name} is {value}, but {rule}; set it in backend.toml or as BACKEND_COUNTS__{variable}={example}",
        variable = name.to_uppercase()
    )]
    Counts {
        /// The setting.
        name: &'static str,
        /// What it says.
        value: u32,
        /// What it may say.
        rule: String,
        /// One that would do.
        example: u32,
    },
}

impl Config {
    /// Reads the file, when there is one, and the environment.
    pub fn load(file: &Path) -> Result<Self, ConfigError> {
        let mut figment = Figment::from(Toml::file(file));
        for (name, value) in std::env::vars_os() {
            let Some(name) = name.to_str().filter(|n| n.starts_with(PREFIX) && n.contains("__")) else { continue };
            let value = value.into_string().map_err(|_| ConfigError::Encoding(name.into()))?;
            let (path, value) = setting(name, value)?;
            // Always text, so that a password made of digits stays one.
            figment = figment.merge((path, value));
        }
        let config: Self = figment.extract().map_err(|error| ConfigError::Invalid(Box::new(error)))?;
        config.auth.secret_bytes()?;
        config.counts.check()?;
        Ok(config)
    }
}

impl Auth {
    /// The secret as bytes.
    pub fn secret_bytes(&self) -> Result<[u8; 32], ConfigError> {
        let hex = self.secret.trim().as_bytes();
        let mut bytes = [0; 32];
        if hex.len() != 64 {
            return Err(ConfigError::Secret);
        }
        for (byte, pair) in bytes.iter_mut().zip(hex.chunks(2)) {
            let digit = |c: u8| char::from(c).to_digit(16).ok_or(ConfigError::Secret);
            *byte = (digit(pair[0])? * 16 + digit(pair[1])?) as u8;
        }
        Ok(bytes)
    }
}

/// `BACKEND_NATS__PASSWORD_FILE=/run/x` becomes `nats.password` with the file's text.
fn setting(name: &str, value: String) -> Result<(String, String), ConfigError> {
    let path = name[PREFIX.len()..].to_lowercase().replace("__", ".");
    match path.strip_suffix("_file") {
        Some(path) => match std::fs::read_to_string(&value) {
            Ok(text) => Ok((path.into(), text.trim_end().into())),
            Err(source) => Err(ConfigError::File { name: name.into(), path: value, source }),
        },
        None => Ok((path, value)),
    }
}

/// A number, or the text of one: variables are always text.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(u32),
        Text(String),
    }
    match Written::deserialize(from) {
        Ok(Written::Number(number)) => Ok(number),
        Ok(Written::Text(text)) => {
            text.trim().parse().map_err(|_| D::Error::custom(format!("'{text}' is no whole number")))
        }
        Err(_) => Err(D::Error::custom("it must be a whole number")),
    }
}

/// Yes or no, or the text of one: variables are always text.
fn yes_or_no<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Truth(bool),
        Text(String),
    }
    match Written::deserialize(from) {
        Ok(Written::Truth(truth)) => Ok(truth),
        Ok(Written::Text(text)) => {
            text.trim().parse().map_err(|_| D::Error::custom(format!("'{text}' is neither true nor false")))
        }
        Err(_) => Err(D::Error::custom("it must be true or false")),
    }
}
