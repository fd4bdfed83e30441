//! `.fluxgate/`: everything the stack of this checkout keeps.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::checkout;
use crate::error::{Context, Error, Result};
use crate::say;
use crate::stack::scratch::{is_root, make};
use crate::stack::secret;

/// Where root's PostgreSQL clusters lie: it runs as another user, who cannot pass through root's own folders.
const SYSTEM: &str = "/var/lib/fluxgate";

/// The folder `.fluxgate/` of a checkout.
#[derive(Clone, Debug)]
pub(crate) struct Home(PathBuf);

impl Home {
    /// That of this checkout.
    pub(crate) fn of_checkout() -> Self {
        Self(checkout::root().join(".fluxgate"))
    }

    /// Makes the folders, closed to other users.
    pub(super) fn make(&self) -> Result<()> {
        let folders = ["", "secrets", "log", "run", "nats", "edge-1", "edge-2"];
        folders.iter().try_for_each(|name| make(&self.0.join(name), 0o700))
    }

    /// A file or folder in it.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Which process a part is.
    pub(crate) fn identity(&self, part: &str) -> PathBuf {
        self.0.join("run").join(format!("{part}.pid"))
    }

    /// What a part writes.
    pub(crate) fn log(&self, part: &str) -> PathBuf {
        self.0.join("log").join(format!("{part}.log"))
    }

    /// A part's log, empty; what the run before wrote is kept beside it.
    pub(super) fn fresh_log(&self, part: &str) -> PathBuf {
        let log = self.log(part);
        let _ = fs::rename(&log, log.with_extension("log.before"));
        log
    }

    /// A secret, made when it is first asked for.
    pub(super) fn secret(&self, name: &str, make: impl FnOnce() -> Result<String>) -> Result<String> {
        secret::keep(&self.0.join("secrets").join(name), make)
    }

    /// The folder for PostgreSQL's cluster, which may not be there yet.
    pub(super) fn cluster(&self) -> Result<PathBuf> {
        let link = self.path("postgres");
        if is_root() { linked(&link, Path::new(SYSTEM), &checkout::root()) } else { Ok(link) }
    }
}

/// A cluster in the system's folder, linked from the checkout.
///
/// A link that is there is followed, so that a checkout may be moved. Without it a cluster under the checkout's name
/// belongs to a `.fluxgate/` that was deleted, passwords and all: it is set aside.
fn linked(link: &Path, system: &Path, checkout: &Path) -> Result<PathBuf> {
    match fs::read_link(link) {
        Ok(folder) => return Ok(folder),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => {
            return Err(Error::new(format!("{} should be a link (was `up` run as a user?): {error}", link.display())));
        }
    }
    make(system, 0o755)?;
    let hash = Sha256::digest(checkout.as_os_str().as_encoded_bytes());
    let name: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let folder = system.join(name);
    if folder.exists() {
        let mut names = (1..1000).map(|number| folder.with_extension(format!("left-{number}")));
        let aside = names.find(|name| !name.exists()).ok_or_else(|| Error::new("too many clusters were left"))?;
        fs::rename(&folder, &aside).context(format_args!("setting {} aside", folder.display()))?;
        say::note(format_args!("the database of a deleted .fluxgate/ is now {}", aside.display()));
    }
    symlink(&folder, link).context(format_args!("linking {}", link.display()))?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::scratch::Scratch;

    #[test]
    fn a_cluster_is_found_again_and_one_without_its_link_is_set_aside() {
        let scratch = Scratch::new().expect("a folder");
        let (link, system) = (scratch.path().join("link"), scratch.path().join("system"));
        let first = linked(&link, &system, Path::new("/a")).expect("first");
        fs::create_dir(&first).expect("a cluster");
        assert_eq!(linked(&link, &system, Path::new("/moved")).expect("again"), first);
        fs::remove_file(&link).expect("remove");
        assert_eq!(linked(&link, &system, Path::new("/a")).expect("anew"), first);
        assert!(!first.exists() && first.with_extension("left-1").is_dir());
    }
}
