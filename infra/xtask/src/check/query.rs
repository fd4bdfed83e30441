//! Whether `.sqlx` is what the checked queries of the backend say against today's migrations.
//!
//! With `DATABASE_URL` set, sqlx's macros ask that database and write one file per query into `SQLX_OFFLINE_DIR`. So a
//! check against a throw-away database writes what `.sqlx` must be, and no tool of sqlx's own is needed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;

use crate::cargo::{self, cargo};
use crate::checkout;
use crate::error::{Context, Error, Result};
use crate::say;
use crate::setup;
use crate::stack::postgres;
use crate::stack::scratch::Scratch;
use crate::test::start_postgres;

/// Compares, or with `fix` writes, the files.
pub(super) fn check(fix: bool) -> Result<()> {
    say::step("query metadata");
    setup::servers()?;
    let scratch = Scratch::new()?;
    let (mut server, url) = start_postgres(&scratch)?;
    let written = write(&scratch, &url);
    server.stop()?;
    let written = written?;

    let folder = checkout::root().join(".sqlx");
    let kept = files(&folder)?;
    let names: BTreeSet<_> = kept.keys().chain(written.keys()).collect();
    let different: Vec<_> = names.into_iter().filter(|name| kept.get(*name) != written.get(*name)).collect();
    if different.is_empty() {
        return Ok(());
    }
    if !fix {
        let count = different.len();
        return Err(Error::new(format!(
            ".sqlx is out of date ({count} files): run `cargo xtask check --fix --only query`"
        )));
    }
    fs::create_dir_all(&folder).context("making .sqlx")?;
    for name in different {
        let file = folder.join(name);
        let step = || format!("writing {}", file.display());
        match written.get(name) {
            Some(text) => fs::write(&file, text).context(step())?,
            None => fs::remove_file(&file).context(step())?,
        }
    }
    say::note(format_args!("{} files in .sqlx", written.len()));
    Ok(())
}

/// What the macros write against a new database with all migrations.
fn write(scratch: &Scratch, url: &str) -> Result<BTreeMap<String, String>> {
    let programs = postgres::programs().ok_or_else(|| Error::new("PostgreSQL is not installed"))?;
    migrate(&programs, url)?;
    let folder = scratch.folder("sqlx")?;
    touch(&checkout::root().join("backend/src/lib.rs"))?;
    let mut command = cargo();
    command.args(["check", "--package", "backend", "--all-targets", "--locked"]);
    command.env("DATABASE_URL", url).env("SQLX_OFFLINE_DIR", &folder).env("SQLX_OFFLINE", "false");
    cargo::run(&mut command)?;
    files(&folder)
}

/// Runs the migrations in their order. The backend cannot do it: it is what `.sqlx` is needed for.
fn migrate(programs: &Path, url: &str) -> Result<()> {
    let folder = checkout::root().join("migrations");
    for (name, text) in files_ending(&folder, ".sql")? {
        postgres::query(programs, url, &text).context(format_args!("migrations/{name}"))?;
    }
    Ok(())
}

/// Makes cargo compile the crate again: it does not know that the database may have changed.
fn touch(file: &Path) -> Result<()> {
    let text = fs::metadata(file).and_then(|_| File::options().write(true).open(file));
    let step = format!("touching {}", file.display());
    text.and_then(|open| open.set_modified(now())).context(step)
}

#[expect(clippy::disallowed_methods, reason = "a file's time is the system's")]
fn now() -> std::time::SystemTime {
    std::time::SystemTime::now()
}

fn files(folder: &Path) -> Result<BTreeMap<String, String>> {
    if folder.is_dir() { files_ending(folder, ".json") } else { Ok(BTreeMap::new()) }
}

fn files_ending(folder: &Path, end: &str) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).context(format_args!("reading {}", folder.display()))? {
        let path = entry.context(folder.display())?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.ends_with(end) {
            let text = fs::read_to_string(&path).context(format_args!("reading {}", path.display()))?;
            files.insert(name.to_owned(), text);
        }
    }
    Ok(files)
}
