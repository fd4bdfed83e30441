//! A context as JSON, asked about in a state that looks at everything.

use std::sync::LazyLock;

use serde_json::{Map, Value as Json, json};
use shared::compare::number::Number;
use shared::evaluation::{Context, StateDocument, TARGETING_KEY, Value};
use shared::model::condition::Operator;
use shared::model::split::Algorithm;

use super::world::World;

/// An object whose only field this is becomes another thing in `serde_json`'s own values.
const RAW_VALUE: &str = "RawValue";

static DOCUMENT: LazyLock<StateDocument> = LazyLock::new(document);
static WORLD: LazyLock<World<'static>> = LazyLock::new(|| World::new(&DOCUMENT));

/// Reads the context and asks every flag about it; `false` when it is none.
pub fn check(data: &[u8]) -> bool {
    let json = serde_json::from_slice::<Json>(data);
    let context = serde_json::from_slice::<Context<'_>>(data);
    if std::str::from_utf8(data).is_ok_and(|text| text.contains(RAW_VALUE)) {
        return context.is_ok();
    }
    let fields = match json {
        Ok(Json::Object(fields)) => fields,
        Ok(Json::Null) => Map::new(),
        Ok(_) | Err(_) => {
            assert!(context.is_err(), "a context is an object or null");
            return false;
        }
    };
    let context = context.expect("what is JSON is a context");
    check_attributes(&context, &fields);
    WORLD.ask(&context, &[]);
    true
}

/// The attributes are those of the JSON.
fn check_attributes(context: &Context<'_>, fields: &Map<String, Json>) {
    for (name, json) in fields.iter().filter(|(name, _)| *name != TARGETING_KEY) {
        match context.get(name) {
            Some(value) => check_value(value, json),
            None => assert!(name.starts_with('$'), "'{name}' is there"),
        }
        assert!(!name.starts_with('$') || context.get(name).is_none(), "'{name}' is ignored");
    }
    let own = fields.get(TARGETING_KEY).filter(|json| !json.is_null());
    match (context.get(TARGETING_KEY), own.or_else(|| fields.get("bucketingKey"))) {
        (Some(value), Some(json)) => check_value(value, json),
        (value, json) => assert!(value.is_none() && json.is_none(), "{value:?} {json:?}"),
    }
}

fn check_value(value: &Value<'_>, json: &Json) {
    assert!(is_same(value, json), "{value:?} {json}");
    let written = serde_json::from_str(&value.to_json()).expect("a value as JSON");
    assert!(is_same(value, &written), "{value:?} {written}");
}

fn is_same(value: &Value<'_>, json: &Json) -> bool {
    match (value, json) {
        (Value::Null, Json::Null) => true,
        (Value::Boolean(a), Json::Bool(b)) => a == b,
        (Value::Number(a), Json::Number(b)) => number(b) == Some(*a),
        (Value::Text(a), Json::String(b)) => a == b,
        (Value::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b)),
        (Value::Object(a), Json::Object(b)) => {
            b.iter().all(|(name, json)| a.get(name).is_some_and(|value| is_same(value, json)))
        }
        _ => false,
    }
}

fn number(json: &serde_json::Number) -> Option<Number> {
    let integer = json.as_i64().map(i128::from).or_else(|| json.as_u64().map(i128::from));
    integer.map(Number::Integer).or_else(|| json.as_f64().map(Number::from))
}

/// A flag for each operator and attribute, and for each way to split.
fn document() -> StateDocument {
    let mut flags = Vec::new();
    for (at, operator) in Operator::ALL.into_iter().enumerate() {
        for (of, attribute) in ["a", "a.b", TARGETING_KEY].into_iter().enumerate() {
            let mut leaf = json!({"operator": operator});
            if operator.takes_attribute() {
                leaf["attribute"] = json!(attribute);
            }
            if operator.takes_values() {
                leaf["values"] = json!(values(operator));
            }
            if operator.can_ignore_case() {
                leaf["ignore_case"] = json!(of > 0);
            }
            let mut negated = leaf.clone();
            negated["negate"] = json!(true);
            let rules = json!([rule(0, &leaf, "one"), rule(1, &negated, "two")]);
            flags.push(flag(&format!("o{at}-{of}"), &rules, &json!({"variant": "three"})));
        }
    }
    for (at, algorithm) in Algorithm::ALL.into_iter().enumerate() {
        let bucket_by = ["a", "a.b", TARGETING_KEY][at % 3];
        let split = json!({"split": {"bucket_by": bucket_by, "algorithm": algorithm, "seed": "s", "ranges": [
            {"start": 0, "end": 30_000, "variant": "one"}, {"start": 30_000, "end": 100_000, "variant": "two"},
        ]}});
        flags.push(flag(&format!("s{at}"), &json!([]), &split));
    }
    let segments = json!([
        {"key": "first", "excluded": ["u-1"], "included": ["u-2"],
         "conditions": {"any": [
            {"operator": "in_segment", "values": ["second"]}, {"attribute": "b", "operator": "exists"},
         ]}},
        {"key": "second", "conditions": {"attribute": "a", "operator": "equals", "values": ["x", "1"]}},
    ]);
    serde_json::from_value(json!({"flags": flags, "segments": segments})).expect("a state")
}

fn flag(key: &str, rules: &Json, default_serve: &Json) -> Json {
    let variants = ["one", "two", "three"].map(|key| json!({"key": key, "value": key}));
    let definition = json!({
        "key": key, "value_type": "string", "kind": "release", "client_visible": false, "variants": variants,
    });
    let targets = json!([{"variant": "three", "keys": ["u-3", "-70"]}]);
    json!({
        "flag": definition,
        "config": {"enabled": true, "targets": targets, "rules": rules, "default_serve": default_serve},
    })
}

fn rule(at: usize, conditions: &Json, variant: &str) -> Json {
    let id = format!("00000000-0000-0000-0000-00000000000{at}");
    json!({"id": id, "conditions": conditions, "serve": {"variant": variant}})
}

/// Values that the operator can read, enough of them to be searched and not walked.
fn values(operator: Operator) -> &'static [&'static str] {
    match operator {
        Operator::Equals | Operator::Contains | Operator::StartsWith | Operator::EndsWith => {
            &["Σ", "İi", "\u{212a}", "true", "10", "1e300", "abab", "x"]
        }
        Operator::Matches => &["^(a+)+b$", "(?i)straße", r"[0-9]{2,5}", r"\bx\b"],
        Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
            &["10", "-3.5", "9007199254740993"]
        }
        Operator::SemverEqual
        | Operator::SemverLess
        | Operator::SemverLessOrEqual
        | Operator::SemverGreater
        | Operator::SemverGreaterOrEqual => &["1.2.3", "1.2.3-rc.1", "0.9"],
        Operator::SemverIn => &["^1.2.3-rc.1", "~0.9", ">3 <=4.0.0", ">3.5", "0.0.1-a.b.1"],
        Operator::Before | Operator::After => &["2027-01-01T00:00:00.5+01:00", "1798761600001"],
        Operator::InNetwork => &["10.0.0.0/8", "10.128.0.0/9", "192.168.1.1", "2001:db8::/33", "::1"],
        Operator::InSegment => &["first", "second"],
        Operator::Exists => &[],
    }
}
