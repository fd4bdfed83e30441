//! The state bundle as a file: read whole at the start, or not at all.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use shared::wire::bundle::{BUNDLE_BYTES_MAX, Bundle, BundleError};
use thiserror::Error;

use crate::disk::Record;

/// Why a bundle cannot be used.
#[derive(Debug, Error)]
#[error("the bundle {} cannot be used", .path.display())]
pub struct ReadError {
    path: PathBuf,
    source: Cause,
}

#[derive(Debug, Error)]
enum Cause {
    #[error("{0}")]
    File(#[from] io::Error),
    #[error("{0}")]
    Bundle(#[from] BundleError),
}

/// Reads a bundle; the error names the file, and the place in it.
pub fn read(path: &Path) -> Result<Bundle, ReadError> {
    let parsed = bytes(path).map_err(Cause::from).and_then(|bytes| Ok(Bundle::parse(&bytes)?));
    parsed.map_err(|source| ReadError { path: path.into(), source })
}

/// One byte more than allowed is enough to see that it is too much; a pipe does not say how long it is.
fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(BUNDLE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The bundle as the last good state lies on disk.
pub fn records(bundle: Bundle) -> Vec<Record> {
    let record =
        |(key, envelope): (shared::wire::state::StateKey, _)| Record { key: key.to_string(), envelope, readable: None };
    bundle.values.into_iter().map(record).collect()
}
