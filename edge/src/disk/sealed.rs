//! Files with a first line that says what they are and whether they are whole.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The format this version writes, and the newest it reads.
const FORMAT: u32 = 1;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// The last good state.
    #[serde(rename = "fluxgate-edge-state")]
    State,
    /// Counts not yet confirmed.
    #[serde(rename = "fluxgate-edge-counts")]
    Counts,
}

/// Why a file is not read.
#[derive(Debug, Error)]
#[error("the file {} is ignored: {why}", .path.display())]
pub struct SealError {
    path: PathBuf,
    why: String,
}

#[derive(Serialize, Deserialize)]
struct Head {
    kind: Kind,
    format: u32,
    bytes: usize,
    crc32: u32,
}

pub(super) fn seal(kind: Kind, payload: &[u8]) -> Vec<u8> {
    let head = Head { kind, format: FORMAT, bytes: payload.len(), crc32: crc32fast::hash(payload) };
    // A head is plain numbers: writing it cannot fail.
    let mut file = serde_json::to_vec(&head).unwrap_or_default();
    file.push(b'\n');
    file.extend_from_slice(payload);
    file
}

pub(super) fn read(path: &Path, kind: Kind) -> Result<Option<Vec<u8>>, SealError> {
    let ignored = |why: String| SealError { path: path.into(), why };
    let mut file = match fs::read(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ignored(error.to_string())),
    };
    let end = file.iter().position(|byte| *byte == b'\n').unwrap_or(file.len());
    let head: Head = serde_json::from_slice(&file[..end])
        .map_err(|error| ignored(format!("it does not begin as a file of this edge does: {error}")))?;
    if head.kind != kind {
        return Err(ignored(format!("it holds {:?}, not {kind:?}", head.kind)));
    }
    if head.format > FORMAT {
        return Err(ignored(format!("its format {} is newer than {FORMAT}, the newest known here", head.format)));
    }
    file.drain(..(end + 1).min(file.len()));
    if file.len() != head.bytes {
        return Err(ignored(format!("it is damaged: {} bytes are there, {} were written", file.len(), head.bytes)));
    }
    if crc32fast::hash(&file) != head.crc32 {
        return Err(ignored("it is damaged: the checksum differs".into()));
    }
    Ok(Some(file))
}
