//! The whole product from this checkout, for a person at this machine.

mod announce;
mod home;
mod start;

use std::fs::{self, File, TryLockError};
use std::thread::sleep;
use std::time::Duration;

pub(crate) use home::Home;

use crate::cargo::{cargo, run_until};
use crate::error::{Context, Error, Result};
use crate::signal::Stop;
use crate::stack::{Identity, Lifetime, Service, get, port};
use crate::{checkout, down, say, setup, ui};

/// The parts in the order in which they start.
pub(crate) const PARTS: [&str; 6] = ["postgres", "nats", "backend", "edge-1", "edge-2", SHOP];
/// The one that `--no-shop` leaves out.
pub(crate) const SHOP: &str = "shop";
/// The `up` that stays in the foreground.
pub(crate) const SUPERVISOR: &str = "up";
/// How long a part may take to end.
pub(crate) const STOP_LIMIT: Duration = Duration::from_secs(20);

/// How to run the product.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Arguments {
    /// Return when everything answers; `cargo xtask down` stops it.
    #[arg(long)]
    detach: bool,
    /// Without the demo's shop, whose visitors ask for some twenty flags a second.
    #[arg(long)]
    no_shop: bool,
    /// The web UI and the admin API.
    #[arg(long, default_value_t = 8080)]
    port_backend: u16,
    /// The first edge.
    #[arg(long, default_value_t = 8081)]
    port_edge: u16,
    /// The second edge.
    #[arg(long, default_value_t = 8082)]
    port_edge_2: u16,
    /// PostgreSQL.
    #[arg(long, default_value_t = 54_320)]
    port_postgres: u16,
    /// NATS.
    #[arg(long, default_value_t = 42_220)]
    port_nats: u16,
}

impl Arguments {
    /// Each port with its part and the flag that changes it.
    fn ports(&self) -> [(u16, &'static str, &'static str); 5] {
        [
            (self.port_postgres, "PostgreSQL", "--port-postgres"),
            (self.port_nats, "NATS", "--port-nats"),
            (self.port_backend, "the backend", "--port-backend"),
            (self.port_edge, "edge-1", "--port-edge"),
            (self.port_edge_2, "edge-2", "--port-edge-2"),
        ]
    }
}

/// Starts everything.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let stop = Stop::listen()?;
    let home = Home::of_checkout();
    home.make()?;
    // Held until everything runs: two starts at once would trip over each other.
    let lock = lock(&home)?;
    if is_up(&home) {
        say::step("already up");
        return announce::repeat(&home);
    }
    clear(&home)?;
    check_ports(arguments)?;

    setup::servers()?;
    let ui = ui::build(&ui::Arguments::default(), &stop)?;
    say::step("building backend, edge and the demo's shop (release)");
    let mut build = cargo();
    build.args([
        "build",
        "--release",
        "--locked",
        "--package",
        "backend",
        "--package",
        "edge",
        "--package",
        "loadtest",
    ]);
    run_until(build.env("SQLX_OFFLINE", "true"), &stop)?;

    let lifetime = if arguments.detach { Lifetime::Detached } else { Lifetime::Bound };
    let own = Identity::of(std::process::id().cast_signed());
    if let Some(own) = own.filter(|_| !arguments.detach) {
        own.write(&home.identity(SUPERVISOR), &checkout::root())?;
    }
    let mut services = start::all(&home, arguments, &ui, lifetime, &stop)?;
    announce::repeat(&home)?;
    drop(lock);
    if arguments.detach {
        say::note("`cargo xtask down` stops it");
        services.iter_mut().for_each(Service::release);
        return Ok(());
    }
    say::note("Ctrl-C stops it");
    watch(&home, &mut services, &stop)
}

/// Stays until somebody stops us or a part ends by itself; then all parts are stopped, the last one first.
fn watch(home: &Home, services: &mut Vec<Service>, stop: &Stop) -> Result<()> {
    let ended = loop {
        if stop.is_set() {
            break None;
        }
        if let Some(service) = services.iter_mut().find_map(|service| (!service.is_running()).then_some(service)) {
            break Some(format!("{} ended by itself; {}", service.name(), service.last_words()));
        }
        sleep(Duration::from_millis(100));
    };
    say::line("");
    while let Some(mut service) = services.pop() {
        say::step(format_args!("stopping {}", service.name()));
        service.stop()?;
        let _ = fs::remove_file(home.identity(service.name()));
    }
    let _ = fs::remove_file(home.identity(SUPERVISOR));
    ended.map_or(Ok(()), |text| Err(Error::new(text)))
}

fn lock(home: &Home) -> Result<File> {
    let file = File::create(home.path("lock")).context("opening .fluxgate/lock")?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::new("another `cargo xtask up` of this checkout is starting")),
        Err(TryLockError::Error(error)) => Err(error).context("locking .fluxgate/lock"),
    }
}

/// Whether every part runs and both edges and the backend are ready, as the run that started them wrote it down.
fn is_up(home: &Home) -> bool {
    let ports = announce::ports(home);
    // The shop may be left out.
    PARTS.iter().filter(|part| **part != SHOP).all(|part| down::alive(home, part).is_some())
        && ports.is_some_and(|ports| {
            ports.into_iter().all(|port| get(port, "/readyz").is_ok_and(|(status, _)| status == 200))
        })
}

/// Stops what an interrupted run left, and says which part had ended by itself.
fn clear(home: &Home) -> Result<()> {
    down::report_ended(home);
    if down::stop(home)? {
        say::note("what was left of an earlier run is stopped");
    }
    Ok(())
}

fn check_ports(arguments: &Arguments) -> Result<()> {
    let taken = arguments.ports().into_iter().filter(|(port, ..)| !port::is_free(*port));
    let lines: Vec<_> = taken
        .map(|(port, part, flag)| {
            format!("port {port} for {part} is taken by {}; {flag} changes it", port::holder(port))
        })
        .collect();
    let mut ports: Vec<_> = arguments.ports().map(|(port, ..)| port).to_vec();
    ports.sort_unstable();
    if let Some(pair) = ports.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Error::new(format!("port {} is asked for twice", pair[0])));
    }
    if lines.is_empty() { Ok(()) } else { Err(Error::new(lines.join("\n       "))) }
}
