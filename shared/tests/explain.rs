//! What an explanation tells.

use serde_json::{Value, json};
use shared::evaluation::{Context, Query, State, explain};
use shared::model::sdk_key::SdkKeyKind;

fn flag(key: &str, config: &Value) -> Value {
    json!({
        "flag": {
            "key": key, "value_type": "boolean", "kind": "release", "client_visible": true,
            "variants": [{"key": "on", "value": "true"}, {"key": "off", "value": "false"}],
        },
        "config": config,
    })
}

fn id(at: u32) -> String {
    format!("00000000-0000-0000-0000-{at:012}")
}

fn state() -> State {
    let split = json!({"split": {"bucket_by": "company", "seed": "s", "ranges": [
        {"start": 0, "end": 30_000, "variant": "off"}, {"start": 40_000, "end": 100_000, "variant": "on"},
    ]}});
    let parent = flag("parent", &json!({"enabled": true, "default_serve": {"variant": "on"}}));
    let in_staff = json!({"operator": "in_segment", "values": ["staff"]});
    let child = flag(
        "child",
        &json!({
            "enabled": true,
            "off_variant": "off",
            "prerequisites": [{"flag": "parent", "variants": ["on"]}],
            "targets": [{"variant": "on", "keys": ["qa"]}],
            "rules": [
                {"id": id(1), "conditions": {"any": [in_staff, {"all": [in_staff]}]}, "serve": {"variant": "on"}},
                {"id": id(2), "paused": true, "serve": {"variant": "on"}},
                {"id": id(3), "serve": split, "conditions": {"all": [
                    {"attribute": "plan", "operator": "equals", "values": ["free"], "negate": true},
                    {"attribute": "$now", "operator": "after", "values": ["1000"]},
                    {"attribute": "age", "operator": "less", "values": ["18"], "negate": true},
                ]}},
            ],
            "default_serve": {"variant": "off"},
        }),
    );
    let staff =
        json!({"key": "staff", "excluded": ["u-0"], "conditions": {"operator": "in_segment", "values": ["inner"]}});
    let inner = json!({"key": "inner", "included": ["u-9"]});
    let document = json!({"flags": [parent, child], "segments": [staff, inner]});
    State::compile(&serde_json::from_value(document).expect("a state"))
}

fn traced(context: &Value) -> Value {
    let text = context.to_string();
    let context: Context<'_> = serde_json::from_str(&text).expect("a context");
    let query = Query { context: &context, now_ms: 2_000, asker: SdkKeyKind::Server };
    let (_, trace) = explain(&state(), "child", &query);
    serde_json::to_value(trace.expect("the flag is there")).expect("JSON")
}

#[test]
fn every_step_is_told_in_the_order_of_the_documents() {
    let trace = traced(&json!({"targetingKey": "u-1", "plan": "pro", "age": [17.5, "x"], "company": "c-1"}));
    let parent = json!({
        "flag": "parent", "is_killed": false, "prerequisites": [], "targets": null, "rules": [], "default_split": null,
        "outcome": {"value": true, "variant": "on", "reason": "STATIC", "error_code": null, "error_details": null,
            "blocked_by": null},
    });
    assert_eq!(
        trace["prerequisites"],
        json!([{"flag": "parent", "wanted": ["on"], "variant": "on", "is_satisfied": true, "trace": parent}])
    );
    assert_eq!(trace["targets"], json!({"key": "u-1", "variant": null}));
    let inner = json!({"segment": "inner", "by": "nothing", "conditions": null, "is_in": false});
    let inside = json!({"kind": "segments", "negate": false, "segments": [inner], "holds": false});
    let staff = json!({"segment": "staff", "by": "conditions", "conditions": inside, "is_in": false});
    let again = json!({"segment": "staff", "by": "remembered", "conditions": null, "is_in": false});
    let look = |segment: &Value| json!({"kind": "segments", "negate": false, "segments": [segment], "holds": false});
    let comparison = |attribute: &str, operator: &str, negate: bool, value: &str, holds: bool| {
        json!({
            "kind": "comparison", "attribute": attribute, "operator": operator, "negate": negate, "value": value,
            "is_readable": true, "holds": holds,
        })
    };
    assert_eq!(
        trace["rules"],
        json!([
            {
                "id": id(1), "index": 0, "split": null, "applied": false,
                "conditions": {"kind": "any", "holds": false, "members": [
                    look(&staff), {"kind": "all", "holds": false, "members": [look(&again)]},
                ]},
            },
            {
                "id": id(3), "index": 2, "split": null, "applied": false,
                "conditions": {"kind": "all", "holds": false, "members": [
                    comparison("plan", "equals", true, "\"pro\"", true),
                    comparison("$now", "after", false, "2000", true),
                    comparison("age", "less", true, "[17.5,\"x\"]", false),
                ]},
            },
        ])
    );
    assert_eq!(trace["outcome"]["reason"], "DEFAULT");
}

#[test]
fn a_split_tells_what_was_hashed_and_where_it_fell() {
    let context = |company: Value| json!({"targetingKey": "u-1", "plan": "pro", "age": 18, "company": company});
    let split = |company: Value| traced(&context(company))["rules"][1]["split"].clone();
    let bucket = shared::evaluation::bucket("s", "c-1");
    let range = if bucket < 30_000 {
        (0, 30_000)
    } else if bucket < 40_000 {
        (30_000, 40_000)
    } else {
        (40_000, 100_000)
    };
    let told = split(json!("c-1"));
    assert_eq!(
        (&told["input"], &told["bucket"], &told["range"]),
        (&json!("s:c-1"), &json!(bucket), &json!(range)),
        "{told}"
    );
    assert_eq!(
        split(json!(true)),
        json!({"bucket_by": "company", "input": null, "bucket": null, "range": null, "variant": null})
    );
    let gap = (0..10_000)
        .map(|n| format!("c-{n}"))
        .find(|key| (30_000..40_000).contains(&shared::evaluation::bucket("s", key)));
    let told = split(json!(gap));
    assert_eq!((&told["range"], &told["variant"]), (&json!([30_000, 40_000]), &Value::Null), "{told}");
}

#[test]
fn what_cannot_be_read_is_told_from_what_does_not_hold() {
    let trace = traced(&json!({"targetingKey": "u-1", "age": {"years": 20}, "plan": null}));
    let first = &trace["rules"][1]["conditions"]["members"][0];
    assert_eq!(
        (&first["value"], &first["is_readable"], &first["holds"]),
        (&json!("null"), &json!(false), &json!(false))
    );
    let trace = traced(&json!({"targetingKey": "u-1"}));
    assert_eq!(trace["rules"][1]["conditions"]["members"][0]["value"], Value::Null);
}
