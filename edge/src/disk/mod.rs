//! The edge's folder: what survives a restart, and the lock that keeps it to one process.
//!
//! It holds `lock`, `process` (ids of the last processes that reported), `state` (the last good state, see [`StateFile`])
//! and `counts` (the spool). Files are replaced whole and sealed with a checksum.

mod sealed;
mod state;

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FlockOperation, flock};
use rustix::process::geteuid;
use shared::model::id::ProcessId;
use thiserror::Error;
use tracing::warn;

pub use sealed::{Kind, SealError};
pub use state::{Record, StateFile};

/// The most processes that are remembered.
const PROCESSES_MAX: usize = 16;

/// Why the folder cannot be used.
#[derive(Debug, Error)]
pub enum FolderError {
    /// It cannot be made, opened or locked.
    #[error(
        "the folder {} (EDGE_STORAGE__DIR) cannot be used; for example EDGE_STORAGE__DIR=/var/lib/fluxgate-edge",
        .path.display()
    )]
    Unusable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another edge has it.
    #[error(
        "the folder {} (EDGE_STORAGE__DIR) is used by another running edge; give each edge a folder of its own, \
         for example EDGE_STORAGE__DIR=/var/lib/fluxgate-edge-2",
        .0.display()
    )]
    Locked(PathBuf),
}

/// The folder, locked as long as this lives. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    _lock: Arc<File>,
}

impl Folder {
    /// Makes the folder when it is absent, and locks it.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let unusable = |source| FolderError::Unusable { path: path.into(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(unusable)?;
        close(path).map_err(unusable)?;
        let path = fs::canonicalize(path).map_err(unusable)?;
        let lock = path.join("lock");
        let opened = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&lock);
        // On a disk that became read-only, what lies there is still worth being answered from.
        let lock = opened.or_else(|error| File::open(&lock).map_err(|_| error)).map_err(unusable)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { path, _lock: Arc::new(lock) }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(FolderError::Locked(path)),
            Err(error) => Err(unusable(error.into())),
        }
    }

    /// Where a file of the folder lies.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The processes that used the folder before and began to report, newest first.
    pub fn processes(&self) -> Vec<ProcessId> {
        let text = fs::read_to_string(self.file("process")).unwrap_or_default();
        text.lines().filter_map(|line| line.trim().parse().ok()).take(PROCESSES_MAX).collect()
    }

    /// Notes the process that uses the folder now.
    pub fn note_process(&self, process: ProcessId) -> io::Result<()> {
        let all = [process].into_iter().chain(self.processes()).take(PROCESSES_MAX);
        let lines: String = all.map(|process| format!("{process}\n")).collect();
        replace(&self.file("process"), lines.as_bytes())
    }

    /// Reads a sealed file; `None` when there is none.
    pub fn read(&self, name: &str, kind: Kind) -> Result<Option<Vec<u8>>, SealError> {
        sealed::read(&self.file(name), kind)
    }

    /// Replaces a sealed file: whoever reads it sees the old one or the new one, whole.
    pub fn write(&self, name: &str, kind: Kind, payload: &[u8]) -> io::Result<()> {
        replace(&self.file(name), &sealed::seal(kind, payload))
    }
}

/// Closes the folder to others, where that is up to this process: a volume may belong to another user and be open to
/// this one by its group.
fn close(path: &Path) -> io::Result<()> {
    let data = fs::metadata(path)?;
    if data.mode() & 0o777 == 0o700 {
        return Ok(());
    }
    if data.uid() == geteuid().as_raw() {
        return fs::set_permissions(path, Permissions::from_mode(0o700));
    }
    let (path, mode) = (path.display(), format!("{:o}", data.mode() & 0o777));
    warn!(%path, mode, owner = data.uid(), "the folder belongs to another user and stays as open as it is");
    Ok(())
}

/// Writes beside, flushes, renames, and flushes the folder, so that a power cut leaves one of the two.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    if let Err(error) = write(&beside, bytes) {
        // Half a file would keep room from the others on a full disk. There may be none, and the next try is over it.
        let _ = fs::remove_file(&beside);
        return Err(error);
    }
    fs::rename(&beside, path)?;
    match path.parent() {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use std::io::Write;
    let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_belongs_to_one_edge_and_names_itself_when_taken() {
        let parent = tempfile::tempdir().expect("a folder");
        let path = parent.path().join("edge");
        let folder = Folder::open(&path).expect("free");
        let error = Folder::open(&path).expect_err("taken").to_string();
        assert!(error.contains(path.to_str().expect("a path")) && error.contains("EDGE_STORAGE__DIR"), "{error}");
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        drop(folder);
        Folder::open(&path).expect("free again");
    }

    #[test]
    fn a_folder_of_another_user_is_used_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::set_permissions(folder.path(), Permissions::from_mode(0o775)).expect("opened");
        // Only root can give a folder away.
        if std::os::unix::fs::chown(folder.path(), Some(geteuid().as_raw() + 4321), None).is_err() {
            return;
        }
        Folder::open(folder.path()).expect("usable");
        let mode = fs::metadata(folder.path()).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o775);
    }

    #[test]
    fn a_sealed_file_that_was_cut_or_in_which_any_bit_flipped_never_reads_as_something_else() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(parent.path()).expect("free");
        let payload = b"{\"key\":\"one\"}\n{\"key\":\"two\"}\n";
        folder.write("state", Kind::State, payload).expect("written");
        let good = fs::read(folder.file("state")).expect("bytes");
        for end in 0..good.len() {
            fs::write(folder.file("state"), &good[..end]).expect("cut");
            folder.read("state", Kind::State).expect_err("cut short");
        }
        for at in 0..good.len() * 8 {
            let mut flipped = good.clone();
            flipped[at / 8] ^= 1 << (at % 8);
            fs::write(folder.file("state"), &flipped).expect("damaged");
            // A number in the head that says nothing about the content may read as before.
            let read = folder.read("state", Kind::State);
            assert!(read.as_ref().map_or(true, |read| read.as_deref() == Some(&payload[..])), "bit {at}: {read:?}");
        }
    }

    #[test]
    fn a_sealed_file_is_whole_or_refused_by_name() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(parent.path()).expect("free");
        assert_eq!(folder.read("state", Kind::State).expect("absent"), None);
        folder.write("state", Kind::State, b"one\ntwo").expect("written");
        assert_eq!(folder.read("state", Kind::State).expect("whole").as_deref(), Some(&b"one\ntwo"[..]));
        let mode = fs::metadata(folder.file("state")).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(folder.read("state", Kind::Counts).expect_err("foreign").to_string().contains("state"));
        let mut bytes = fs::read(folder.file("state")).expect("bytes");
        *bytes.last_mut().expect("not empty") ^= 1;
        fs::write(folder.file("state"), &bytes).expect("damaged");
        assert!(folder.read("state", Kind::State).expect_err("damaged").to_string().contains("checksum"));
        fs::write(folder.file("state"), b"{}").expect("foreign");
        assert!(folder.read("state", Kind::State).is_err());
    }
}
