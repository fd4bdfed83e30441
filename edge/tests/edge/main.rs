//! The real edge as a process, over real HTTP, fed by a real NATS.
//!
//! `FLUXGATE_TEST_NATS_SERVERS` names the nats-server binaries, separated by colons; the tests of the feed run on each
//! of them, the others on the first. `FLUXGATE_TEST_LONG=1` does in full size what is usually done in small: an environment
//! of 64 MiB, 60 restarts in a row.

mod address;
mod balancer;
mod bucket;
mod bulk;
mod bundle;
mod bus;
mod command;
mod connection;
mod count;
mod disk;
mod evaluate;
mod feed;
mod head;
mod json;
mod observe;
mod old_reader;
mod outage;
mod report;
mod stampede;
mod stream;
mod support;
mod vectors;
