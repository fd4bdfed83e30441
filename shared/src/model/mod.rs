//! The nouns of the product, each parsed once at the door.

pub mod changeset;
pub mod environment;
pub mod flag;
pub mod id;
pub mod key;
pub mod problem;
pub mod rule;
pub mod sdk_key;
pub mod segment;
pub mod split;
pub mod timestamp;
pub mod variant;
