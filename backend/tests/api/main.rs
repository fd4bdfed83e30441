//! The backend over HTTP, on a real PostgreSQL and a real NATS. `cargo xtask test` provides both.

mod benchmark;
mod bundle;
mod count;
mod demo;
mod experiment;
mod failover;
mod flag;
mod history;
mod ingest;
mod insight;
mod kill;
mod ledger;
mod metric;
mod migration;
mod openapi;
mod permission;
mod prerequisite;
mod publish;
mod reference;
mod restore;
mod rollup;
mod sdk_key;
mod segment;
mod session;
mod stale;
mod support;
