//! Who may depend on what: the rules of `.deny.toml`, and one version of each direct dependency.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::PathBuf;

use serde_json::Value;

use crate::cargo::{self, cargo, output};
use crate::checkout;
use crate::error::{Context, Error, Result};
use crate::say;

/// The version of cargo-deny that reads `.deny.toml`.
const DENY: &str = "0.20.2";

/// Checks the rules.
pub(super) fn check() -> Result<()> {
    say::step("dependency rules");
    one_version_each()?;
    let deny = deny()?;
    let mut command = cargo::program(deny);
    command.current_dir(checkout::root());
    command.args(["--workspace", "--all-features", "--locked", "--config", ".deny.toml", "check"]);
    // Not "advisories": they come from the network and change without us.
    cargo::run(command.args(["--hide-inclusion-graph", "bans", "licenses", "sources"]))
}

/// cargo-deny, compiled once per machine: it lies outside `target/`, where `cargo clean` would take it along.
fn deny() -> Result<PathBuf> {
    let home = env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or(home);
    let folder = cache.ok_or_else(|| Error::new("HOME is not set"))?.join(format!("fluxgate/cargo-deny-{DENY}"));
    let file = folder.join("bin/cargo-deny");
    if !file.is_file() {
        say::step("compiling cargo-deny, once (a few minutes)");
        let mut command = cargo();
        command.args(["install", "cargo-deny", "--locked", "--version", DENY, "--root"]).arg(&folder);
        cargo::run(&mut command)?;
    }
    Ok(file)
}

/// No two members may use different versions of the same crate.
fn one_version_each() -> Result<()> {
    let text = output(cargo().args(["metadata", "--format-version", "1", "--locked", "--all-features"]))?;
    let metadata: Value = serde_json::from_str(&text).context("reading cargo metadata")?;
    let doubled = doubled(&metadata);
    if doubled.is_empty() {
        return Ok(());
    }
    Err(Error::new(format!("direct dependencies in two versions: {}", doubled.join("; "))))
}

fn doubled(metadata: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages = list(&metadata["packages"]);
    let by_id: BTreeMap<String, (String, String)> = packages
        .iter()
        .map(|package| (text(&package["id"]), (text(&package["name"]), text(&package["version"]))))
        .collect();
    let members: BTreeSet<String> = list(&metadata["workspace_members"]).iter().map(text).collect();
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let nodes = list(&metadata["resolve"]["nodes"]);
    let direct = nodes.iter().filter(|node| members.contains(&text(&node["id"])));
    for dependency in direct.flat_map(|node| list(&node["deps"])) {
        if let Some((name, version)) = by_id.get(&text(&dependency["pkg"])) {
            versions.entry(name).or_default().insert(version);
        }
    }
    let doubled = versions.into_iter().filter(|(_, versions)| versions.len() > 1);
    doubled.map(|(name, versions)| format!("{name} {}", Vec::from_iter(versions).join(" and "))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_direct_dependencies_in_two_versions_are_named() {
        let metadata = json!({
            "packages": [
                {"id": "a", "name": "a", "version": "0.1.0"}, {"id": "b", "name": "b", "version": "0.1.0"},
                {"id": "x1", "name": "x", "version": "1.0.0"}, {"id": "x2", "name": "x", "version": "2.0.0"},
                {"id": "y1", "name": "y", "version": "1.0.0"}, {"id": "y2", "name": "y", "version": "2.0.0"},
            ],
            "workspace_members": ["a", "b"],
            "resolve": {"nodes": [
                {"id": "a", "deps": [{"pkg": "x1"}, {"pkg": "y1"}]},
                {"id": "b", "deps": [{"pkg": "x2"}]},
                {"id": "x1", "deps": [{"pkg": "y2"}]},
            ]},
        });
        assert_eq!(doubled(&metadata), ["x 1.0.0 and 2.0.0"]);
    }
}
