//! Flags: the list, making one, and one flag with its targeting.

pub mod condition;
pub mod conflict;
pub mod create;
pub mod create_draft;
pub mod create_start;
pub mod default_serve;
pub mod detail;
pub mod draft;
pub mod draft_bar;
pub mod effect;
pub mod evaluations;
pub mod header;
pub mod kill;
pub mod kill_banner;
pub mod killed;
pub mod list;
pub mod list_row;
pub mod review;
pub mod rule;
pub mod rules;
pub mod search;
pub mod serve;
pub mod split;
pub mod targeting;
pub mod targets;
pub mod words;
