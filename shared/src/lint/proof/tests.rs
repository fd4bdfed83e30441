//! What is refuted, and what is not.

use serde_json::{Value, json};

use super::*;

const NOW_MS: i64 = 1_798_761_600_000;

fn condition(document: &Value) -> Condition {
    serde_json::from_value(document.clone()).expect("a condition")
}

/// `plan equals pro team`, `!plan equals pro`, `plan exists`, `in_segment staff`.
fn leaf(text: &str) -> Value {
    let (text, negate) = text.strip_prefix('!').map_or((text, false), |text| (text, true));
    let mut words = text.split(' ');
    let first = words.next().expect("a word");
    let (attribute, operator) =
        if first == "in_segment" { (None, first) } else { (Some(first), words.next().expect("an operator")) };
    let (operator, ignore_case) = operator.strip_suffix('~').map_or((operator, false), |operator| (operator, true));
    let values: Vec<String> = words.map(|word| word.replace('_', " ").replace('∅', "")).collect();
    json!({
        "attribute": attribute, "operator": operator, "values": values, "negate": negate, "ignore_case": ignore_case,
    })
}

fn documents(segments: &[Value]) -> Documents {
    let mut documents = Documents::default();
    for segment in segments {
        let segment: SegmentDefinition = serde_json::from_value(segment.clone()).expect("a segment");
        documents.segments.insert(segment.key.clone(), segment);
    }
    documents
}

fn are_possible(leaves: &[&str]) -> bool {
    let documents = documents(&[
        json!({"key": "staff", "included": ["a", "b"]}),
        json!({"key": "nobody", "included": ["a"], "excluded": ["a"]}),
        json!({"key": "pro", "conditions": leaf("plan equals pro")}),
        json!({"key": "both", "conditions": {"all": [leaf("in_segment pro"), leaf("in_segment staff")]}}),
        json!({"key": "out", "excluded": ["a", "b"], "conditions": leaf("plan exists")}),
        json!({"key": "nested", "conditions": leaf("in_segment nobody")}),
    ]);
    let conditions: Vec<Condition> = leaves.iter().map(|text| condition(&leaf(text))).collect();
    let mut prover = Prover::new(&documents, None, NOW_MS);
    prover.is_possible(&conditions.iter().map(Goal::Holds).collect::<Vec<_>>())
}

#[test]
fn what_no_context_can_meet_is_refuted() {
    let cases: &[&[&str]] = &[
        &["a equals x", "!a equals x"],
        &["a equals x", "!a equals y x"],
        &["a equals x", "!a exists"],
        &["!a equals x", "!a exists"],
        &["a exists", "!a exists"],
        // Both the text and the number.
        &["a equals 5", "!a equals 5"],
        &["a equals x", "!a contains x"],
        &["a equals xy", "!a starts_with x"],
        &["a equals~ X", "!a equals~ x"],
        &["a equals X", "!a equals~ x"],
        &["a equals~ 5", "!a equals 5"],
        &["a equals xy", "!a matches ^x"],
        &["a contains xyz", "!a contains y"],
        &["a starts_with xy", "!a starts_with x"],
        &["a starts_with xy", "!a contains y"],
        &["a ends_with xy", "!a contains~ X"],
        &["a matches ^x", "!a contains ∅"],
        &["a matches ^x y", "!a matches y ^x"],
        &["a less 5", "!a less 5"],
        &["a less 5", "!a less 7"],
        &["a less 5", "!a less_or_equal 5.0"],
        &["a greater 5 3", "!a greater_or_equal 3"],
        // Nothing is left between.
        &["a less 3", "!a less 3", "!a greater 1"],
        &["a greater 20", "!a less 10", "!a greater_or_equal 10"],
        &["a equals 7", "!a less 10", "!a greater 6"],
        &["v semver_equal 1.2", "!v semver_less 2"],
        &["v semver_equal v1.2.0", "!v semver_equal 1.2.0+7"],
        &["v semver_equal 1.2.3", "!v semver_in ^1.2"],
        &["v semver_greater 2", "!v semver_greater_or_equal 2"],
        &["v semver_in >2_<1"],
        &["v semver_in ^1.2", "!v semver_in ~3 ^1.2"],
        &["t before 2026-01-01T00:00:00Z", "!t before 2026-01-01T01:00:00+01:00"],
        &["ip in_network 10.1.0.0/16", "!ip in_network 10.0.0.0/8"],
        &["ip in_network 10.0.0.7", "!ip starts_with ∅"],
        // The time has one value, and does not go back.
        &["$now after 2030-01-01T00:00:00Z", "$now before 2029-01-01T00:00:00Z"],
        &["$now after 2030-01-01T00:00:00Z", "!$now after 2030-01-01T00:00:00Z"],
        &["$now before 2027-01-01T00:00:00Z"],
        &["!$now after 2026-01-01T00:00:00Z"],
        &["in_segment nobody"],
        &["in_segment nested nobody"],
        &["in_segment staff", "!in_segment staff pro"],
        &["in_segment pro", "!plan equals pro"],
        &["!in_segment pro", "plan equals pro"],
        &["in_segment both", "!in_segment staff"],
        &["in_segment staff", "in_segment out"],
        &["in_segment staff", "!targetingKey exists"],
        &["!in_segment out pro", "plan equals pro", "!in_segment staff"],
    ];
    for leaves in cases {
        assert!(!are_possible(leaves), "{leaves:?}");
    }
}

