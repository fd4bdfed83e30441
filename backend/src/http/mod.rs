//! HTTP: permission, input, one call into `app`, status and body. The whole API is on one screen in `router`.

pub mod changeset;
pub mod count;
pub mod csv;
pub mod edge;
pub mod environment;
pub mod event;
pub mod experiment;
pub mod flag;
pub mod freeze;
pub mod health;
pub mod input;
pub mod kill;
pub mod loss;
pub mod metric;
pub mod openapi;
pub mod plan;
pub mod project;
pub mod router;
pub mod sdk_key;
pub mod segment;
pub mod session;
pub mod setup;
pub mod stale;
pub mod ui;
pub mod unknown;
