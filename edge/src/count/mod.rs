//! How often each flag answered what, brought home exactly once.
//!
//! Answering adds one to an atomic cell beside the compiled flag ([`Cells`]): no queue, no event. [`Counters`] knows all
//! cells and gathers them; [`Sender`] closes batches, keeps them in the spool and sends them, one at a time.

mod accumulator;
mod cells;
mod sender;
mod spool;

pub use accumulator::Accumulator;
pub use cells::{Cells, Counters, KeyCell};
pub use sender::{FLUSH_TIMEOUT, Sender};
pub use spool::{Identity, Spool};
