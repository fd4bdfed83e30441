//! The command line.

use clap::{Parser, Subcommand};

use crate::error::Result;
use crate::signal::Stop;
use crate::{check, down, setup, soak, test, ui, up};

/// How FluxGate is built, run and tested.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Installs what is missing (Debian's packages, the WASM target) and nothing else.
    Setup,
    /// Builds and starts the whole product from this checkout; its data lies in .fluxgate/.
    Up(up::Arguments),
    /// Stops what `up` started.
    Down,
    /// Builds the web UI into target/admin-ui/.
    Ui(ui::Arguments),
    /// Runs every test on throw-away servers.
    Test(test::Arguments),
    /// Puts load, changes and restarts of NATS on a whole product for half an hour.
    Soak(soak::Arguments),
    /// Checks format, lints, documentation, query metadata and dependency rules.
    Check(check::Arguments),
}

/// Reads the command line and does what it says.
pub fn run() -> Result<()> {
    match Arguments::parse().command {
        Command::Setup => setup::all(),
        Command::Up(arguments) => up::run(&arguments),
        Command::Down => down::run(),
        Command::Ui(arguments) => ui::build(&arguments, &Stop::listen()?).map(drop),
        Command::Test(arguments) => test::run(&arguments),
        Command::Soak(arguments) => soak::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
    }
}
