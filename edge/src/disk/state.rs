//! The last good state as it lies on disk: one line per key of the bucket, bodies byte for byte as they came, so that
//! another version of the edge can compile them anew.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use shared::wire::state::Envelope;
use tracing::warn;

use crate::disk::{Folder, Kind};

const NAME: &str = "state";

/// What an edge held of one key of the bucket.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    /// The key, as in the bucket.
    pub key: String,
    /// The newest envelope. Unlike in the bucket, that of a deleted SDK key keeps the body, so that it stays refused.
    pub envelope: Envelope,
    /// The last body that could be read, when the envelope's cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readable: Option<Box<RawValue>>,
}

/// The file of the last good state.
pub struct StateFile;

impl StateFile {
    /// Replaces the file.
    pub fn write(folder: &Folder, records: &[Record]) -> std::io::Result<()> {
        let mut payload = Vec::new();
        for record in records {
            serde_json::to_writer(&mut payload, record)?;
            payload.push(b'\n');
        }
        folder.write(NAME, Kind::State, &payload)
    }

    /// What was written last. A file that is damaged, newer or foreign is ignored, with its name and the reason.
    pub fn read(folder: &Folder) -> Vec<Record> {
        let payload = match folder.read(NAME, Kind::State) {
            Ok(payload) => payload.unwrap_or_default(),
            Err(error) => {
                warn!(%error, "starting without the last good state");
                return Vec::new();
            }
        };
        let lines = payload.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let records: Result<Vec<Record>, _> = lines.map(serde_json::from_slice).collect();
        records.unwrap_or_else(|error| {
            let path = folder.file(NAME);
            warn!(%error, path = %path.display(), "starting without the last good state: the file is ignored");
            Vec::new()
        })
    }
}
