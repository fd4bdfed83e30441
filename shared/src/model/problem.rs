//! What is wrong with an input, and where.

use std::fmt;

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

/// The first of some problems, in one line.
pub(crate) fn first_of(problems: &[FieldProblem]) -> Box<str> {
    problems.first().map_or_else(Box::default, |p| format!("{}: {}", p.field, p.message).into())
}

/// The place of a part while it is checked; written out only where something is wrong.
pub type Path<'p> = fmt::Arguments<'p>;

/// Collects what is wrong while walking an input, at most [`Problems::MAX`] of them.
#[derive(Debug, Default)]
pub struct Problems {
    found: Vec<FieldProblem>,
}

impl Problems {
    /// More than this helps nobody and would let a large input make a larger answer.
    pub const MAX: usize = 50;

    /// Notes one thing that is wrong.
    pub fn add(&mut self, field: impl fmt::Display, message: impl Into<String>) {
        if self.found.len() < Self::MAX {
            self.found.push(FieldProblem { field: field.to_string(), message: message.into() });
        }
    }

    /// Notes what a part of the input was found to have, with the place of the part before each.
    pub fn add_at(&mut self, path: &str, found: Result<(), Vec<FieldProblem>>) {
        for problem in found.err().into_iter().flatten() {
            self.add(format_args!("{path}.{}", problem.field), problem.message);
        }
    }

    /// `Ok` when nothing was found.
    pub fn into_result(self) -> Result<(), Vec<FieldProblem>> {
        if self.found.is_empty() { Ok(()) } else { Err(self.found) }
    }
}
