//! The program that the README of `infra/clients/` shows.

include!(concat!(env!("OUT_DIR"), "/snippet.rs"));
