//! Evaluation cases as data: body, segments and context in, answer out.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use shared::evaluation::{Context, Flag, Outcome, Place, Segment, SegmentLookup, evaluate};
use shared::model::segment::SegmentDefinition;
use shared::wire::state::FlagBody;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    body: FlagBody,
    #[serde(default)]
    segments: Vec<SegmentDefinition>,
    #[serde(default)]
    killed: bool,
    context: Box<RawValue>,
    expect: Expect,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Expect {
    value: Option<String>,
    variant: Option<String>,
    reason: String,
    error_code: Option<String>,
    place: String,
}

impl From<Outcome<'_>> for Expect {
    fn from(outcome: Outcome<'_>) -> Self {
        Self {
            value: outcome.value.map(str::to_owned),
            variant: outcome.variant.map(str::to_owned),
            reason: outcome.reason.as_str().to_owned(),
            error_code: outcome.error.map(|(code, _)| code.to_string()),
            place: match outcome.place {
                Place::Off => "off".into(),
                Place::Killed => "killed".into(),
                Place::Target => "target".into(),
                Place::Rule(index) => format!("rule {index}"),
                Place::Default => "default".into(),
                Place::Error(code) => format!("error {code}"),
            },
        }
    }
}

fn check(file: &str) {
    let path = format!("{}/tests/vectors/{file}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("a file of cases");
    let cases: Vec<Case> = serde_json::from_str(&text).expect("cases");
    assert!(!cases.is_empty());
    for case in cases {
        let flag = Flag::compile(&case.body.flag, &case.body.config, |key| {
            let found = case.segments.iter().find(|segment| segment.key == *key);
            found.map_or(SegmentLookup::Missing, |segment| {
                SegmentLookup::Ready(Arc::new(Segment::compile(segment).expect("a segment")))
            })
        });
        let context: Context<'_> = serde_json::from_str(case.context.get()).expect("a context");
        let got = Expect::from(evaluate(&flag, case.killed, &context));
        assert_eq!(got, case.expect, "{}", case.name);
        let body = serde_json::to_value(&case.body).expect("JSON");
        assert_eq!(serde_json::from_value::<FlagBody>(body).expect("a body"), case.body, "{}", case.name);
    }
}

#[test]
fn the_order_of_an_evaluation() {
    check("order");
}

#[test]
fn conditions() {
    check("condition");
}

#[test]
fn splits() {
    check("split");
}

#[test]
fn segments() {
    check("segment");
}
