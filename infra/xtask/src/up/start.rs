//! Starting the parts one after another.

use std::fs;
use std::mem;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{Arguments, Home, SHOP, announce};
use crate::checkout;
use crate::error::{Context, Error, Result};
use crate::say;
use crate::signal::Stop;
use crate::stack::program::{Backend, Edge, SdkKeys, Shop, built, sdk_keys};
use crate::stack::{Lifetime, Service, nats, postgres, secret};

/// Who may sign in to the demo project.
pub(super) const EMAIL: &str = "ana@example.com";
/// The backend's role and database.
const DATABASE: &str = "fluxgate";
/// How long backend and edges together may take until they can do their work.
const READY_LIMIT: Duration = Duration::from_secs(60);

/// Starts all parts and writes `.fluxgate/env`. Should a step fail, those that run already are stopped again.
pub(super) fn all(
    home: &Home,
    arguments: &Arguments,
    ui: &Path,
    lifetime: Lifetime,
    stop: &Stop,
) -> Result<Vec<Service>> {
    let mut parts = Parts { home, lifetime, stop, running: Vec::new() };
    let postgres_url = parts.postgres(arguments.port_postgres)?;
    let passwords = nats::Passwords {
        backend: home.secret("nats-backend", secret::password)?,
        edge: home.secret("nats-edge", secret::password)?,
    };
    let nats_url = parts.nats(arguments.port_nats, &passwords)?;

    let release = checkout::target().join("release");
    let backend = Backend {
        program: built(&release, "fluxgate-backend")?,
        port: arguments.port_backend,
        postgres_url: postgres_url.clone(),
        nats_url: nats_url.clone(),
        nats_password: passwords.backend.clone(),
        secret: home.secret("backend", || secret::hex(32))?,
        ui: Some(ui.to_path_buf()),
    };
    say::step("migrating the database");
    backend.migrate()?;
    let password = home.secret("demo-password", secret::password)?;
    let sdk_keys = demo(home, &backend, &password)?;
    parts.start(backend.service(home.fresh_log("backend")))?;

    for (name, port) in [("edge-1", arguments.port_edge), ("edge-2", arguments.port_edge_2)] {
        let edge = Edge {
            program: built(&release, "fluxgate-edge")?,
            name: name.to_owned(),
            port,
            nats_url: nats_url.clone(),
            nats_password: passwords.edge.clone(),
            storage: home.path(name),
        };
        parts.start(edge.service(home.fresh_log(name)))?;
    }
    parts.wait_until_ready()?;
    // Only the demo project's: whose keys are known.
    if let Some(sdk_key) = sdk_keys.as_ref().and_then(|keys| keys.get(announce::ENVIRONMENT))
        && !arguments.no_shop
    {
        let edges = [arguments.port_edge, arguments.port_edge_2].map(|port| format!("http://127.0.0.1:{port}"));
        let program = built(&release, "fluxgate-loadtest")?;
        let shop = Shop { program, edges: edges.into(), sdk_key: sdk_key.clone() };
        parts.start(shop.service(home.fresh_log(SHOP)))?;
    }
    announce::write(home, &announce::Facts { arguments, postgres_url, passwords, password, sdk_keys })?;
    Ok(mem::take(&mut parts.running))
}

/// The parts that run so far. Dropping it stops them, the last one first.
struct Parts<'a> {
    home: &'a Home,
    lifetime: Lifetime,
    stop: &'a Stop,
    running: Vec<Service>,
}

impl Parts<'_> {
    fn start(&mut self, service: Service) -> Result<()> {
        if self.stop.is_set() {
            return Err(Error::new("interrupted"));
        }
        say::step(format_args!("starting {} at {}", service.name(), without_credentials(service.url())));
        self.running.push(service.living(self.lifetime));
        let Some(service) = self.running.last_mut() else { return Ok(()) };
        let started = service.start_unless(&|| self.stop.is_set());
        if let Some(identity) = service.identity() {
            identity.write(&self.home.identity(service.name()), &checkout::root())?;
        }
        started
    }

    /// PostgreSQL with the backend's database; its address.
    fn postgres(&mut self, port: u16) -> Result<String> {
        let folder = self.home.cluster()?;
        let cluster = postgres::Cluster {
            programs: postgres::programs_for(&folder).ok_or_else(|| Error::new("PostgreSQL is not installed"))?,
            folder,
            password: self.home.secret("postgres", secret::password)?,
            port,
            is_durable: true,
        };
        if !cluster.folder.exists() {
            say::step(format_args!("making a PostgreSQL cluster in {}", cluster.folder.display()));
        }
        cluster.create()?;
        self.start(cluster.service(self.home.fresh_log("postgres"))?)?;
        let (password, admin) = (self.home.secret("postgres-backend", secret::password)?, cluster.url("postgres"));
        postgres::create_database(&cluster.programs, &admin, DATABASE, &password)?;
        postgres::url_for(&admin, DATABASE, &password, DATABASE)
    }

    /// NATS; its address.
    fn nats(&mut self, port: u16, passwords: &nats::Passwords) -> Result<String> {
        let program = nats::program().ok_or_else(|| Error::new("nats-server is not installed"))?;
        let log = self.home.fresh_log("nats");
        self.start(nats::service(&program, port, self.home.path("nats"), passwords, log))?;
        Ok(nats::url(port))
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        say::step("waiting until everything answers");
        let end = Instant::now() + READY_LIMIT;
        for service in &mut self.running {
            let left = end.saturating_duration_since(Instant::now());
            service.wait_until_ready_unless(left, &|| self.stop.is_set())?;
        }
        Ok(())
    }
}

impl Drop for Parts<'_> {
    fn drop(&mut self) {
        while let Some(mut service) = self.running.pop() {
            let _ = service.stop();
            let _ = fs::remove_file(self.home.identity(service.name()));
        }
    }
}

/// The demo project in an empty database, or what an earlier run noted about it.
fn demo(home: &Home, backend: &Backend, password: &str) -> Result<Option<SdkKeys>> {
    let (file, part) = (home.path("secrets/demo.json"), home.path("secrets/demo.new"));
    let keep = || fs::rename(&part, &file).context("keeping the demo project's keys");
    // An earlier run may have been interrupted between the two.
    if part.is_file() && !file.is_file() && sdk_keys(&part).is_ok_and(|keys| keys.is_some()) {
        keep()?;
    }
    if let Some(keys) = backend.create_demo(EMAIL, password, &part)? {
        say::step("created the demo project");
        keep()?;
        return Ok(Some(keys));
    }
    if file.is_file() { sdk_keys(&file) } else { Ok(None) }
}

fn without_credentials(url: &str) -> &str {
    url.rsplit_once('@').map_or(url, |(_, place)| place)
}
