//! `cargo xtask`: see `xtask::run`.

use std::process::ExitCode;

fn main() -> ExitCode {
    match xtask::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
