//! What is wrong with an input, and where.

use serde::{Deserialize, Serialize};

/// One thing wrong with an input: the path of the field and a sentence that says what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FieldProblem {
    /// Path of the field from the body's root, as `rules[2].conditions.all[0].values[1]`.
    pub field: String,
    /// What is wrong, naming the value, and what would be right.
    pub message: String,
}

/// Collects what is wrong while walking an input, at most [`Problems::MAX`] of them.
#[derive(Debug, Default)]
pub struct Problems {
    found: Vec<FieldProblem>,
}

impl Problems {
    /// More than this helps nobody and would let a large input make a larger answer.
    pub const MAX: usize = 50;

    /// Notes one thing that is wrong.
    pub fn add(&mut self, field: impl Into<String>, message: impl Into<String>) {
        if self.found.len() < Self::MAX {
            self.found.push(FieldProblem { field: field.into(), message: message.into() });
        }
    }

    /// `Ok` when nothing was found.
    pub fn into_result(self) -> Result<(), Vec<FieldProblem>> {
        if self.found.is_empty() { Ok(()) } else { Err(self.found) }
    }
}
