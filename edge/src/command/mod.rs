//! The command line: serving, and explaining one answer.

mod evaluate;
mod serve;

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use evaluate::EvaluateArguments;
use serve::ServeArguments;

type Failure = Box<dyn Error + Send + Sync>;

/// Answers feature flags from memory, whether or not anything behind it is alive.
#[derive(Debug, Parser)]
#[command(name = "fluxgate-edge", version, about, args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(flatten)]
    serve: ServeArguments,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Explains what a flag of a bundle answers, and how it comes to that; nothing is started.
    ///
    /// Exits with 0 for an answer, 1 for an error of the evaluation, 2 where nothing could be evaluated.
    Evaluate(EvaluateArguments),
}

/// Runs what the arguments say; a failure is printed with all its causes, once.
pub fn run(arguments: Arguments) -> ExitCode {
    let (done, failed) = match arguments.command {
        Some(Command::Evaluate(arguments)) => (evaluate::run(&arguments), ExitCode::from(2)),
        None => (serve::start(&arguments.serve).map(|()| ExitCode::SUCCESS), ExitCode::FAILURE),
    };
    done.unwrap_or_else(|error| {
        report(&*error);
        failed
    })
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
