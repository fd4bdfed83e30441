//! What tests and the browser run share.

#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test uses a part of it")]

pub mod generate;
pub mod vectors;
