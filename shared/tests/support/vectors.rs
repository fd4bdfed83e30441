//! The published vectors: states, questions and the right answers, as data.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use shared::compare::moment::Moment;
use shared::evaluation::{Context, Outcome, Place, Query, State, StateDocument, evaluate, explain};
use shared::model::sdk_key::SdkKeyKind;

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        /// Every file, by name.
        pub const FILES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../vectors/", $name)))),+];
    };
}

files!(
    "absence.json",
    "context.json",
    "equals.json",
    "network.json",
    "number.json",
    "order.json",
    "prerequisite.json",
    "segment.json",
    "semver.json",
    "split.json",
    "text.json",
    "time.json",
    "tree.json",
    "value.json",
);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub about: String,
    pub environments: BTreeMap<String, StateDocument>,
    pub cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    pub environment: String,
    pub flag: String,
    pub context: Box<RawValue>,
    pub now: Option<String>,
    #[serde(default = "server")]
    pub asker: SdkKeyKind,
    pub expect: Expect,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Expect {
    pub value: Option<Box<RawValue>>,
    pub variant: Option<String>,
    pub reason: String,
    pub error_code: Option<String>,
    pub place: String,
    pub blocked_by: Option<String>,
}

fn server() -> SdkKeyKind {
    SdkKeyKind::Server
}

/// How an answer differs from what is expected; `None` when it does not.
fn difference(expect: &Expect, outcome: &Outcome<'_>) -> Option<String> {
    let expected = [
        expect.value.as_deref().map(|value| value.get().to_owned()),
        expect.variant.clone(),
        Some(expect.reason.clone()),
        expect.error_code.clone(),
        Some(expect.place.clone()),
        expect.blocked_by.clone(),
    ];
    let got = [
        outcome.value.map(str::to_owned),
        outcome.variant.map(str::to_owned),
        Some(outcome.reason.as_str().to_owned()),
        outcome.error.map(|(code, _)| code.to_string()),
        Some(place_text(outcome.place)),
        outcome.blocked_by.map(str::to_owned),
    ];
    (expected != got).then(|| format!("expected {expected:?}, got {got:?} {:?}", outcome.error))
}

pub fn place_text(place: Place) -> String {
    match place {
        Place::Off => "off".into(),
        Place::Killed => "killed".into(),
        Place::Blocked => "blocked".into(),
        Place::Target => "target".into(),
        Place::Rule(index) => format!("rule {index}"),
        Place::Default => "default".into(),
        Place::Error(code) => format!("error {code}"),
    }
}

/// Reads a file of cases.
pub fn read(name: &str, text: &str) -> File {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Answers every case of a file, traced and untraced; returns how many there are, and what went wrong.
pub fn run(name: &str, text: &str) -> (usize, Vec<String>) {
    let file = read(name, text);
    let states: BTreeMap<&str, State> =
        file.environments.iter().map(|(name, document)| (name.as_str(), State::compile(document))).collect();
    let mut failures = Vec::new();
    for case in &file.cases {
        let context: Context<'_> = match serde_json::from_str(case.context.get()) {
            Ok(context) => context,
            Err(error) => {
                failures.push(format!("{name}: {}: {error}", case.name));
                continue;
            }
        };
        let now = case.now.as_deref().unwrap_or("2027-01-01T00:00:00Z");
        let now_ms = Moment::parse(now).expect("a time").unix_ms();
        let query = Query { context: &context, now_ms, asker: case.asker };
        let state = states.get(case.environment.as_str()).unwrap_or_else(|| panic!("{name}: no {}", case.environment));
        let outcome = evaluate(state, &case.flag, &query);
        if let Some(difference) = difference(&case.expect, &outcome) {
            failures.push(format!("{name}: {}: {difference}", case.name));
        }
        let (explained, trace) = explain(state, &case.flag, &query);
        if explained != outcome || trace.is_some_and(|t| t.outcome != (&outcome).into()) {
            failures.push(format!("{name}: {}: explained, it answers {explained:?}", case.name));
        }
    }
    (file.cases.len(), failures)
}
