//! The official OpenFeature clients, unchanged, ask a running product.

mod case;
mod flag;
mod script;
mod server;
mod snippet;
mod web;
