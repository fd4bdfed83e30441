//! Turns configs, conditions and serves into English, so that list, flag page, review and history never disagree.
//!
//! Every text is one line of at most [`SENTENCE_CHARS_MAX`] characters, whatever was typed: long values are cut, long
//! lists are counted, and characters that cannot be seen are made visible.

mod brief;
mod change;
mod condition;
mod config;
mod definition_change;
mod explanation;
mod history;
mod segment_change;
mod serve;
mod shown;
mod values_change;

pub use brief::{BRIEF_CHARS_MAX, brief};
pub use change::changes;
pub use condition::{comparison, condition};
pub use config::{config, prerequisites};
pub use definition_change::{definition_changes, kind};
pub use explanation::{Documents, Step, explanation};
pub use history::entry;
pub use segment_change::segment_changes;
pub use serve::{percent, serve, share};
pub(crate) use shown::listed;
pub use shown::{SENTENCE_CHARS_MAX, VALUE_CHARS_MAX, value};

#[cfg(test)]
mod tests;
