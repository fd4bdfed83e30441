//! Folders for throw-away things.

use std::env;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::{Context, Result};
use crate::stack::secret;

/// A new folder, removed with everything in it when dropped.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes a folder that other users can pass through but not list: PostgreSQL, which refuses to run as root, keeps
    /// its cluster in a folder of its own below.
    pub fn new() -> Result<Self> {
        let parent = [env::temp_dir(), "/tmp".into(), "/var/tmp".into()]
            .into_iter()
            .find(|folder| !is_root() || is_reachable(folder))
            .unwrap_or_else(env::temp_dir);
        let folder = parent.join(format!("fluxgate-{}", secret::hex(6)?));
        make(&folder, 0o711)?;
        Ok(Self(folder))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A new folder in it.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.0.join(name);
        make(&folder, 0o711)?;
        Ok(folder)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Makes a folder with exactly this mode, whatever the umask; one that is there gets the mode.
pub fn make(folder: &Path, mode: u32) -> Result<()> {
    let made = DirBuilder::new().recursive(true).mode(mode).create(folder);
    made.and_then(|()| fs::set_permissions(folder, fs::Permissions::from_mode(mode)))
        .context(format_args!("making the folder {}", folder.display()))
}

/// Whether this process is root's.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether every user may pass through `folder` and all above it.
fn is_reachable(folder: &Path) -> bool {
    folder.is_absolute() && folder.ancestors().all(|part| fs::metadata(part).is_ok_and(|data| data.mode() & 0o001 != 0))
}
