//! Installing what is missing.

mod debian;
mod wasm;

pub(crate) use wasm::Wasm;

use std::process::Stdio;

use crate::cargo::{find, program};
use crate::error::{Error, Result};
use crate::stack::scratch::is_root;
use crate::stack::{nats, postgres};

/// A program the product or its tests need.
struct Need {
    what: &'static str,
    package: &'static str,
    is_there: fn() -> bool,
}

/// For running the product.
const RUN: [Need; 2] = [
    Need { what: "PostgreSQL 15 or later", package: "postgresql", is_there: || postgres::programs().is_some() },
    Need { what: "nats-server 2.9 or later", package: "nats-server", is_there: || nats::program().is_some() },
];

/// For the tests on top: a browser, and what clients of other languages need.
const TEST: [Need; 5] = [
    Need { what: "Chromium", package: "chromium", is_there: || find("chromium").is_some() },
    Need { what: "ChromeDriver", package: "chromium-driver", is_there: || find("chromedriver").is_some() },
    Need { what: "Node.js 18 or later", package: "nodejs", is_there: || find("node").is_some() },
    Need { what: "npm", package: "npm", is_there: || find("npm").is_some() },
    Need { what: "Python 3 with venv", package: "python3-venv", is_there: has_venv },
];

/// Everything, for running and testing.
pub(crate) fn all() -> Result<()> {
    install(RUN.iter().chain(&TEST))?;
    wasm().map(drop)
}

/// The servers that the product runs on.
pub(crate) fn servers() -> Result<()> {
    install(RUN.iter())
}

/// The compiler for the browser app.
pub(crate) fn wasm() -> Result<Wasm> {
    wasm::find_or_install()
}

/// Debian keeps apart what `python3 -m venv` needs; the module `venv` itself is always there.
fn has_venv() -> bool {
    let mut command = program("python3");
    command.args(["-c", "import venv, ensurepip"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn install<'a>(needs: impl Iterator<Item = &'a Need>) -> Result<()> {
    let missing: Vec<_> = needs.filter(|need| !(need.is_there)()).collect();
    packages(
        &missing.iter().map(|need| need.package).collect::<Vec<_>>(),
        &missing.iter().map(|need| need.what).collect::<Vec<_>>().join(", "),
    )
}

/// Installs Debian packages, or says how; `what` they are in other systems' words.
fn packages(packages: &[&str], what: &str) -> Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    if find("apt-get").is_none() {
        return Err(Error::new(format!("please install: {what} (only Debian's packages are installed by themselves)")));
    }
    if !is_root() {
        let list = packages.join(" ");
        return Err(Error::new(format!(
            "missing: {what}. Please run\n\n    sudo apt-get update && sudo apt-get install -y --no-install-recommends {list}\n\nand then this command again"
        )));
    }
    debian::install(packages)
}
