//! The whole product, through its real programs: PostgreSQL, NATS, the backend, two edges, and a browser.

mod browser;
mod bundle;
mod client;
mod count;
mod experiment;
mod outage;
mod propagation;
mod support;
mod survival;
