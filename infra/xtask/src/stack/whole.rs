//! A whole product for one test.
//!
//! ```no_run
//! use xtask::stack::{Options, Stack};
//!
//! let mut stack = Stack::start(&Options::default())?;
//! stack.nats.stop()?;
//! stack.nats.delete_data()?;
//! stack.nats.start()?;
//! for edge in &mut stack.edges {
//!     edge.wait_until_ready(std::time::Duration::from_secs(30))?;
//! }
//! # Ok::<(), xtask::Error>(())
//! ```

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use super::scratch::Scratch;
use super::{Service, nats, port, postgres, program, secret};
use crate::checkout;
use crate::error::{Error, Result};

/// How long the product may take to become ready.
const READY_LIMIT: Duration = Duration::from_secs(60);

/// What a test wants.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many edges.
    pub edges: usize,
    /// A PostgreSQL server of its own, for tests that stop it; otherwise a database in the one that all tests share.
    pub own_postgres: bool,
    /// The nats-server to use instead of the installed one.
    pub nats_server: Option<PathBuf>,
    /// More variables for the backend.
    pub backend_variables: BTreeMap<String, String>,
    /// More variables for every edge.
    pub edge_variables: BTreeMap<String, String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            edges: 2,
            own_postgres: false,
            nats_server: None,
            backend_variables: BTreeMap::new(),
            edge_variables: BTreeMap::new(),
        }
    }
}

/// What the demo project gives to a test.
#[derive(Clone, Debug)]
pub struct Demo {
    /// The project's key.
    pub project: String,
    /// Who may sign in.
    pub email: String,
    /// With this password.
    pub password: String,
    /// Who approves changes of production, which is protected, with the same password.
    pub approver: String,
    /// The server key of each environment, by the environment's key.
    pub sdk_keys: program::SdkKeys,
}

/// A running product, stopped and removed when dropped.
#[derive(Debug)]
pub struct Stack {
    /// The edges, `edge-1` first.
    pub edges: Vec<Service>,
    /// The backend.
    pub backend: Service,
    /// The NATS server.
    pub nats: Service,
    /// The PostgreSQL server, when it is the test's own.
    pub postgres: Option<Service>,
    /// The backend's database.
    pub postgres_url: String,
    /// What the NATS users' passwords are.
    pub nats_passwords: nats::Passwords,
    /// The demo project.
    pub demo: Demo,
    backend_settings: program::Backend,
    backend_variables: BTreeMap<String, String>,
    /// Dropped last but for the folder, when nobody uses the database any more.
    _database: Option<Database>,
    scratch: Scratch,
    edge_program: PathBuf,
    edge_variables: BTreeMap<String, String>,
}

impl Stack {
    /// Starts all parts, creates the demo project and returns when backend and edges are ready.
    pub fn start(options: &Options) -> Result<Self> {
        let scratch = Scratch::new()?;
        let programs = PathBuf::from(variable("FLUXGATE_TEST_BIN_DIR")?);
        let log = |name: &str| scratch.path().join(format!("{name}.log"));

        let (postgres, database, postgres_url) = start_postgres(options.own_postgres, &scratch)?;

        let nats_passwords = nats::Passwords { backend: secret::password()?, edge: secret::password()? };
        let installed = || nats::program().ok_or_else(|| Error::new("nats-server is not installed"));
        let nats_program = options.nats_server.clone().map_or_else(installed, Ok)?;
        let store = scratch.folder("nats")?;
        let mut nats = nats::service(&nats_program, port::free()?, store, &nats_passwords, log("nats"));
        nats.start()?;

        let settings = program::Backend {
            program: program::built(&programs, "fluxgate-backend")?,
            port: port::free()?,
            postgres_url: postgres_url.clone(),
            nats_url: nats.url().to_owned(),
            nats_password: nats_passwords.backend.clone(),
            secret: secret::hex(32)?,
            ui: env::var_os("FLUXGATE_TEST_UI_DIR").map(PathBuf::from).filter(|folder| folder.is_dir()),
        };
        settings.migrate()?;
        let demo = create_demo(&settings, &scratch)?;
        let mut backend = settings.service(log("backend"));
        for (name, value) in &options.backend_variables {
            backend.set_variable(name, value);
        }
        backend.start()?;

        let mut stack = Self {
            edges: Vec::new(),
            backend,
            nats,
            postgres,
            postgres_url,
            nats_passwords,
            demo,
            backend_settings: settings,
            backend_variables: options.backend_variables.clone(),
            _database: database,
            scratch,
            edge_program: program::built(&programs, "fluxgate-edge")?,
            edge_variables: options.edge_variables.clone(),
        };
        for _ in 0..options.edges {
            stack.add_edge()?.start()?;
        }
        stack.wait_until_ready()?;
        Ok(stack)
    }

