//! The evaluation engine built for a browser, with what it answers on this machine, so that a test can compare the two.

use std::fs;
use std::path::PathBuf;

use crate::cargo::{cargo, output, run_until};
use crate::checkout;
use crate::error::{Context, Result};
use crate::glue::{self, Kind};
use crate::say;
use crate::setup;
use crate::signal::Stop;

/// Builds the example `engine` of the crate `shared` and returns the folder with `engine.js`, `engine.wasm` and
/// `report.txt`.
pub(crate) fn build(stop: &Stop) -> Result<PathBuf> {
    let wasm = setup::wasm()?;
    say::step("building the evaluation engine for the browser");
    let example = ["--package", "shared", "--example", "engine", "--locked"];
    let mut command = wasm.cargo();
    command.args(["build", "--profile", "ui"]).args(example);
    run_until(command.args(["--target", setup::Wasm::TARGET]), stop)?;
    let built = checkout::target().join(setup::Wasm::TARGET).join("ui/examples/engine.wasm");
    let built = fs::read(&built).context(format_args!("reading {}", built.display()))?;

    let folder = checkout::engine();
    fs::create_dir_all(&folder).context(format_args!("making {}", folder.display()))?;
    let glue = glue::generate("engine", &built, Kind::Plain, &folder)?;
    let report = output(cargo().args(["run", "--quiet"]).args(example))?;
    for (name, content) in [("engine.js", glue.script), ("engine.wasm", glue.module), ("report.txt", report.into())] {
        let file = folder.join(name);
        fs::write(&file, content).context(format_args!("writing {}", file.display()))?;
    }
    Ok(folder)
}
