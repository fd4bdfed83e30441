//! Edges.

pub mod dismiss;
pub mod list;
