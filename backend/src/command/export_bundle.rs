//! `export-bundle`: what edges must hold, as a file.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::app;
use crate::app::bundle::Selection;
use crate::command::Failure;
use crate::state::AppState;

/// Writes a bundle to a file, or to standard output.
pub(super) async fn run(state: &AppState, selection: &Selection, output: Option<&Path>) -> Result<(), Failure> {
    let bundle = app::bundle::export(state, selection).await?;
    let json = bundle.to_json()?;
    write(output, json.as_bytes())?;
    tracing::info!(values = bundle.values.len(), bytes = json.len(), "exported the state that edges must hold");
    Ok(())
}

/// Writes to a file, replaced whole, or to standard output.
pub(super) fn write(output: Option<&Path>, bytes: &[u8]) -> Result<(), Failure> {
    match output {
        Some(path) => {
            replace(path, bytes).map_err(|error| format!("cannot write to {}: {error}", path.display()).into())
        }
        None => {
            let mut out = io::stdout().lock();
            Ok(out.write_all(bytes).and_then(|()| out.flush())?)
        }
    }
}

/// Replaces a file: whoever reads it sees the old one or the new one, whole. It holds hashes of SDK keys, so it is
/// readable by its owner alone, whatever the mode of the one before was.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|data| !data.is_file()) {
        let why = "it is there and is no ordinary file; leave --output out to write to standard output";
        return Err(io::Error::other(why));
    }
    let mut beside = OsString::from(path);
    beside.push(".new");
    let written = write_new(Path::new(&beside), bytes).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // Whatever is left of it is of no use to anybody.
        let _ = fs::remove_file(&beside);
    }
    written?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // One left over from a run that was killed may have another mode.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
