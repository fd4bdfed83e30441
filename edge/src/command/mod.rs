//! The command line.

mod serve;

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use serve::ServeArguments;

type Failure = Box<dyn Error + Send + Sync>;

/// Answers feature flags from memory, whether or not anything behind it is alive.
#[derive(Debug, Parser)]
#[command(name = "fluxgate-edge", version, about)]
pub struct Arguments {
    #[command(flatten)]
    serve: ServeArguments,
}

/// Runs what the arguments say; a failure is printed with all its causes, once.
pub fn run(arguments: Arguments) -> ExitCode {
    match serve::start(&arguments.serve) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&*error);
            ExitCode::FAILURE
        }
    }
}

fn report(error: &dyn Error) {
    let mut text = format!("fluxgate-edge: {error}");
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    let _ = writeln!(std::io::stderr(), "{text}");
}
