//! The real edge as a process, over real HTTP, fed by a real NATS.
//!
//! `FLUXGATE_TEST_NATS_SERVERS` names the nats-server binaries, separated by colons; the tests of the feed run on each
//! of them, the others on the first.

mod bucket;
mod bulk;
mod bundle;
mod command;
mod count;
mod evaluate;
mod feed;
mod observe;
mod old_reader;
mod outage;
mod report;
mod stream;
mod support;
mod vectors;
