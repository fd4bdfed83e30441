//! `create-demo`: an installation to look at.

use std::io::Write;

use serde_json::json;

use crate::app;
use crate::command::Failure;
use crate::state::AppState;

/// Prints one line of JSON: what was made, or that nothing was.
pub(super) async fn run(state: &AppState, email: &str, password: String) -> Result<(), Failure> {
    let line = match app::demo::create(state, email, password.clone()).await? {
        None => json!({ "created": false }),
        Some(demo) => {
            let keys: serde_json::Map<_, _> =
                demo.sdk_keys.into_iter().map(|(key, secret)| (key.to_owned(), secret.into())).collect();
            let approver = json!({ "email": demo.approver, "password": password });
            json!({ "created": true, "project": "shop", "email": email, "password": password, "approver": approver,
                    "sdk_keys": keys })
        }
    };
    writeln!(std::io::stdout(), "{line}")?;
    Ok(())
}
