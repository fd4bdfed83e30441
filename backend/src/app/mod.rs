//! What a person can do, one function each. `changeset` is the only way to change what a flag answers.

pub mod bundle;
pub mod changeset;
pub mod count;
pub mod demo;
pub mod edge;
pub mod experiment;
pub mod flag;
pub mod freeze;
pub mod metric;
pub mod plan;
pub mod project;
pub mod range;
pub mod sdk_key;
pub mod segment;
pub mod session;
pub mod setup;
pub mod shown;
pub mod stale;
pub mod zone;
