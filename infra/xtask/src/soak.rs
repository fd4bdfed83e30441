//! Disasters one after the other, then everything at once for half an hour, on throw-away servers and release builds.

use crate::cargo::{cargo, run_until};
use crate::error::Result;
use crate::signal::Stop;
use crate::stack::scratch::Scratch;
use crate::test::start_postgres;
use crate::{checkout, say, setup};

/// How long to soak.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Arguments {
    /// Minutes of load; what comes before and after takes some more.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=1440))]
    minutes: u64,
}

/// Builds the programs and runs `tests/chaos` at full length and `tests/soak`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let stop = Stop::listen()?;
    setup::servers()?;
    say::step("building the programs");
    let build = ["build", "--release", "--locked", "--package", "backend", "--package", "edge", "--bins"];
    run_until(cargo().args(build).env("SQLX_OFFLINE", "true"), &stop)?;

    let scratch = Scratch::new()?;
    let (mut server, url) = start_postgres(&scratch)?;
    let test = |name: &str| {
        let mut command = cargo();
        command.args(["test", "--release", "--locked", "--package", "xtask", "--test", name]);
        command.args(["--", "--include-ignored", "--nocapture"]);
        command.env("FLUXGATE_TEST_POSTGRES_URL", &url);
        command.env("FLUXGATE_TEST_BIN_DIR", checkout::target().join("release"));
        command.env("FLUXGATE_SOAK_MINUTES", arguments.minutes.to_string()).env("FLUXGATE_CHAOS", "long");
        command
    };
    let folder = scratch.folder("tmp")?;
    say::step("disasters under load, for about ten minutes");
    let result = run_until(test("chaos").env("TMPDIR", &folder), &stop).and_then(|()| {
        say::step(format_args!("soaking for {} minutes", arguments.minutes));
        run_until(test("soak").env("TMPDIR", &folder), &stop)
    });
    server.stop()?;
    result
}
