//! A migrated database of its own and a running app for every test.

mod answers;
mod counted;
mod nats;
mod published;
mod receiver;
mod server;

pub(crate) use counted::{Counted, keep_since_2020, roll_up};
pub(crate) use nats::Nats;
pub(crate) use receiver::{Received, Receiver, Reply};
pub(crate) use server::{Answer, App, PASSWORD, Person};

/// An id for what a test makes up.
pub(crate) fn new_id() -> uuid::Uuid {
    backend::clock::Clock::default().id()
}
