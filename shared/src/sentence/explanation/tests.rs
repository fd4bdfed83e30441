use std::collections::HashMap;

use serde_json::{Value, json};

use super::*;
use crate::evaluation::{Context, Query, State, StateDocument, explain};
use crate::model::sdk_key::SdkKeyKind;

/// Documents by key.
#[derive(Default)]
struct Known {
    configs: HashMap<FlagKey, FlagConfig>,
    segments: HashMap<SegmentKey, SegmentDefinition>,
}

impl Documents for Known {
    fn config(&self, flag: &FlagKey) -> Option<&FlagConfig> {
        self.configs.get(flag)
    }

    fn segment(&self, segment: &SegmentKey) -> Option<&SegmentDefinition> {
        self.segments.get(segment)
    }
}

fn flag(key: &str, config: Value) -> Value {
    json!({
        "flag": {
            "key": key, "value_type": "boolean", "kind": "release", "client_visible": true,
            "variants": [{"key": "on", "value": "true"}, {"key": "off", "value": "false"}],
        },
        "config": config,
    })
}

fn rule(at: u32, more: Value) -> Value {
    let mut rule = json!({"id": format!("00000000-0000-0000-0000-{at:012}"), "serve": {"variant": "on"}});
    if let (Some(rule), Value::Object(more)) = (rule.as_object_mut(), more) {
        rule.extend(more);
    }
    rule
}

fn document() -> StateDocument {
    let split = json!({"split": {"bucket_by": "company", "seed": "s", "ranges": [
        {"start": 0, "end": 30_000, "variant": "off"}, {"start": 40_000, "end": 100_000, "variant": "on"},
    ]}});
    let pro = json!({"attribute": "plan", "operator": "equals", "values": ["pro"]});
    let late = json!({"attribute": "$now", "operator": "after", "values": ["2027-01-01T00:00:00Z"]});
    let staff = json!({"operator": "in_segment", "values": ["staff"]});
    let child = json!({
        "enabled": true, "off_variant": "off",
        "prerequisites": [{"flag": "parent", "variants": ["on"]}],
        "targets": [{"variant": "on", "keys": ["qa"]}],
        "rules": [
            rule(1, json!({"name": "Staff", "conditions": {"any": [staff, {"all": [staff, pro]}]}})),
            rule(2, json!({"name": "Old", "paused": true})),
            rule(3, json!({"name": "Beta", "conditions": {"all": [pro, late]}, "serve": split})),
            rule(4, json!({})),
            rule(5, json!({"conditions": pro})),
        ],
        "default_serve": {"variant": "off"},
    });
    let flags = json!([
        flag("parent", json!({"enabled": true, "default_serve": {"variant": "on"}})),
        flag("off", json!({"enabled": false, "default_serve": {"variant": "on"}})),
        flag("child", child),
        flag(
            "needs-off",
            json!({
                "enabled": true, "prerequisites": [{"flag": "off", "variants": ["on"]}], "default_serve": {"variant": "on"},
            })
        ),
        flag(
            "split",
            json!({"enabled": true, "default_serve": {"split": {
                "bucket_by": "targetingKey", "seed": "s", "ranges": [{"start": 0, "end": 100_000, "variant": "on"}],
            }}})
        ),
        flag(
            "broken",
            json!({
                "enabled": true, "rules": [rule(1, json!({"conditions": {"operator": "in_segment", "values": ["gone"]}}))],
                "default_serve": {"variant": "on"},
            })
        ),
    ]);
    let segments = json!([{"key": "staff", "excluded": ["u-0"], "included": ["u-9"],
        "conditions": {"attribute": "email", "operator": "ends_with", "values": ["@acme.com"]}}]);
    serde_json::from_value(json!({"flags": flags, "segments": segments})).expect("a state")
}

fn told(flag: &str, context: &Value, has_documents: bool) -> Vec<String> {
    let document = document();
    let text = context.to_string();
    let context: Context<'_> = serde_json::from_str(&text).expect("a context");
    // 2027-01-01T00:00:02Z
    let query = Query { context: &context, now_ms: 1_798_761_602_000, asker: SdkKeyKind::Server };
    let (_, trace) = explain(&State::compile(&document), flag, &query);
    let mut known = Known::default();
    if has_documents {
        known.configs = document.flags.into_iter().map(|flag| (flag.flag.key, flag.config)).collect();
        known.segments = document.segments.into_iter().map(|segment| (segment.key.clone(), segment)).collect();
    }
    let mark = |holds| match holds {
        Some(true) => '✓',
        Some(false) => '✗',
        None => '·',
    };
    let steps = explanation(&trace.expect("the flag is there"), &known);
    steps.iter().map(|step| format!("{}{} {}", "  ".repeat(step.depth), mark(step.holds), step.text)).collect()
}

