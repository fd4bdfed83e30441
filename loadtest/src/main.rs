//! Load scenarios against a running FluxGate: `. .fluxgate/env`, then `fluxgate-loadtest <scenario>`.
#![expect(clippy::print_stdout, reason = "a program for the terminal speaks on stdout")]

mod latency;
mod scenario;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "Load scenarios against a running FluxGate")]
struct Arguments {
    #[command(subcommand)]
    scenario: Scenario,
}

#[derive(Subcommand)]
enum Scenario {
    /// How many evaluations a second an edge answers, and how fast.
    Evaluate(scenario::evaluate::Arguments),
    /// A small shop that asks for the demo project's flags and sells something now and then, until it is stopped.
    Shop(scenario::shop::Arguments),
}

#[tokio::main]
async fn main() -> ExitCode {
    let result = match Arguments::parse().scenario {
        Scenario::Evaluate(arguments) => scenario::evaluate::run(arguments).await,
        Scenario::Shop(arguments) => scenario::shop::run(arguments).await,
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
