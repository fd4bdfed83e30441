//! `unprotect`: the way out for whoever holds the machine.

use std::io::Write;

use crate::app;
use crate::command::Failure;
use crate::state::AppState;

/// Ends the protection of an environment, with the reason in its history.
pub(super) async fn run(state: &AppState, project: &str, environment: &str, reason: &str) -> Result<(), Failure> {
    let revision = app::changeset::unprotect(state, project, environment, reason).await?;
    writeln!(std::io::stdout(), "{project}/{environment} is not protected any more (r{revision})")?;
    Ok(())
}
