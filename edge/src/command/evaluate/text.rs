//! An explanation as a person reads it in a terminal.

use shared::model::sdk_key::SdkKeyKind;
use shared::sentence::{Documents, Step, explanation};

use crate::command::evaluate::Explained;

pub(super) fn render(explained: &Explained<'_>, documents: &impl Documents) -> String {
    let Explained { flag, environment, revision, at, asker, outcome, trace } = explained;
    let asker = if *asker == SdkKeyKind::Client { "client" } else { "server" };
    let mut text = format!("{flag} in {environment}, revision {revision}, asked by a {asker} at {at}\n\n");
    let mut line = |name: &str, value: &str| text.push_str(&format!("{name:<10} {value}\n"));
    match (&outcome.value, &outcome.error_code) {
        (Some(value), _) => line("value", value),
        (None, None) => line("value", "none: the application uses its own default"),
        (None, Some(code)) => line("error", code),
    }
    for (name, value) in [
        ("details", outcome.error_details.as_deref()),
        ("variant", outcome.variant.as_deref()),
        ("reason", Some(outcome.reason)),
        ("blocked by", outcome.blocked_by.as_deref()),
    ] {
        if let Some(value) = value {
            line(name, value);
        }
    }
    if let Some(trace) = trace {
        text.push('\n');
        explanation(trace, documents).iter().for_each(|told| text.push_str(&step(told)));
    }
    text
}

fn step(Step { depth, holds, text }: &Step) -> String {
    let mark = match holds {
        Some(true) => '✓',
        Some(false) => '✗',
        None => '·',
    };
    format!("{}{mark} {text}\n", "  ".repeat(*depth))
}
