//! The nouns of the product, each parsed once at the door.

pub mod attribute;
pub mod change;
pub mod changeset;
pub mod condition;
pub mod environment;
pub mod flag;
pub mod freeze;
pub mod id;
pub mod key;
pub mod lifetime;
pub mod local;
pub mod permission;
pub mod plan;
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
