//! What a flag means: no I/O, no clock, no randomness, so it runs alike in backend, edge and browser.
//!
//! [`compare`] reads texts and compares them, [`model`] holds the nouns and their parsers, [`evaluation`] decides what a
//! flag answers, [`lint`] finds what is probably a mistake, [`merge`] puts two edits together, [`sentence`] says it all in
//! English, and [`wire`] is everything that travels between the programs.

pub mod compare;
pub mod evaluation;
pub mod lint;
pub mod merge;
pub mod model;
pub mod sentence;
pub mod wire;
