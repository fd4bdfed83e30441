//! `evaluate`: what a flag of a bundle answers, and how it comes to that.

mod documents;
mod input;
mod text;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde::Serialize;
use shared::evaluation::{self, Context, ErrorCode, OutcomeTrace, Query, Trace};
use shared::model::sdk_key::SdkKeyKind;
use shared::model::timestamp::Timestamp;
use strsim::damerau_levenshtein;

use crate::app::App;
use crate::command::Failure;
use crate::snapshot::Environment;
use crate::{bundle, feed};
use documents::EnvironmentDocuments;

/// So many keys that resemble one that is not there are named.
const NEAREST_MAX: usize = 3;

#[derive(Debug, Args)]
pub(super) struct EvaluateArguments {
    /// The state bundle, as `fluxgate-backend export-bundle` writes it.
    #[arg(long, value_name = "FILE")]
    bundle: PathBuf,
    /// The flag's key.
    #[arg(long, value_name = "KEY")]
    flag: String,
    /// The context as JSON; @FILE reads it from a file, - from standard input.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    context: String,
    /// The environment; may be left out where the bundle holds only one.
    #[arg(long, value_name = "PROJECT/ENVIRONMENT")]
    environment: Option<String>,
    /// The time of the evaluation as RFC 3339, such as 2027-01-01T09:00:00Z; now when left out.
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// Who asks; a client sees only flags that are visible to clients.
    #[arg(long = "as", value_enum, default_value_t = Asker::Server)]
    asker: Asker,
    /// Prints answer and trace as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Asker {
    Server,
    Client,
}

/// An answer with the way to it; also the form of `--json`.
#[derive(Debug, Serialize)]
struct Explained<'e> {
    flag: &'e str,
    environment: &'e str,
    revision: u64,
    at: Timestamp,
    asker: SdkKeyKind,
    outcome: OutcomeTrace,
    /// Absent for a flag that is not found.
    trace: Option<Trace>,
}

/// Prints the explanation; the exit code tells an answer from an error.
pub(super) fn run(arguments: &EvaluateArguments) -> Result<ExitCode, Failure> {
    let records = bundle::records(bundle::read(&arguments.bundle)?);
    let at = input::at(arguments.at.as_deref())?;
    let context = input::context(&arguments.context)?;
    let context: Context<'_> =
        serde_json::from_str(&context).map_err(|error| format!("--context is not a JSON object: {error}"))?;
    let app = App::default();
    feed::answer_from(&app, &records);
    let snapshot = app.snapshot.load();
    let environment = input::environment(&snapshot, arguments.environment.as_deref())?;

    let asker = match arguments.asker {
        Asker::Server => SdkKeyKind::Server,
        Asker::Client => SdkKeyKind::Client,
    };
    let query = Query { context: &context, now_ms: at.unix_ms(), asker };
    let (outcome, trace) = evaluation::explain(environment, &arguments.flag, &query);
    let mut told = OutcomeTrace::from(&outcome);
    if matches!(outcome.error, Some((ErrorCode::FlagNotFound, _))) {
        told.error_details = Some(not_found(environment, &arguments.flag));
    }
    let (name, revision) = (&environment.name, environment.revision);
    let explained = Explained { flag: &arguments.flag, environment: name, revision, at, asker, outcome: told, trace };
    let printed = if arguments.json {
        serde_json::to_string_pretty(&explained)? + "\n"
    } else {
        text::render(&explained, &EnvironmentDocuments::of(&records, environment.id))
    };
    let mut out = std::io::stdout().lock();
    out.write_all(printed.as_bytes()).and_then(|()| out.flush())?;
    Ok(if outcome.error.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Unlike an application, a person is told that a flag is hidden, and what a misspelt key may have meant.
fn not_found(environment: &Environment, key: &str) -> String {
    if environment.flag(key).is_some() {
        return format!("a client may not see {key}: it is not client_visible; ask --as server");
    }
    let keys = environment.flags.iter().map(|entry| entry.flag.flag.key.as_str());
    let mut near: Vec<(usize, &str)> = keys.map(|known| (damerau_levenshtein(known, key), known)).collect();
    near.sort_unstable();
    // A key that shares less than half its letters was not meant.
    let meant = near.iter().filter(|(distance, known)| distance * 2 <= known.len().max(key.len()));
    let meant: Vec<&str> = meant.map(|(_, known)| *known).take(NEAREST_MAX).collect();
    let name = &environment.name;
    match meant.as_slice() {
        [] => format!("there is no flag of this key in {name}, nor one like it among its {}", near.len()),
        meant => format!("there is no flag of this key in {name}; the nearest: {}", meant.join(", ")),
    }
}
