//! What must hold for any bytes, one function per fuzz target; each panics where it does not hold.
//!
//! [`state`] and [`context`] ask every flag of a [`world`] and compare its answers with a [`mod@reference`], which does
//! what the rules say and nothing to be quick, and with what is [`said`] of the documents. [`compare`] does the same
//! for the texts that are compared.

pub mod compare;
pub mod context;
pub mod reference;
pub mod said;
pub mod state;
pub mod world;
