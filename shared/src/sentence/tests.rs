//! What holds for every document, those that could never be saved included.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::model::condition::{Condition, Operator};
use crate::model::flag::{FlagConfig, FlagDefinition};
use crate::model::segment::SegmentDefinition;

/// Short and long texts, of letters that need care now and then.
fn texts() -> impl Strategy<Value = String> {
    let odd = "[ab,;“ \n\t\u{0}\u{202e}\u{2028}ä😀→]{0,8}";
    prop_oneof![
        4 => odd,
        1 => Just("a".to_owned()),
        1 => (odd, 1..2_000_usize).prop_map(|(text, times)| text.repeat(times)),
    ]
}

fn lists() -> impl Strategy<Value = Vec<String>> {
    prop_oneof![
        4 => prop::collection::vec(texts(), 0..6),
        1 => (0..1_000_usize).prop_map(|count| (0..count).map(|n| n.to_string()).collect()),
    ]
}

fn variants() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[ab]", 1 => "[a-z]{100}"]
}

fn conditions() -> impl Strategy<Value = Value> {
    let leaf = (texts(), prop::sample::select(Operator::ALL.to_vec()), lists(), any::<(bool, bool)>());
    let leaf = leaf.prop_map(|(attribute, operator, values, (negate, ignore_case))| {
        json!({"attribute": attribute, "operator": operator, "values": values, "negate": negate,
            "ignore_case": ignore_case})
    });
    leaf.prop_recursive(5, 60, 8, |inner| {
        (any::<bool>(), prop::collection::vec(inner, 0..8))
            .prop_map(|(is_all, members)| if is_all { json!({"all": members}) } else { json!({"any": members}) })
    })
}

fn serves() -> impl Strategy<Value = Value> {
    let range = (any::<u32>(), any::<u32>(), variants());
    let range = range.prop_map(|(start, end, variant)| json!({"start": start, "end": end, "variant": variant}));
    let split = (texts(), any::<u32>(), prop::collection::vec(range, 0..70));
    prop_oneof![
        variants().prop_map(|variant| json!({ "variant": variant })),
        split.prop_map(|(seed, total, ranges)| {
            json!({"split": {"bucket_by": seed, "seed": seed, "total": total, "ranges": ranges}})
        }),
    ]
}

prop_compose! {
    fn configs()(
        enabled in any::<bool>(),
        off_variant in prop::option::of(variants()),
        prerequisites in prop::collection::vec(("[a-z]{200}", prop::collection::vec(variants(), 0..6)), 0..6),
        targets in prop::collection::vec((variants(), lists()), 0..3),
        rules in prop::collection::vec((0..4_u32, texts(), any::<bool>(), conditions(), serves()), 0..4),
        default_serve in serves(),
    ) -> FlagConfig {
        let prerequisites: Vec<Value> =
            prerequisites.iter().map(|(flag, variants)| json!({"flag": flag, "variants": variants})).collect();
        let targets: Vec<Value> =
            targets.iter().map(|(variant, keys)| json!({"variant": variant, "keys": keys})).collect();
        let rules: Vec<Value> = rules.iter().map(|(id, name, paused, conditions, serve)| {
            json!({"id": format!("00000000-0000-0000-0000-{id:012}"), "name": name, "paused": paused,
                "conditions": conditions, "serve": serve})
        }).collect();
        serde_json::from_value(json!({
            "enabled": enabled, "off_variant": off_variant, "prerequisites": prerequisites, "targets": targets,
            "rules": rules, "default_serve": default_serve,
        })).expect("a config")
    }
}

prop_compose! {
    fn definitions()(variants in prop::collection::vec((variants(), texts()), 0..6), is_kind in any::<bool>())
    -> FlagDefinition {
        let variants: Vec<Value> =
            variants.iter().map(|(key, value)| json!({"key": key, "value": value})).collect();
        serde_json::from_value(json!({
            "key": "f", "value_type": "string", "kind": if is_kind { "release" } else { "experiment" },
            "client_visible": true, "variants": variants,
        })).expect("a definition")
    }
}

prop_compose! {
    fn segments()(excluded in lists(), included in lists(), conditions in conditions()) -> SegmentDefinition {
        serde_json::from_value(json!({
            "key": "s", "excluded": excluded, "included": included, "conditions": conditions,
        })).expect("a segment")
    }
}

/// One visible line within the limit.
fn assert_readable(text: &str) {
    assert!(text.chars().count() <= SENTENCE_CHARS_MAX, "{} characters: {text}", text.chars().count());
    let is_hidden = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{202e}');
    assert!(!text.contains(is_hidden), "{text:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_config_always_reads_as_one_line(flag in definitions(), given in configs(), is_killed in any::<bool>()) {
        let (short, long) = (brief(&given, is_killed), config(&flag, &given, is_killed));
        prop_assert!(!short.is_empty() && short.chars().count() <= BRIEF_CHARS_MAX, "{}", short);
        prop_assert!(long.ends_with(['.', '…']));
        for text in [short, long, prerequisites(&given.prerequisites)] {
            assert_readable(&text);
        }
        for rule in &given.rules {
            let conditions = condition(&rule.conditions);
            assert_readable(&conditions);
            prop_assert!(!conditions.is_empty() || rule.conditions.leaves().is_empty());
            prop_assert!(!serve(&rule.serve).is_empty());
            assert_readable(&serve(&rule.serve));
        }
    }

    #[test]
    fn a_change_is_told_exactly_when_there_is_one(old in configs(), new in configs()) {
        prop_assert!(changes(&old, &old).is_empty());
        let mut mixed = old.clone();
        mixed.rules.clone_from(&new.rules);
        for (old, new) in [(&old, &new), (&old, &mixed), (&mixed, &new)] {
            let lines = changes(old, new);
            prop_assert_eq!(lines.is_empty(), old == new);
            lines.iter().for_each(|line| assert_readable(line));
        }
    }

    #[test]
    fn a_change_of_one_rule_is_told(rule in conditions(), other in conditions(), one in serves(), two in serves()) {
        let config = |conditions: &Value, serve: &Value| -> FlagConfig {
            let id = "00000000-0000-0000-0000-000000000000";
            serde_json::from_value(json!({"enabled": true, "default_serve": {"variant": "a"},
                "rules": [{"id": id, "conditions": conditions, "serve": serve}]})).expect("a config")
        };
        let (old, new) = (config(&rule, &one), config(&other, &two));
        for given in [config(&rule, &two), config(&other, &one), new] {
            prop_assert_eq!(changes(&old, &given).is_empty(), old == given);
        }
    }

    #[test]
    fn a_change_of_a_definition_or_segment_is_told_exactly_when_there_is_one(
        old in definitions(), new in definitions(), before in segments(), after in segments(),
    ) {
        prop_assert!(definition_changes(&old, &old).is_empty() && segment_changes(&before, &before).is_empty());
        let (definition, segment) = (definition_changes(&old, &new), segment_changes(&before, &after));
        prop_assert_eq!(definition.is_empty(), old == new);
        prop_assert_eq!(segment.is_empty(), before == after);
        definition.iter().chain(&segment).for_each(|line| assert_readable(line));
    }
}

#[test]
fn the_longest_documents_make_no_long_sentence() {
    let value = "x".repeat(1_000);
    let leaf = json!({"attribute": "a".repeat(200), "operator": "equals", "values": vec![value; 10_000]});
    let tree: Condition = serde_json::from_value(json!({"all": vec![leaf; 100]})).expect("a condition");
    assert_readable(&condition(&tree));
}
