//! The admin API, one file per noun; only [`client`] sends.

pub mod client;
pub mod count;
pub mod edge;
pub mod event;
pub mod flag;
pub mod project;
pub mod sdk_key;
pub mod segment;
pub mod session;
pub mod setup;
