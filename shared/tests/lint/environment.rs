//! Environments and contexts of so few attributes and values that they meet each other.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use shared::evaluation::{Context, Outcome, Query, State, StateDocument, evaluate};
use shared::lint::Subject;
use shared::model::flag::{FlagConfig, FlagDefinition};
use shared::model::reach::Documents;
use shared::model::sdk_key::SdkKeyKind;
use shared::model::segment::SegmentDefinition;

/// 2027-01-01T00:00:00Z.
pub(crate) const NOW_MS: i64 = 1_798_761_600_000;
const ELEMENTS: &[&str] = &[
    "null",
    "true",
    "false",
    "{}",
    "[]",
    "3",
    "5",
    "5.0",
    "7.5",
    "10",
    "20",
    "1e300",
    "1798761600000",
    r#""""#,
    r#""x""#,
    r#""X""#,
    r#""y""#,
    r#""xy""#,
    r#""yx""#,
    r#""zxyz""#,
    r#""true""#,
    r#""3""#,
    r#""5""#,
    r#""5.0""#,
    r#""10""#,
    r#""20""#,
    r#""1.2.3""#,
    r#""v1.2.3+7""#,
    r#""2.0.0-rc.1""#,
    r#""2.0.0""#,
    r#""3""#,
    r#""10.0.0.7""#,
    r#""10.1.0.7""#,
    r#""11.0.0.7""#,
    r#""::1""#,
    r#""2026-01-01T00:00:00Z""#,
    r#""2026-06-01T00:00:00Z""#,
    r#""2027-01-01T00:00:00Z""#,
    r#""2028-01-01T00:00:00Z""#,
    r#""u1""#,
    r#""u2""#,
];
const KEYS: &[&str] = &["u1", "u2", "u3", "7", ""];

/// Operators with values that they can read, few enough to meet each other.
fn values_of(operator: &str) -> &'static [&'static str] {
    match operator {
        "equals" => &["x", "X", "y", "xy", "5", "5.0", "10", "true", "1.2.3", "10.0.0.7", ""],
        "contains" | "starts_with" | "ends_with" => &["x", "y", "xy", "X", ""],
        "matches" => &["x", "^x", "y$"],
        "less" | "less_or_equal" | "greater" | "greater_or_equal" => &["5", "5.0", "7.5", "10"],
        "semver_in" => &["^1.2", ">=1 <2", ">2 <1"],
        "before" | "after" => &["2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z", "1830297600000"],
        "in_network" => &["10.0.0.0/8", "10.1.0.0/16", "10.0.0.7", "::/0", "::1"],
        "in_segment" => &["s0", "s1", "s2"],
        "exists" => &[],
        _ => &["1.2.3", "v1.2.3", "2.0.0-rc.1", "2"],
    }
}

const OPERATORS: &[&str] = &[
    "equals",
    "equals",
    "equals",
    "contains",
    "starts_with",
    "ends_with",
    "matches",
    "less",
    "less_or_equal",
    "greater",
    "greater_or_equal",
    "semver_equal",
    "semver_less",
    "semver_less_or_equal",
    "semver_greater",
    "semver_greater_or_equal",
    "semver_in",
    "before",
    "after",
    "in_network",
    "in_segment",
    "in_segment",
    "exists",
];

fn leaf() -> impl Strategy<Value = Value> {
    let values = |operator: &'static str| prop::collection::vec(0..values_of(operator).len().max(1), 1..4);
    let operator = select(OPERATORS).prop_flat_map(move |operator| (Just(operator), values(operator)));
    (operator, select(&["a", "a", "a", "b", "targetingKey"][..]), any::<(bool, bool)>()).prop_map(
        |((operator, values), attribute, (negate, other))| {
            let values: Vec<&str> = values.iter().filter_map(|at| values_of(operator).get(*at)).copied().collect();
            let mut leaf = json!({"operator": operator, "values": values, "negate": negate});
            if operator != "in_segment" {
                let is_time = matches!(operator, "before" | "after") && other;
                leaf["attribute"] = json!(if is_time { "$now" } else { attribute });
            }
            let can_ignore = matches!(operator, "equals" | "contains" | "starts_with" | "ends_with");
            leaf["ignore_case"] = json!(can_ignore && other);
            leaf
        },
    )
}

fn conditions() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(3, 8, 3, |inner| {
        (any::<bool>(), prop::collection::vec(inner, 0..4))
            .prop_map(|(is_all, members)| if is_all { json!({"all": members}) } else { json!({"any": members}) })
    })
}

fn keys() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(select(KEYS), 0..3)
}

fn serve(is_default: bool) -> impl Strategy<Value = Value> {
    let variant = || select(&["on", "on", "off", "third"][..]);
    let split = (
        variant(),
        variant(),
        select(&["targetingKey", "a"][..]),
        select(&["murmur3", "launchdarkly"][..]),
        any::<bool>(),
    );
    prop_oneof![
        3 => variant().prop_map(|variant| json!({ "variant": variant })),
        1 => split.prop_map(move |(one, other, bucket_by, algorithm, is_whole)| {
            let end = if is_whole || is_default { 100_000 } else { 90_000 };
            json!({"split": {"bucket_by": bucket_by, "algorithm": algorithm, "seed": "s", "ranges": [
                {"start": 0, "end": 50_000, "variant": one}, {"start": 50_000, "end": end, "variant": other},
            ]}})
        }),
    ]
}

