//! The backend over HTTP, on a real PostgreSQL and a real NATS. `cargo xtask test` provides both.

mod benchmark;
mod bundle;
mod changeset;
mod count;
mod demo;
mod experiment;
mod flag;
mod freeze;
mod ingest;
mod insight;
mod kill;
mod ledger;
mod metric;
mod openapi;
mod permission;
mod plan;
mod prerequisite;
mod publish;
mod reference;
mod rollup;
mod sdk_key;
mod segment;
mod session;
mod stale;
mod support;