#[test]
fn every_step_reads_as_english() {
    let bucket = crate::evaluation::bucket("s", "c-1");
    let (range, holds, owner) = match bucket {
        0..30_000 => ("0 to 29999", '✓', "gets off"),
        30_000..40_000 => ("30000 to 39999", '✗', "belongs to nobody"),
        _ => ("40000 to 99999", '✓', "gets on"),
    };
    let context = json!({"targetingKey": "u-1", "plan": "pro", "company": "c-1", "email": ["a@b.c", 7]});
    let lines = told("child", &context, true);
    let split = format!("  {holds} divided by company: “s:c-1” is bucket {bucket}, and {range} {owner}");
    let expected = [
        "· the flag is on",
        "✓ needs parent to answer on: it answers on",
        "  · the flag is on",
        "  ✓ everyone else gets on",
        "✗ the targeting key u-1 is not named",
        "✗ rule 1, Staff: in segment staff, or (in segment staff, and plan is pro)",
        "  ✗ any of",
        "    ✗ in segment staff",
        "      ✗ staff: email ends with @acme.com",
        "        ✗ email ends with @acme.com: it is [\"a@b.c\",7]",
        "    ✗ all of",
        "      ✗ in segment staff",
        "        ✗ staff as decided above",
        "      · 1 condition not looked at any more",
        "· rule 2, Old is paused",
        &format!("{holds} rule 3, Beta: plan is pro, and the time is after 2027-01-01T00:00:00Z"),
        "  ✓ plan is pro: it is \"pro\"",
        "  ✓ the time is after 2027-01-01T00:00:00Z: it is 2027-01-01T00:00:02Z",
        &split,
    ];
    assert_eq!(lines[..expected.len()], expected);
    assert_ne!(bucket / 10_000, 3, "chosen so that the rule applies");
    assert_eq!(lines[expected.len()..], ["· 2 rules not looked at any more"]);
}

#[test]
fn what_is_missing_and_what_cannot_be_read_is_told() {
    let lines = told("child", &json!({"plan": {"name": "pro"}}), true);
    for line in [
        "✗ there is no targeting key, so nobody is named",
        "        ✗ email ends with @acme.com: it is not there",
        "  ✗ plan is pro: it is {\"name\":\"pro\"}, which cannot be compared so",
        "  · 1 condition not looked at any more",
        "✓ rule 4: everyone",
        "  · serves on",
        "· 1 rule not looked at any more",
    ] {
        assert!(lines.iter().any(|told| told == line), "{line} is not among {lines:#?}");
    }
    let named = told("child", &json!({"targetingKey": "qa"}), true);
    assert_eq!(named.last().map(String::as_str), Some("✓ the targeting key qa is named and gets on"));
    let included = told("child", &json!({"targetingKey": "u-9"}), true);
    assert!(included.iter().any(|told| told == "      ✓ staff includes the targeting key"), "{included:#?}");
}

#[test]
fn a_flag_that_does_not_answer_says_why() {
    let nobody = json!({});
    assert_eq!(told("off", &nobody, true), ["· the flag is off"]);
    let blocked = [
        "· the flag is on",
        "✗ needs off to answer on: it is off",
        "  · the flag is off",
        "· so it is blocked, as if it were off",
    ];
    assert_eq!(told("needs-off", &nobody, true), blocked);
    let split = told("split", &nobody, true);
    assert_eq!(split[1], "✗ everyone else is divided by targetingKey, which is not there or is no key");
    assert!(split[2].starts_with("· so it cannot answer: "), "{split:?}");
    let broken = told("broken", &nobody, true);
    assert!(broken[1].starts_with("· so it cannot answer: ") && broken[1].contains("gone"), "{broken:?}");
}

#[test]
fn without_documents_the_trace_alone_is_told() {
    let lines = told("child", &json!({"targetingKey": "u-1", "plan": "free"}), false);
    for line in ["✗ rule 1", "    ✗ in segment staff", "        ✗ email ends with: it is not there", "✓ rule 4"]
    {
        assert!(lines.iter().any(|told| told == line), "{line} is not among {lines:#?}");
    }
}
