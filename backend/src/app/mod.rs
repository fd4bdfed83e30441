//! What a person can do, one function each. `changeset` is the only way to change what a flag answers.

pub mod account;
pub mod bundle;
pub mod changeset;
pub mod count;
pub mod demo;
pub mod edge;
pub mod experiment;
pub mod flag;
pub mod invite;
pub mod member;
pub mod metric;
mod noted;
pub mod project;
pub mod range;
pub mod reset;
pub mod role;
pub mod sdk_key;
pub mod segment;
pub mod session;
pub mod setup;
pub mod shown;
pub mod stale;
pub mod token;
pub mod user;
