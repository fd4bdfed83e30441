//! The compiler for `wasm32-unknown-unknown`: rustup's where it can be had, otherwise Debian's.
//!
//! Debian's security archive carries a current compiler and its sources (for Firefox and Chromium). It has no standard
//! library for WASM; cargo builds that from the sources.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::packages;
use crate::cargo::{cargo, find, output, program, run_within};
use crate::error::{Error, Result};
use crate::say;

/// Set to `debian` to do without rustup.
const CHOICE: &str = "FLUXGATE_WASM";
const PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];
/// How long rustup may try; offline it tries again and again.
const RUSTUP_LIMIT: Duration = Duration::from_secs(180);

/// The compiler for the browser app.
#[derive(Clone, Debug)]
pub(crate) enum Wasm {
    /// The toolchain that builds everything else.
    Toolchain,
    /// Debian's compiler, which builds the standard library too.
    Debian {
        /// The linker.
        linker: PathBuf,
    },
}

const TARGET: &str = Wasm::TARGET;

impl Wasm {
    /// The target's name.
    pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

    /// Cargo, ready for arguments.
    pub(crate) fn cargo(&self) -> Command {
        match self {
            Self::Toolchain => cargo(),
            Self::Debian { linker } => {
                let mut command = program("/usr/bin/cargo");
                command.current_dir(crate::checkout::root());
                command.env_remove("RUSTUP_TOOLCHAIN").env_remove("RUSTC_WRAPPER").env_remove("LD_LIBRARY_PATH");
                command.env("RUSTC", "/usr/bin/rustc").env("RUSTC_BOOTSTRAP", "1");
                command.env("CARGO_UNSTABLE_BUILD_STD", "std,panic_abort");
                command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
                command
            }
        }
    }
}

pub(super) fn find_or_install() -> Result<Wasm> {
    let sysroot = PathBuf::from(output(program("rustc").args(["--print", "sysroot"]))?.trim());
    let is_debian_forced = env::var(CHOICE).is_ok_and(|choice| choice == "debian");
    if !is_debian_forced && has_target(&sysroot) {
        return Ok(Wasm::Toolchain);
    }
    if has_debian() {
        return debian(&sysroot);
    }
    if !is_debian_forced && find("rustup").is_some() {
        say::step(format_args!("rustup target add {TARGET}"));
        let added = run_within(program("rustup").args(["target", "add", TARGET]), RUSTUP_LIMIT);
        match added {
            Ok(()) if has_target(&sysroot) => return Ok(Wasm::Toolchain),
            Ok(()) => say::note("rustup added it to another toolchain; taking Debian's compiler instead"),
            Err(_) => say::note("rustup cannot fetch it here; taking Debian's compiler instead"),
        }
    }
    packages(&PACKAGES, &format!("Rust's target {TARGET}"))?;
    debian(&sysroot)
}

fn has_target(sysroot: &Path) -> bool {
    sysroot.join("lib/rustlib").join(TARGET).join("lib").is_dir()
}

fn has_debian() -> bool {
    ["/usr/bin/rustc", "/usr/bin/cargo", "/usr/lib/rustlib/src/rust/library/std/Cargo.toml"]
        .iter()
        .all(|file| Path::new(file).exists())
}

fn debian(sysroot: &Path) -> Result<Wasm> {
    let places = [sysroot, Path::new("/usr")].map(|place| place.join("lib/rustlib"));
    let hosts = places.iter().filter_map(|place| place.read_dir().ok()).flatten().flatten();
    let mut linkers = hosts.map(|host| host.path().join("bin/rust-lld")).filter(|file| file.is_file());
    let linker = linkers.next().or_else(|| find("wasm-ld"));
    let missing = || Error::new("no linker for WASM: neither rust-lld in Rust's toolchain nor wasm-ld (Debian: lld)");
    Ok(Wasm::Debian { linker: linker.ok_or_else(missing)? })
}
