//! Projects.

pub mod home;
pub mod list;
