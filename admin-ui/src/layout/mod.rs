//! What surrounds every page.

pub mod account;
pub mod breadcrumbs;
pub mod live;
pub mod navigation;
pub mod page_head;
pub mod session_ended;
pub mod shell;
