//! The backend's command line.

use std::process::ExitCode;

use backend::command::{self, Arguments};
use clap::Parser;

fn main() -> ExitCode {
    command::run(Arguments::parse())
}