    /// One more backend on the same database, not started yet. It is the caller's to keep.
    pub fn another_backend(&self) -> Result<Service> {
        let settings = program::Backend { port: port::free()?, ..self.backend_settings.clone() };
        let mut backend = settings.service(self.scratch.path().join("another-backend.log"));
        for (name, value) in &self.backend_variables {
            backend.set_variable(name, value);
        }
        Ok(backend)
    }

    /// One more edge with a folder of its own, not started yet.
    pub fn add_edge(&mut self) -> Result<&mut Service> {
        let name = format!("edge-{}", self.edges.len() + 1);
        let settings = program::Edge {
            program: self.edge_program.clone(),
            port: port::free()?,
            nats_url: self.nats.url().to_owned(),
            nats_password: self.nats_passwords.edge.clone(),
            storage: self.scratch.folder(&name)?,
            name: name.clone(),
        };
        let mut edge = settings.service(self.scratch.path().join(format!("{name}.log")));
        for (name, value) in &self.edge_variables {
            edge.set_variable(name, value);
        }
        self.edges.push(edge);
        self.edges.last_mut().ok_or_else(|| Error::new("an edge was just added"))
    }

    /// Waits until backend and edges can do their work.
    pub fn wait_until_ready(&mut self) -> Result<()> {
        self.backend.wait_until_ready(READY_LIMIT)?;
        self.edges.iter_mut().try_for_each(|edge| edge.wait_until_ready(READY_LIMIT))
    }

    /// Everything every part wrote, for a failing test's output.
    pub fn logs(&self) -> String {
        let services = [&self.nats, &self.backend].into_iter().chain(&self.edges).chain(&self.postgres);
        let text = |service: &Service| {
            let written = fs::read_to_string(service.log()).unwrap_or_default();
            format!("── {} ──\n{written}\n", service.name())
        };
        services.map(text).collect()
    }
}

/// A database in the cluster that all tests share, removed when dropped.
#[derive(Debug)]
struct Database {
    programs: PathBuf,
    admin_url: String,
    name: String,
}

impl Drop for Database {
    fn drop(&mut self) {
        let name = &self.name;
        let removed = format!("drop database if exists {name} with (force);\ndrop role if exists {name}");
        let _ = postgres::query(&self.programs, &self.admin_url, &removed);
    }
}

/// The server if it is the test's own, the database if it is not, and the backend's address.
fn start_postgres(own: bool, scratch: &Scratch) -> Result<(Option<Service>, Option<Database>, String)> {
    let programs = postgres::programs().ok_or_else(|| Error::new("PostgreSQL is not installed"))?;
    let password = secret::password()?;
    let (service, admin_url) = if own {
        let cluster = postgres::Cluster {
            programs: programs.clone(),
            folder: scratch.path().join("postgres"),
            password: secret::password()?,
            port: port::free()?,
            is_durable: false,
        };
        cluster.create()?;
        let mut service = cluster.service(scratch.path().join("postgres.log"))?;
        service.start()?;
        (Some(service), cluster.url("postgres"))
    } else {
        (None, variable("FLUXGATE_TEST_POSTGRES_URL")?)
    };
    let name = format!("fluxgate_{}", secret::hex(6)?);
    postgres::create_database(&programs, &admin_url, &name, &password)?;
    let url = postgres::url_for(&admin_url, &name, &password, &name)?;
    let database = if own { None } else { Some(Database { programs, admin_url, name }) };
    Ok((service, database, url))
}

fn create_demo(backend: &program::Backend, scratch: &Scratch) -> Result<Demo> {
    let (email, password) = ("ana@example.com".to_owned(), secret::password()?);
    let keys = backend.create_demo(&email, &password, &scratch.path().join("demo.json"))?;
    let sdk_keys = keys.ok_or_else(|| Error::new("the new database was not empty"))?;
    let approver = "ben@example.com".to_owned();
    Ok(Demo { project: "shop".to_owned(), email, password, approver, sdk_keys })
}

fn variable(name: &str) -> Result<String> {
    let hint = format!("{name} is not set: run tests with `cargo xtask test` (from {})", checkout::root().display());
    env::var(name).map_err(|_| Error::new(hint))
}
