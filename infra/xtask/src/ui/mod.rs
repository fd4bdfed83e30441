//! Building the web UI: cargo, wasm-bindgen as a library, hashed names, compressed copies.

mod bundle;
mod compress;

use std::fs;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use crate::cargo::run_until;
use crate::checkout;
use crate::error::{Context, Result};
use crate::glue::{self, Kind};
use crate::say;
use crate::setup;
use crate::signal::Stop;

/// How to build the UI.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Arguments {
    /// Compress as far as it goes (slow), as for a release.
    #[arg(long)]
    pub(crate) release_quality: bool,
}

/// Builds the UI where something changed and returns its folder.
pub(crate) fn build(arguments: &Arguments, stop: &Stop) -> Result<PathBuf> {
    let wasm = setup::wasm()?;
    let _turn = turn()?;
    say::step("building the web UI");
    let mut command = wasm.cargo();
    command.args(["build", "--profile", "ui", "--package", "admin-ui", "--locked"]);
    run_until(command.args(["--target", setup::Wasm::TARGET]), stop)?;
    let built = checkout::target().join(setup::Wasm::TARGET).join("ui/admin-ui.wasm");
    let built = fs::read(&built).context(format_args!("reading {}", built.display()))?;

    let sources = bundle::Sources::read()?;
    let quality = if arguments.release_quality { compress::RELEASE } else { compress::QUICK };
    let folder = checkout::ui();
    let stamp = folder.with_extension("stamp");
    let inputs = digest([built.as_slice(), &sources.bytes(), &[quality], include_bytes!("bundle.rs")]);
    if folder.join("index.html").is_file() && fs::read_to_string(&stamp).is_ok_and(|old| old == inputs) {
        say::note("unchanged");
        return Ok(folder);
    }

    let part = folder.with_extension("new");
    let _ = fs::remove_dir_all(&part);
    fs::create_dir_all(&part).context(format_args!("making {}", part.display()))?;
    let glue = glue::generate("admin-ui", &built, Kind::Module, &part)?;
    bundle::write(&sources, glue, &part)?;
    for file in compress::all_in(&part, quality)? {
        say::note(file);
    }
    swap(&part, &folder)?;
    fs::write(&stamp, inputs).context(format_args!("writing {}", stamp.display()))?;
    Ok(folder)
}

/// One build at a time: `test` may run beside `up`, and both build the UI. Given back when dropped.
fn turn() -> Result<fs::File> {
    let path = checkout::ui().with_extension("lock");
    let step = format!("locking {}", path.display());
    fs::create_dir_all(checkout::target()).context(&step)?;
    let file = fs::File::create(&path).context(&step)?;
    file.lock().context(&step)?;
    Ok(file)
}

/// Puts the new folder where the old one was; a backend that serves it sees one or the other.
fn swap(new: &PathBuf, folder: &PathBuf) -> Result<()> {
    let old = folder.with_extension("old");
    let _ = fs::remove_dir_all(&old);
    if folder.exists() {
        fs::rename(folder, &old).context(format_args!("moving {} away", folder.display()))?;
    }
    fs::rename(new, folder).context(format_args!("naming {}", folder.display()))?;
    let _ = fs::remove_dir_all(&old);
    Ok(())
}

/// The hash of several texts, each with its length.
fn digest<const N: usize>(parts: [&[u8]; N]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.len().to_le_bytes());
        hasher.update(part);
    }
    hex(&hasher.finalize())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
