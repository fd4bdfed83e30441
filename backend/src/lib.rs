//! The source of truth: who decided what a flag means, and what edges must hold because of it.
//!
//! `http` proves permissions and calls `app`; `app` says what a person does and owns transactions; `store` is all the
//! SQL there is; `leader` is what one replica does for all: publish, ingest, roll up, lift kills.

pub mod app;
pub mod auth;
pub mod bus;
pub mod clock;
pub mod command;
pub mod config;
pub mod error;
pub mod http;
pub mod leader;
pub mod live;
pub mod metrics;
pub mod state;
pub mod statistics;
pub mod store;
mod telemetry;
