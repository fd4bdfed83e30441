//! Request and response bodies of the admin API, one file per noun.

pub mod changeset;
pub mod count;
pub mod edge;
pub mod environment;
pub mod event;
pub mod experiment;
pub mod flag;
pub mod insight;
pub mod metric;
pub mod project;
pub mod sdk_key;
pub mod segment;
pub mod session;
pub mod setup;
pub mod webhook;
