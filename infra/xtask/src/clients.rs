//! The official clients of other languages, fetched once, so that tests can ask an edge as applications do.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::cargo::{cargo, output, program, run_until, run_within};
use crate::error::{Context, Error, Result};
use crate::signal::Stop;
use crate::{checkout, say};

/// How long one step of fetching may take.
const FETCH_LIMIT: Duration = Duration::from_secs(300);

/// Fetches and builds what is missing, and returns the folder with `node/`, `python/` and `rust/`.
pub(crate) fn prepare(stop: &Stop) -> Result<PathBuf> {
    let folder = checkout::target().join("clients");
    let _turn = turn(&folder)?;
    let files = ["node/package.json", "node/package-lock.json"].map(|file| sources().join(file));
    fetch_once(&folder.join("node"), &files, "", |folder| {
        // No package's script runs: none of those we need has anything to do at its installation.
        let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
        run_within(program("npm").args(arguments).current_dir(folder), FETCH_LIMIT)
    })?;
    // An environment belongs to the Python that made it.
    let version = output(program("python3").arg("--version"))?;
    let files = [sources().join("python/requirements.txt")];
    fetch_once(&folder.join("python"), &files, &version, |folder| {
        run_within(program("python3").args(["-m", "venv"]).arg(folder), FETCH_LIMIT)?;
        let mut pip = program(folder.join("bin/pip"));
        run_within(pip.args(["install", "--requirement"]).arg(folder.join("requirements.txt")), FETCH_LIMIT)
    })?;
    say::step("building the Rust client");
    let mut command = cargo();
    command.args(["build", "--locked", "--manifest-path"]).arg(sources().join("rust/Cargo.toml"));
    run_until(command.arg("--target-dir").arg(folder.join("rust")), stop)?;
    Ok(folder)
}

/// Where what the clients need is written down.
pub fn sources() -> PathBuf {
    checkout::root().join("infra/clients")
}

/// One preparation at a time. Given back when dropped.
fn turn(folder: &Path) -> Result<fs::File> {
    let path = folder.with_extension("lock");
    let step = format!("locking {}", path.display());
    fs::create_dir_all(checkout::target()).context(&step)?;
    let file = fs::File::create(&path).context(&step)?;
    file.lock().context(&step)?;
    Ok(file)
}

/// Fills a new folder that begins with copies of `files`, unless it was filled before from the very same and with this key.
fn fetch_once(folder: &Path, files: &[PathBuf], key: &str, fetch: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let stamp = folder.with_extension("stamp");
    let mut hash = Sha256::new().chain_update(key);
    let mut copies = Vec::new();
    for source in files {
        let content = fs::read(source).context(format_args!("reading {}", source.display()))?;
        hash.update(&content);
        copies.push((source.file_name().map(|name| folder.join(name)).unwrap_or_default(), content));
    }
    let hash: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    if fs::read_to_string(&stamp).is_ok_and(|old| old == hash) {
        return Ok(());
    }
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    say::step(format_args!("fetching the clients for {name}, once"));
    let _ = fs::remove_file(&stamp);
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).context(format_args!("making {}", folder.display()))?;
    for (file, content) in copies {
        fs::write(&file, content).context(format_args!("writing {}", file.display()))?;
    }
    fetch(folder).map_err(|error| {
        Error::new(format!(
            "the tests need the OpenFeature clients for {name}, which come from the network once: {error}"
        ))
    })?;
    fs::write(&stamp, hash).context(format_args!("writing {}", stamp.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::scratch::Scratch;

    #[test]
    fn packages_are_fetched_once_and_anew_when_their_list_changes_or_fetching_failed() {
        let scratch = Scratch::new().expect("a folder");
        let (list, folder) = (scratch.path().join("list"), scratch.path().join("packages"));
        let fetch = |key: &str, result: Result<()>| {
            let mut fetched = None;
            let done = fetch_once(&folder, std::slice::from_ref(&list), key, |folder| {
                fetched = fs::read_to_string(folder.join("list")).ok();
                assert!(!folder.join("old").exists(), "what was there before is gone");
                fs::write(folder.join("old"), "").expect("a file");
                result
            });
            (fetched, done.is_ok())
        };
        fs::write(&list, "one").expect("a list");
        assert_eq!(fetch("1", Ok(())), (Some("one".to_owned()), true));
        assert_eq!(fetch("1", Ok(())), (None, true));
        assert_eq!(fetch("2", Ok(())), (Some("one".to_owned()), true));
        fs::write(&list, "two").expect("a list");
        assert_eq!(fetch("2", Err(Error::new("offline"))), (Some("two".to_owned()), false));
        assert_eq!(fetch("2", Ok(())), (Some("two".to_owned()), true));
        assert_eq!(fetch("2", Ok(())), (None, true));
    }
}
