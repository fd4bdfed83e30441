//! Pages, by noun.

pub mod edge;
pub mod flag;
pub mod not_found;
pub mod project;
pub mod sdk_key;
pub mod setup;
pub mod sign_in;
