//! How FluxGate is built, run and tested.
//!
//! [`run`] is the program behind `cargo xtask`. [`stack`] starts and stops the parts of the product one by one; `up` uses
//! it for the private stack of a checkout, and the tests in `tests/` use it for whole products on free ports.

pub mod checkout;
pub mod clients;
pub mod error;
pub mod snippet;
pub mod stack;

mod cargo;
mod check;
mod command;
mod down;
mod engine;
mod glue;
mod say;
mod setup;
mod signal;
mod soak;
mod test;
mod ui;
mod up;

pub use command::run;
pub use error::{Context, Error, Result};
