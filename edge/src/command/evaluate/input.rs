//! What the arguments of `evaluate` stand for.

use std::fs::File;
use std::io::{self, Read};

use shared::compare::moment::Moment;
use shared::model::timestamp::Timestamp;

use crate::clock;
use crate::command::Failure;
use crate::snapshot::{Environment, Snapshot};

/// A context is no longer than the body of a request may be.
const CONTEXT_BYTES_MAX: usize = 1024 * 1024;
/// So many environments are named where one must be chosen.
const NAMED_MAX: usize = 50;

/// The time to evaluate at.
pub(super) fn at(text: Option<&str>) -> Result<Timestamp, Failure> {
    let ms = match text {
        Some(text) => Moment::parse(text).map(Moment::unix_ms),
        None => Some(clock::now_ms()),
    };
    let wrong = || format!("--at {} is not a time; for example 2027-01-01T09:00:00Z", text.unwrap_or("now"));
    Ok(ms.and_then(Timestamp::from_unix_ms).ok_or_else(wrong)?)
}

/// The text of the context: as it stands, from a file after `@`, or from standard input for `-`.
pub(super) fn context(argument: &str) -> Result<String, Failure> {
    match argument.strip_prefix('@') {
        Some(path) => {
            let file = File::open(path).map_err(|error| format!("--context cannot read {path}: {error}"))?;
            read(file, path)
        }
        None if argument == "-" => read(io::stdin().lock(), "standard input"),
        None => Ok(argument.to_owned()),
    }
}

fn read(source: impl Read, name: &str) -> Result<String, Failure> {
    let mut text = String::new();
    let read = source.take(CONTEXT_BYTES_MAX as u64 + 1).read_to_string(&mut text);
    read.map_err(|error| format!("--context cannot read {name}: {error}"))?;
    if text.len() > CONTEXT_BYTES_MAX {
        return Err(format!("--context: {name} is longer than {CONTEXT_BYTES_MAX} bytes").into());
    }
    Ok(text)
}

/// The environment that is named, or the only one.
pub(super) fn environment<'s>(snapshot: &'s Snapshot, name: Option<&str>) -> Result<&'s Environment, Failure> {
    let mut environments = snapshot.environments.values();
    if let Some(name) = name {
        let found = environments.find(|environment| &*environment.name == name);
        let missing = || format!("--environment {name} is not in the bundle; it holds {}", names(snapshot));
        return Ok(found.map(|environment| &**environment).ok_or_else(missing)?);
    }
    match (environments.next(), environments.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => Err("the bundle holds no environment; export one that does".into()),
        _ => Err(format!("choose one with --environment; the bundle holds {}", names(snapshot)).into()),
    }
}

fn names(snapshot: &Snapshot) -> String {
    let mut names: Vec<&str> = snapshot.environments.values().map(|environment| &*environment.name).collect();
    names.sort_unstable();
    let more = names.len().saturating_sub(NAMED_MAX);
    names.truncate(NAMED_MAX);
    let named = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    if more > 0 { format!("{named} and {more} more") } else { named }
}
