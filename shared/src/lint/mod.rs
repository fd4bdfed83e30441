//! Finds what may be saved and is probably a mistake: rules that nobody reaches, conditions that can never hold,
//! segments without anybody.
//!
//! Every warning is proved, never guessed: for documents that validate, no context an application could send, from the
//! given time on, makes it untrue. What is not seen stays silent. [`flag`], [`segment`] and [`environment`] look at one
//! environment; [`unused_variants`], [`unused_segments`] and [`settled`] need all of them, and the caller says which.

mod condition;
mod flag;
mod list;
mod proof;
mod reach;
mod segment;
mod settled;
mod variant;

pub use flag::flag;
pub use segment::{segment, unused_segments};
pub use settled::{Settled, Setup, settled};
pub use variant::unused_variants;

use serde::{Deserialize, Serialize};

use crate::model::key::{FlagKey, SegmentKey};
use crate::model::reach::Documents;

/// More warnings of one flag or segment than this help nobody.
pub const WARNINGS_MAX: usize = 50;

/// What kind of mistake a warning is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum WarningKind {
    /// A rule that nobody can meet.
    NeverApplies,
    /// A rule or default that nobody gets to, because something before it answers.
    NeverReached,
    /// A part of a condition that can never hold.
    NeverHolds,
    /// A part of a condition that holds for everyone.
    AlwaysHolds,
    /// Something whose time is over.
    Over,
    /// Something that could be removed without changing an answer.
    NoEffect,
    /// An entry that is there twice.
    Duplicate,
    /// A segment that nobody can be in.
    EmptySegment,
    /// A key that a segment both includes and excludes.
    IncludedAndExcluded,
    /// A prerequisite that can never be met while it stays as it is.
    NeverMet,
    /// A variant that nothing serves.
    UnusedVariant,
    /// A segment that nothing uses.
    UnusedSegment,
}

/// Something that is allowed and probably a mistake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Warning {
    /// Path of the field from the document's root, as `rules[2].conditions.all[0].values[1]`.
    pub field: String,
    /// What kind of mistake.
    pub kind: WarningKind,
    /// What is wrong and the way out, in sentences.
    pub message: String,
    /// Paths of the fields that make it so, such as the rule that answers before.
    pub because: Vec<String>,
}

/// What a warning of [`environment`] is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Subject {
    /// A flag.
    Flag(FlagKey),
    /// A segment.
    Segment(SegmentKey),
}

/// Everything that is probably a mistake in one environment from `now_ms` on, flags first, each by key.
pub fn environment(documents: &Documents, now_ms: i64) -> Vec<(Subject, Warning)> {
    let flags = documents.flags.iter().flat_map(|(key, (definition, config))| {
        let warnings = flag(definition, config, documents, now_ms);
        warnings.into_iter().map(|warning| (Subject::Flag(key.clone()), warning))
    });
    let segments = documents.segments.iter().flat_map(|(key, definition)| {
        let warnings = segment(definition, documents, now_ms);
        warnings.into_iter().map(|warning| (Subject::Segment(key.clone()), warning))
    });
    flags.chain(segments).collect()
}

/// Warnings as they are found, at most [`WARNINGS_MAX`].
#[derive(Default)]
struct Warnings {
    found: Vec<Warning>,
}

impl Warnings {
    fn add(&mut self, kind: WarningKind, field: impl Into<String>, message: impl Into<String>) {
        self.add_because(kind, field, message, Vec::new());
    }

    fn add_because(
        &mut self,
        kind: WarningKind,
        field: impl Into<String>,
        message: impl Into<String>,
        because: Vec<String>,
    ) {
        if self.found.len() < WARNINGS_MAX {
            self.found.push(Warning { field: field.into(), kind, message: message.into(), because });
        }
    }
}