#[test]
fn what_some_context_meets_is_possible() {
    let cases: &[&[&str]] = &[
        // An array holds several.
        &["a equals x", "a equals y"],
        &["a less 5", "a greater 10"],
        &["v semver_less 1", "v semver_greater 2"],
        // An empty one holds none.
        &["!a less 10", "!a greater_or_equal 10"],
        &["!a contains ∅"],
        &["!a equals x", "a exists"],
        // A text of a number is not the number.
        &["a equals 5", "!a equals 5.0"],
        &["a equals 5", "!a contains 5"],
        &["a equals true", "!a equals~ TRUE"],
        &["a equals~ x", "!a equals x"],
        &["a contains x", "!a starts_with x"],
        &["a contains x", "!a contains xy"],
        &["a contains~ x", "!a contains x"],
        &["a less 7", "!a less 5"],
        &["a less_or_equal 5", "!a less 5"],
        &["a less 5", "!a equals 3"],
        &["v semver_equal 1.2.3", "!v equals 1.2.3"],
        &["v semver_in ^1.2", "!v semver_in ^1.3"],
        &["!t before 2026-01-01T00:00:00Z"],
        &["ip in_network 10.0.0.0/8", "!ip in_network 10.1.0.0/16"],
        &["ip in_network 10.0.0.7", "!ip in_network ::/0"],
        &["$now before 2027-01-01T00:00:00.001Z"],
        &["$now after 2026-01-01T00:00:00Z"],
        &["in_segment staff pro", "!in_segment staff"],
        &["in_segment out", "!in_segment staff"],
        &["!in_segment pro", "!plan equals pro"],
        &["in_segment unknown", "!in_segment staff"],
    ];
    for leaves in cases {
        assert!(are_possible(leaves), "{leaves:?}");
    }
}

#[test]
fn a_text_that_is_too_long_to_search_is_no_match_and_not_none() {
    assert!(are_possible(&["a contains x", "!a matches ^"]));
    // A long text is not readable by patterns, but is a text.
    let (matches, denied) = (condition(&leaf("a matches ^")), condition(&leaf("!a matches ^")));
    let text = condition(&leaf("a contains ∅"));
    let documents = Documents::default();
    let mut prover = Prover::new(&documents, None, NOW_MS);
    assert!(prover.is_possible(&[Goal::Fails(&matches), Goal::Fails(&denied), Goal::Holds(&text)]));
}

#[test]
fn groups_are_followed_in_every_way() {
    let documents = Documents::default();
    let mut prover = Prover::new(&documents, None, NOW_MS);
    let either = condition(&json!({"any": [leaf("a equals x"), {"all": [leaf("a equals y"), leaf("b exists")]}]}));
    let neither = condition(&json!({"all": [leaf("!a equals x y")]}));
    assert!(!prover.is_possible(&[Goal::Holds(&either), Goal::Holds(&neither)]));
    assert!(prover.is_possible(&[Goal::Holds(&either)]));
    let always = condition(&json!({"any": [leaf("a exists"), leaf("!a exists")]}));
    assert!(!prover.is_possible(&[Goal::Fails(&always)]));
    // Absent: neither a comparison nor its negation.
    let both = condition(&json!({"any": [leaf("a equals x"), leaf("!a equals x")]}));
    assert!(prover.is_possible(&[Goal::Fails(&both)]));
    let present = condition(&leaf("a equals x"));
    assert!(!prover.is_possible(&[Goal::Fails(&both), Goal::Holds(&present)]));
}

#[test]
fn what_takes_too_long_counts_as_possible() {
    let documents = Documents::default();
    let mut prover = Prover::new(&documents, None, NOW_MS);
    // So many pigeons do not fit into one hole less, which no quick proof shows.
    let pigeons: Vec<Value> = (0..12)
        .map(|pigeon| json!({"any": (0..11).map(|hole| leaf(&format!("{pigeon}-{hole} exists"))).collect::<Vec<_>>()}))
        .collect();
    let alone = (0..11).flat_map(|hole| (0..12).flat_map(move |one| (0..one).map(move |other| (hole, one, other))));
    let alone = alone.map(|(hole, one, other)| {
        json!({"any": [leaf(&format!("!{one}-{hole} exists")), leaf(&format!("!{other}-{hole} exists"))]})
    });
    let tree = condition(&json!({"all": pigeons.into_iter().chain(alone).collect::<Vec<_>>()}));
    assert!(prover.is_possible(&[Goal::Holds(&tree)]));
}
