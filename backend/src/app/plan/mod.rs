//! Plans: changesets that happen step by step, at their times or after a hold.
//!
//! [`submit`] checks every step, one after another, and puts the whole plan before those who have to agree. Once nobody
//! has to any more, [`start`] sets it going; [`run_due`] is what the leader does for all plans, and `run::step` how one
//! step happens: once, whoever tries it. Pausing, resuming and stopping are in `steer`.

mod inverse;
mod list;
mod run;
mod steer;
mod submit;
mod when;

pub(in crate::app) use list::find;
pub use list::{detail, list};
pub use run::run_due;
pub use steer::{next, pause, resume, stop};
pub(in crate::app) use submit::{begin, try_out};
pub use submit::{start, submit};

use crate::error::AppError;

/// It cannot be done as things stand; the sentence says what to do first.
fn wrong_state(message: impl Into<String>) -> AppError {
    AppError::conflict("wrong_state", message)
}
