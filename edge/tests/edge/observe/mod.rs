//! What an edge says of itself to those who run it and to those who ask it.

mod answers;
mod checker;
mod metrics;
mod openapi;
mod traces;
