//! The nouns of the product, each parsed once at the door.

pub mod change;
pub mod changeset;
pub mod condition;
pub mod environment;
pub mod flag;
pub mod id;
pub mod key;
pub mod permission;
pub mod policy;
pub mod prerequisite;
pub mod problem;
pub mod reach;
pub mod rule;
pub mod sdk_key;
pub mod segment;
pub mod split;
pub mod timestamp;
pub mod variant;
pub mod web_origin;
pub mod webhook;
