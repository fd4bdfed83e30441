//! One error for all of it: a sentence for the person at the terminal, made longer by each step it passes.

use std::fmt;

/// What went wrong, as text for a person.
#[derive(Debug)]
pub struct Error(String);

/// The result of every step here.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error that says `message`.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// Adds what was being done to an error.
pub trait Context<T> {
    /// Puts `step` in front of the error's text.
    fn context(self, step: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn context(self, step: impl fmt::Display) -> Result<T> {
        self.map_err(|cause| Error(format!("{step}: {cause}")))
    }
}
