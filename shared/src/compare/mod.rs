//! How attributes are compared with values: parsers and comparisons that documents are checked with at save and
//! contexts at evaluation.
//!
//! At save a parser refuses what it cannot read, in words that name the text and the way out. At evaluation the same
//! parsers read attributes, which is why reading an attribute and comparing it neither allocates (but for the bounded
//! cache of a pattern) nor panics, whatever the attribute holds. What was compiled from values is immutable and answers
//! by search or hash, so that a list of thousands costs about as much as one value. Which operator uses what is decided
//! elsewhere.

pub mod moment;
pub mod network;
pub mod number;
pub mod pattern;
pub mod semver;
pub mod text;

/// The longest part of a text that an error repeats, in characters.
const SHOWN_CHARS_MAX: usize = 60;

/// The text as an error repeats it, in one line.
pub(crate) fn shown(text: &str) -> String {
    text.chars().take(SHOWN_CHARS_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect()
}
