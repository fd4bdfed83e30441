//! Changesets: where one stands, how it came to be, and what a person writes about it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The longest note, in characters.
pub const NOTE_CHARS_MAX: usize = 2_000;

/// Where a changeset stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ChangesetState {
    /// Its author is still at it; nobody is asked.
    Draft,
    /// It waits for approvals.
    InReview,
    /// Enough people agreed; it is being applied.
    Approved,
    /// Enough people agreed; it waits for its time.
    Scheduled,
    /// It is done, and has its number.
    Applied,
    /// Somebody who could have agreed did not.
    Rejected,
    /// Its author or another editor took it back.
    Cancelled,
    /// It could not be applied, or somebody stopped it; it says why.
    Suspended,
}

impl ChangesetState {
    const ALL: [(Self, &'static str); 8] = [
        (Self::Draft, "draft"),
        (Self::InReview, "in_review"),
        (Self::Approved, "approved"),
        (Self::Scheduled, "scheduled"),
        (Self::Applied, "applied"),
        (Self::Rejected, "rejected"),
        (Self::Cancelled, "cancelled"),
        (Self::Suspended, "suspended"),
    ];

    /// The state as text.
    pub fn as_str(self) -> &'static str {
        Self::ALL.into_iter().find(|(state, _)| *state == self).map_or("draft", |(_, text)| text)
    }

    /// True once nothing can happen to it any more.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Applied | Self::Rejected | Self::Cancelled)
    }
}

impl fmt::Display for ChangesetState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ChangesetState {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|(_, known)| *known == text).map(|(state, _)| state);
        found.ok_or_else(|| UnknownWord { noun: "the state of a changeset", text: text.chars().take(60).collect() })
    }
}

/// Through what a changeset came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Via {
    /// A person did it, signed in.
    Person,
    /// A program did it with an API token of that person.
    Token,
    /// People agreed to it.
    Approval,
    /// Its time came.
    Schedule,
    /// Somebody with access to the machine did it.
    Command,
    /// The product itself did it.
    System,
}

impl Via {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Person, "person"),
        (Self::Token, "token"),
        (Self::Approval, "approval"),
        (Self::Schedule, "schedule"),
        (Self::Command, "command"),
        (Self::System, "system"),
    ];

    /// The way as text.
    pub fn as_str(self) -> &'static str {
        Self::ALL.into_iter().find(|(via, _)| *via == self).map_or("system", |(_, text)| text)
    }
}

impl FromStr for Via {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|(_, known)| *known == text).map(|(via, _)| via);
        found.ok_or_else(|| UnknownWord { noun: "a way of changing things", text: text.chars().take(60).collect() })
    }
}

/// A word that does not stand for what it should.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{text}' is not {noun}")]
pub struct UnknownWord {
    noun: &'static str,
    text: String,
}

impl UnknownWord {
    /// The beginning of the text, and what it should have been.
    pub(crate) fn new(noun: &'static str, text: &str) -> Self {
        Self { noun, text: text.chars().take(60).collect() }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_and_ways_survive_a_round_trip_and_read_as_in_json() {
        for (state, text) in ChangesetState::ALL {
            assert_eq!((state.as_str(), text.parse()), (text, Ok(state)));
            assert_eq!(serde_json::to_value(state).expect("JSON"), text);
        }
        for (via, text) in Via::ALL {
            assert_eq!((via.as_str(), text.parse()), (text, Ok(via)));
            assert_eq!(serde_json::to_value(via).expect("JSON"), text);
        }
        assert!("open".parse::<ChangesetState>().is_err());
    }
}
