//! Building blocks that know nothing about flags, each with its sheet beside it.

pub mod allocation;
pub mod button;
pub mod chart;
pub mod copy;
pub mod dialog;
pub mod field;
pub mod icon;
pub mod id;
pub mod menu;
pub mod snippet;
pub mod status;
pub mod table;
pub mod tabs;
pub mod toast;
pub mod tokens;
