//! The edge's command line.

use std::process::ExitCode;

use clap::Parser;
use edge::command::{self, Arguments};

fn main() -> ExitCode {
    command::run(Arguments::parse())
}
