//! `create-admin`: first run without a browser.

use crate::app;
use crate::command::Failure;
use crate::state::AppState;

/// Makes the first admin; refused once anybody exists.
pub(super) async fn run(state: &AppState, name: &str, email: &str, password: String) -> Result<(), Failure> {
    let user = app::setup::create_admin(state, name, email, password).await?;
    tracing::info!(user.id = %user.id, "made the first admin");
    Ok(())
}
