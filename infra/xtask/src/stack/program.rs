//! The programs of the product, the backend and the edges, and the demo's shop that uses them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::Value;

use crate::cargo;
use crate::error::{Context, Error, Result};
use crate::stack::{Launch, Ready, Service, secret};

/// What a backend needs to know.
#[derive(Clone, Debug)]
pub struct Backend {
    /// Its program.
    pub program: PathBuf,
    /// The port on 127.0.0.1.
    pub port: u16,
    /// The database, password included.
    pub postgres_url: String,
    /// The NATS server, without credentials.
    pub nats_url: String,
    /// The password of the NATS user `backend`.
    pub nats_password: String,
    /// 32 bytes as hex.
    pub secret: String,
    /// The built UI; without it the API alone is served.
    pub ui: Option<PathBuf>,
}

impl Backend {
    /// The server.
    pub fn service(&self, log: PathBuf) -> Service {
        let launch = Launch {
            program: self.program.clone(),
            arguments: vec!["serve".into()],
            variables: self.variables(),
            user: None,
            stop_signal: Signal::TERM,
        };
        let data = PathBuf::from("/nonexistent");
        Service::new("backend", url(self.port), launch, Ready::Http { port: self.port }, data, log)
    }

    /// Brings the database's tables up to date.
    pub fn migrate(&self) -> Result<()> {
        let mut command = cargo::program(&self.program);
        cargo::output(command.arg("migrate").envs(self.variables()).current_dir("/")).map(drop)
    }

    /// Fills an empty database with the demo project and returns its keys; `None` where somebody was there before.
    ///
    /// The keys are said only once: `file` gets them from the program itself, so that they outlive a crash of ours.
    pub fn create_demo(&self, email: &str, password: &str, file: &Path) -> Result<Option<SdkKeys>> {
        secret::write(file, "")?;
        let said = File::options().append(true).open(file).context(format_args!("opening {}", file.display()))?;
        let mut command = cargo::program(&self.program);
        command.args(["create-demo", "--email", email]).envs(self.variables());
        // Not as an argument: those are shown to every user of the machine.
        command.env("FLUXGATE_DEMO_PASSWORD", password);
        cargo::finish(command.current_dir("/").stdout(said))?;
        sdk_keys(file)
    }

    fn variables(&self) -> BTreeMap<String, OsString> {
        let mut variables: BTreeMap<String, OsString> = BTreeMap::from([
            ("BACKEND_SERVER__LISTEN".to_owned(), format!("127.0.0.1:{}", self.port).into()),
            ("BACKEND_SERVER__PUBLIC_URL".to_owned(), url(self.port).into()),
            ("BACKEND_DATABASE__URL".to_owned(), self.postgres_url.clone().into()),
            ("BACKEND_NATS__URL".to_owned(), self.nats_url.clone().into()),
            ("BACKEND_NATS__USER".to_owned(), "backend".into()),
            ("BACKEND_NATS__PASSWORD".to_owned(), self.nats_password.clone().into()),
            ("BACKEND_AUTH__SECRET".to_owned(), self.secret.clone().into()),
        ]);
        if let Some(ui) = &self.ui {
            variables.insert("BACKEND_SERVER__UI_DIR".to_owned(), ui.clone().into());
        }
        variables
    }
}

/// What an edge needs to know.
#[derive(Clone, Debug)]
pub struct Edge {
    /// Its program.
    pub program: PathBuf,
    /// Its display name.
    pub name: String,
    /// The port on 127.0.0.1.
    pub port: u16,
    /// The NATS server, without credentials.
    pub nats_url: String,
    /// The password of the NATS user `edge`.
    pub nats_password: String,
    /// The folder with its snapshot and its spool.
    pub storage: PathBuf,
}

impl Edge {
    /// The server.
    pub fn service(&self, log: PathBuf) -> Service {
        let variables = BTreeMap::from([
            ("EDGE_SERVER__LISTEN".to_owned(), format!("127.0.0.1:{}", self.port).into()),
            ("EDGE_SERVER__NAME".to_owned(), self.name.clone().into()),
            // No balancer stands in front.
            ("EDGE_SERVER__SHUTDOWN_GRACE_SECONDS".to_owned(), "0".into()),
            ("EDGE_NATS__URL".to_owned(), self.nats_url.clone().into()),
            ("EDGE_NATS__USER".to_owned(), "edge".into()),
            ("EDGE_NATS__PASSWORD".to_owned(), self.nats_password.clone().into()),
            ("EDGE_STORAGE__DIR".to_owned(), self.storage.clone().into()),
        ]);
        let launch = Launch {
            program: self.program.clone(),
            arguments: Vec::new(),
            variables,
            user: None,
            stop_signal: Signal::TERM,
        };
        let ready = Ready::Http { port: self.port };
        Service::new(&self.name, url(self.port), launch, ready, self.storage.clone(), log)
    }
}

/// A small shop that asks for the demo project's flags, so that there is something to see.
#[derive(Clone, Debug)]
pub(crate) struct Shop {
    /// The program of load tests.
    pub(crate) program: PathBuf,
    /// The edges' addresses.
    pub(crate) edges: Vec<String>,
    /// A server key of the demo project.
    pub(crate) sdk_key: String,
}

impl Shop {
    /// Its visitors, without a pause.
    pub(crate) fn service(&self, log: PathBuf) -> Service {
        let variables = BTreeMap::from([
            ("FLUXGATE_EDGE_URL".to_owned(), self.edges.join(",").into()),
            ("FLUXGATE_SDK_KEY".to_owned(), self.sdk_key.clone().into()),
        ]);
        let launch = Launch {
            program: self.program.clone(),
            arguments: vec!["shop".into()],
            variables,
            user: None,
            stop_signal: Signal::TERM,
        };
        Service::new("shop", self.edges.join(" and "), launch, Ready::Running, PathBuf::from("/nonexistent"), log)
    }
}

/// The server key of each environment, by the environment's key.
pub type SdkKeys = BTreeMap<String, String>;

/// The demo project's keys, from the line that `create-demo` left in `file`; `None` where it changed nothing.
pub fn sdk_keys(file: &Path) -> Result<Option<SdkKeys>> {
    let line = fs::read_to_string(file).context(format_args!("reading {}", file.display()))?;
    let answer: Value = serde_json::from_str(line.trim()).context("reading what create-demo said")?;
    if answer["created"] != true {
        return Ok(None);
    }
    let keys = answer["sdk_keys"].as_object().ok_or_else(|| Error::new("create-demo named no SDK keys"))?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(Some(keys.iter().map(|(environment, key)| (environment.clone(), text(key))).collect()))
}

/// The file a program has in one of cargo's folders.
pub fn built(folder: &Path, name: &str) -> Result<PathBuf> {
    let file = folder.join(name);
    if file.is_file() { Ok(file) } else { Err(Error::new(format!("{} is not built", file.display()))) }
}

fn url(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}