prop_compose! {
    fn config(flag: &'static str)(
        targets in prop::collection::vec((select(&["on", "off"][..]), keys()), 0..2),
        rules in prop::collection::vec((conditions(), serve(false), prop::bool::weighted(0.1)), 0..5),
        default_serve in serve(true),
        needed in prop::option::weighted(0.3, select(&["on", "off", "third"][..])),
    ) -> Value {
        let targets: Vec<Value> = targets.iter().map(|(variant, keys)| {
            let mut keys: Vec<&str> = keys.iter().copied().filter(|key| !key.is_empty()).collect();
            keys.sort_unstable();
            keys.dedup();
            json!({"variant": variant, "keys": keys})
        }).collect();
        let rules: Vec<Value> = rules.iter().enumerate().map(|(at, (conditions, serve, paused))| {
            let id = format!("00000000-0000-0000-0000-{at:012}");
            json!({"id": id, "conditions": conditions, "serve": serve, "paused": paused})
        }).collect();
        let mut config = json!({"enabled": true, "targets": targets, "rules": rules, "default_serve": default_serve});
        if let Some(needed) = needed.filter(|_| flag == "f") {
            config["prerequisites"] = json!([{"flag": "parent", "variants": [needed]}]);
        }
        config
    }
}

prop_compose! {
    /// Segments that use only those after them.
    fn segment(at: usize)(excluded in keys(), included in keys(), mut conditions in conditions()) -> Value {
        without_segments_before(&mut conditions, at);
        json!({"key": format!("s{at}"), "excluded": excluded, "included": included, "conditions": conditions})
    }
}

fn without_segments_before(condition: &mut Value, at: usize) {
    for group in ["all", "any"] {
        let members = condition.get_mut(group).and_then(Value::as_array_mut);
        members.into_iter().flatten().for_each(|member| without_segments_before(member, at));
    }
    if condition["operator"] == "in_segment" {
        let last = format!("s{}", at + 1);
        *condition = if at < 2 {
            json!({"operator": "in_segment", "values": [last], "negate": condition["negate"]})
        } else {
            json!({"attribute": "a", "operator": "exists", "negate": condition["negate"]})
        };
    }
}

/// An environment of two flags, of which `f` may need `parent`, and three segments.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    pub(crate) config: Value,
    pub(crate) parent: Value,
    pub(crate) segments: Vec<Value>,
}

prop_compose! {
    pub(crate) fn environments()(
        config in config("f"), parent in config("parent"), a in segment(0), b in segment(1), c in segment(2),
    ) -> Environment {
        Environment { config, parent, segments: vec![a, b, c] }
    }
}

impl Environment {
    fn definition(key: &str) -> Value {
        let variants = ["on", "off", "third", "fourth"].map(|key| json!({"key": key, "value": key}));
        json!({"key": key, "value_type": "string", "kind": "release", "client_visible": true, "variants": variants})
    }

    pub(crate) fn documents(&self) -> Documents {
        let mut documents = Documents::default();
        for (key, config) in [("f", &self.config), ("parent", &self.parent)] {
            let definition: FlagDefinition = serde_json::from_value(Self::definition(key)).expect("a definition");
            let config: FlagConfig = serde_json::from_value(config.clone()).expect("a config");
            documents.flags.insert(definition.key.clone(), (definition, config));
        }
        for segment in &self.segments {
            let segment: SegmentDefinition = serde_json::from_value(segment.clone()).expect("a segment");
            documents.segments.insert(segment.key.clone(), segment);
        }
        documents
    }

    pub(crate) fn state(&self) -> State {
        let flag = |key: &str, config: &Value| json!({"flag": Self::definition(key), "config": config});
        let flags = [flag("f", &self.config), flag("parent", &self.parent)];
        let document = json!({"flags": flags, "segments": self.segments});
        State::compile(&serde_json::from_value::<StateDocument>(document).expect("a state"))
    }

    /// The document a warning is about.
    pub(crate) fn document(&mut self, subject: &Subject) -> &mut Value {
        match subject {
            Subject::Flag(key) if key.as_str() == "f" => &mut self.config,
            Subject::Flag(_) => &mut self.parent,
            Subject::Segment(key) => {
                let at: usize = key.as_str()[1..].parse().expect("a number");
                &mut self.segments[at]
            }
        }
    }
}

/// Contexts of every element and of many arrays, each with a time from now on.
pub(crate) fn contexts(seed: u64) -> Vec<(String, i64)> {
    let mut chance = seed;
    let mut below = move |most: usize| {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (chance >> 33) as usize % most
    };
    let mut found = Vec::new();
    for at in 0..500 {
        let mut fields = Vec::new();
        for name in ["a", "b", "targetingKey"] {
            let is_array = below(3) == 0;
            let mut element = || match (name, below(3)) {
                ("targetingKey", 1..) => [r#""u1""#, r#""u2""#, r#""u3""#, "7", r#""""#][below(5)],
                _ => ELEMENTS[below(ELEMENTS.len())],
            };
            let value = if let Some(first) = ELEMENTS.get(at).filter(|_| name == "a") {
                (*first).to_owned()
            } else if is_array {
                let elements = [element(), element(), element(), element()];
                format!("[{}]", elements[..1 + below(4)].join(","))
            } else {
                element().to_owned()
            };
            if below(8) > 0 {
                fields.push(format!("\"{name}\":{value}"));
            }
        }
        let later = [0, 1, 86_400_000, 40_000_000_000][below(4)];
        found.push((format!("{{{}}}", fields.join(",")), NOW_MS + later));
    }
    found
}

pub(crate) fn answer<'s>(state: &'s State, flag: &str, context: &Context<'_>, now_ms: i64) -> Outcome<'s> {
    evaluate(state, flag, &Query { context, now_ms, asker: SdkKeyKind::Server })
}
