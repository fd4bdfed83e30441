//! The parts of a running FluxGate, each of which can be started, stopped, killed and started again.
//!
//! Every part is a [`Service`]; [`postgres`], [`nats`] and [`program`] know how each one is run. [`Stack`] puts a whole
//! product together for a test: on free ports, in a folder of its own, gone when dropped.

pub mod nats;
pub mod port;
pub mod postgres;
pub mod program;
pub mod scratch;
pub mod secret;

mod guard;
mod identity;
mod probe;
mod service;
mod whole;

pub use identity::Identity;
pub use probe::{Ready, get};
pub use service::{Launch, Lifetime, Service, end_of};
pub use whole::{Demo, Options, Stack};
