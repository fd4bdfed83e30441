//! `.fluxgate/env` for shells and programs, and the lines for the person.

use std::collections::BTreeMap;
use std::fs;

use super::start::EMAIL;
use super::{Arguments, Home};
use crate::error::{Context, Result};
use crate::say;
use crate::stack::program::SdkKeys;
use crate::stack::{nats, secret};

/// The demo project.
const PROJECT: &str = "shop";
/// The environment whose key is written down.
pub(super) const ENVIRONMENT: &str = "production";
/// A flag of the demo project, for the example.
const FLAG: &str = "checkout";
/// The addresses that answer `/readyz`.
const READY: [&str; 3] = ["FLUXGATE_BACKEND_URL", "FLUXGATE_EDGE_URL", "FLUXGATE_EDGE_2_URL"];

/// What is known once everything runs.
pub(super) struct Facts<'a> {
    pub(super) arguments: &'a Arguments,
    pub(super) postgres_url: String,
    pub(super) passwords: nats::Passwords,
    pub(super) password: String,
    pub(super) sdk_keys: Option<SdkKeys>,
}

/// Writes `.fluxgate/env`.
pub(super) fn write(home: &Home, facts: &Facts<'_>) -> Result<()> {
    let ports = facts.arguments;
    let http = |port| format!("http://127.0.0.1:{port}");
    let mut lines = vec![
        ("FLUXGATE_BACKEND_URL", http(ports.port_backend)),
        ("FLUXGATE_EDGE_URL", http(ports.port_edge)),
        ("FLUXGATE_EDGE_2_URL", http(ports.port_edge_2)),
        ("FLUXGATE_POSTGRES_URL", facts.postgres_url.clone()),
        ("FLUXGATE_NATS_URL", format!("nats://backend:{}@127.0.0.1:{}", facts.passwords.backend, ports.port_nats)),
    ];
    // Without them the database was filled by somebody else, who knows the words.
    if let Some(key) = facts.sdk_keys.as_ref().and_then(|keys| keys.get(ENVIRONMENT)) {
        lines.push(("FLUXGATE_PROJECT", PROJECT.to_owned()));
        lines.push(("FLUXGATE_EMAIL", EMAIL.to_owned()));
        lines.extend(approver(home).map(|email| ("FLUXGATE_APPROVER_EMAIL", email)));
        lines.push(("FLUXGATE_PASSWORD", facts.password.clone()));
        lines.push(("FLUXGATE_SDK_KEY", key.clone()));
    }
    let text: String = lines.iter().map(|(name, value)| format!("export {name}='{value}'\n")).collect();
    secret::write(&home.path("env"), &text)
}

/// Says where everything is, from what was written.
pub(super) fn repeat(home: &Home) -> Result<()> {
    let facts = read(home)?;
    let fact = |name: &str| facts.get(name).map_or("", String::as_str);
    say::line("\nFluxGate is up.\n");
    say::note(format_args!("web UI       {}", fact("FLUXGATE_BACKEND_URL")));
    if facts.contains_key("FLUXGATE_EMAIL") {
        say::note(format_args!("sign in      {}   {}", fact("FLUXGATE_EMAIL"), fact("FLUXGATE_PASSWORD")));
        let approver = fact("FLUXGATE_APPROVER_EMAIL");
        if !approver.is_empty() {
            say::note(format_args!("to approve   {approver}   with the same password; production is protected"));
        }
    }
    say::note(format_args!("edges        {}   {}", fact("FLUXGATE_EDGE_URL"), fact("FLUXGATE_EDGE_2_URL")));
    say::note(format_args!("PostgreSQL   {}", fact("FLUXGATE_POSTGRES_URL")));
    say::note(format_args!("NATS         {}", fact("FLUXGATE_NATS_URL")));
    let env = quoted(&home.path("env").display().to_string());
    say::note(format_args!("all of it    . {env}   (variables for a shell)"));
    if facts.contains_key("FLUXGATE_SDK_KEY") {
        say::line("\n  Ask for a flag as an application does:\n");
        say::note(format_args!("curl -s {}/evaluate \\", fact("FLUXGATE_EDGE_URL")));
        say::note(format_args!("  -H 'Authorization: Bearer {}' \\", fact("FLUXGATE_SDK_KEY")));
        say::note(format_args!("  -d '{{\"flagKey\":\"{FLAG}\",\"context\":{{\"targetingKey\":\"user-1\"}}}}'"));
    }
    say::line("");
    Ok(())
}

/// Who approves changes of the demo's production; nobody in a demo that an earlier version made.
fn approver(home: &Home) -> Option<String> {
    let said = fs::read_to_string(home.path("secrets/demo.json")).ok()?;
    let said: serde_json::Value = serde_json::from_str(said.trim()).ok()?;
    Some(said["approver"]["email"].as_str()?.to_owned())
}

/// A word as a shell takes it: in quotes where it holds more than what is surely plain.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// The ports at which backend and edges were started last.
pub(super) fn ports(home: &Home) -> Option<Vec<u16>> {
    let facts = read(home).ok()?;
    READY.iter().map(|name| facts.get(*name)?.rsplit_once(':')?.1.parse().ok()).collect()
}

fn read(home: &Home) -> Result<BTreeMap<String, String>> {
    let file = home.path("env");
    let text = fs::read_to_string(&file).context(format_args!("reading {}", file.display()))?;
    let lines = text.lines().filter_map(|line| line.strip_prefix("export ")?.split_once('='));
    Ok(lines.map(|(name, value)| (name.to_owned(), value.trim_matches('\'').to_owned())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_a_shell_would_split_is_quoted() {
        assert_eq!(quoted("/home/ana/fluxgate/.fluxgate/env"), "/home/ana/fluxgate/.fluxgate/env");
        assert_eq!(quoted("/my work/env"), "'/my work/env'");
        assert_eq!(quoted("/ana's $x/env"), "'/ana'\\''s $x/env'");
    }
}
