//! Pieces that several pages share and that know the product's words.

pub mod environment;
pub mod project;
pub mod receipt;
pub mod sentence;
pub mod state;
pub mod when;
