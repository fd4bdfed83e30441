//! Everything that travels between the programs. Siblings meet only here.

pub mod api;
pub mod bundle;
pub mod count;
pub mod edge;
pub mod problem;
pub mod project_file;
pub mod state;
