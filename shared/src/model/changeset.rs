//! Changesets: what a person writes about a change.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The longest note, in characters.
pub const NOTE_CHARS_MAX: usize = 2_000;

/// Why the author made the change; may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String))]
pub struct Note(String);

/// Why a text is not a note.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("a note has at most {NOTE_CHARS_MAX} characters and no U+0000")]
pub struct NoteError;

impl Note {
    /// The note as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Note {
    type Error = NoteError;

    fn try_from(text: String) -> Result<Self, NoteError> {
        if text.chars().count() > NOTE_CHARS_MAX || text.contains('\0') { Err(NoteError) } else { Ok(Self(text)) }
    }
}

impl From<Note> for String {
    fn from(note: Note) -> Self {
        note.0
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
