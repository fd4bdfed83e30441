//! How often each flag answered what, brought home exactly once.
//!
//! Answering adds one to an atomic cell beside the compiled flag ([`Cells`]): no queue, no event. [`Counters`] knows all
//! cells, and what experiments need beside them, and gathers it; [`Sender`] closes batches, keeps them in the spool and
//! sends them, one at a time, until the backend says that they are added.

mod accumulator;
mod assignment;
mod cells;
mod counters;
mod experiment;
mod key_cell;
#[cfg(test)]
mod property;
mod sender;
mod spool;
mod unit;

pub use accumulator::{Accumulator, EvaluationKey, Lost};
pub use cells::{Cells, Shape};
pub use counters::{Balance, Counters};
pub use experiment::{EVENTS_WAITING_MAX, EXPOSURES_WAITING_MAX, Exposure, Tracked};
pub use key_cell::KeyCell;
pub use sender::{FLUSH_TIMEOUT, Sender};
pub use spool::{Identity, Spool};
pub use unit::unit;
