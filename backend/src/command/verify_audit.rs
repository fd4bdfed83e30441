//! `verify-audit`: whether anybody changed the history or the audit log afterwards.

use std::io::{self, Write};

use crate::app::audit::{self, Walked};
use crate::command::Failure;
use crate::state::AppState;

/// Prints how far both chains hold and their heads; fails when a row does not fit or a head that was given is in neither.
pub(super) async fn run(state: &AppState, heads: &[String]) -> Result<(), Failure> {
    let heads: Vec<String> = heads.iter().map(|head| head.trim().to_lowercase()).collect();
    let found = audit::verify(&state.pool, &heads).await?;
    let mut out = io::stdout().lock();
    for line in [line("history", "r", &found.history), line("audit", "event ", &found.audit)] {
        writeln!(out, "{line}")?;
    }
    let seen = |head: &String| found.history.seen.contains(head) || found.audit.seen.contains(head);
    let missing: Vec<&String> = heads.iter().filter(|head| !seen(head)).collect();
    for head in &missing {
        writeln!(out, "head {head}: in neither chain; what stood there was taken out or written anew")?;
    }
    out.flush()?;
    if found.history.fault.is_some() || found.audit.fault.is_some() || !missing.is_empty() {
        return Err("history or audit log are not as they were written".into());
    }
    Ok(())
}

fn line(name: &str, noun: &str, walked: &Walked) -> String {
    let holds = match (walked.first, walked.last) {
        (Some(first), Some(last)) => format!("{} hold, from {noun}{first} to {noun}{last}", walked.links),
        _ => "nothing is chained yet".into(),
    };
    let head = walked.head.as_ref().map(|head| format!("; head {head}")).unwrap_or_default();
    let fault = walked.fault.as_ref().map(|fault| format!("; FIRST BAD: {noun}{}: {}", fault.at, fault.what));
    format!("{name}: {holds}{head}{}", fault.unwrap_or_default())
}
