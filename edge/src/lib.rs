//! Answers from memory, over HTTP, whether or not anything behind it is alive.
//!
//! [`feed`] follows the state bucket and swaps the [`snapshot`]; [`http`] answers from it; [`sdk_key`] says who may
//! ask; [`count`] brings home how often; [`disk`] lets a restart survive an outage; [`report`] tells the backend how
//! this edge is; [`trace`] follows requests across programs. [`config`] holds every setting.

pub mod app;
pub mod bundle;
pub mod bus;
pub mod clock;
pub mod command;
pub mod config;
pub mod count;
pub mod disk;
pub mod feed;
pub mod http;
pub mod metrics;
pub mod report;
pub mod sdk_key;
pub mod snapshot;
pub mod telemetry;
pub mod trace;
