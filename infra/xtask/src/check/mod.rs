//! The quick gate: format, lints, documentation, query metadata and dependency rules.

mod dependency;
mod query;

use crate::cargo::{self, cargo};
use crate::error::{Error, Result};
use crate::say;
use crate::setup::{self, Wasm};

/// What to check.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Arguments {
    /// Format the code and bring .sqlx up to date instead of complaining about them.
    #[arg(long)]
    fix: bool,
    /// Only these checks.
    #[arg(long, value_delimiter = ',')]
    only: Vec<Part>,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// cargo fmt
    Format,
    /// clippy with warnings as errors, for the programs and for the browser app
    Lint,
    /// cargo doc with warnings as errors
    Doc,
    /// .sqlx against a throw-away database
    Query,
    /// who may depend on what, licences, one version of each direct dependency
    Dependency,
}

/// Runs all checks, the quickest first, and names those that failed.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let parts = [Part::Format, Part::Dependency, Part::Query, Part::Lint, Part::Doc];
    let chosen = parts.into_iter().filter(|part| arguments.only.is_empty() || arguments.only.contains(part));
    let mut failed = Vec::new();
    for part in chosen {
        let result = match part {
            Part::Format => format(arguments.fix),
            Part::Lint => lint(),
            Part::Doc => doc(),
            Part::Query => query::check(arguments.fix),
            Part::Dependency => dependency::check(),
        };
        if let Err(error) = result {
            eprintln!("error: {error}");
            failed.push(format!("{part:?}").to_lowercase());
        }
    }
    if failed.is_empty() {
        say::step("all checks passed");
        return Ok(());
    }
    Err(Error::new(format!("failed checks: {}", failed.join(", "))))
}

fn format(fix: bool) -> Result<()> {
    say::step("format");
    let arguments: &[&str] = if fix { &["fmt", "--all"] } else { &["fmt", "--all", "--check"] };
    cargo::run(cargo().args(arguments))
}

fn lint() -> Result<()> {
    say::step("lints");
    let workspace = ["clippy", "--workspace", "--exclude", "admin-ui", "--all-targets", "--locked", "--"];
    cargo::run(cargo().args(workspace).args(["-D", "warnings"]).env("SQLX_OFFLINE", "true"))?;
    let mut browser = cargo();
    browser.args(["clippy", "--package", "admin-ui", "--locked"]);
    match setup::wasm()? {
        Wasm::Toolchain => {
            browser.args(["--target", Wasm::TARGET]);
        }
        // Debian's compiler comes without clippy, and clippy without a standard library for WASM.
        Wasm::Debian { .. } => say::note("the browser app is linted as a program for this machine"),
    }
    cargo::run(browser.args(["--", "-D", "warnings"]))
}

fn doc() -> Result<()> {
    say::step("documentation");
    let arguments = ["doc", "--workspace", "--exclude", "admin-ui", "--no-deps", "--locked"];
    cargo::run(cargo().args(arguments).env("RUSTDOCFLAGS", "-D warnings").env("SQLX_OFFLINE", "true"))
}
