use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn rule(id: u32, serve: &str) -> Value {
    json!({ "id": format!("00000000-0000-0000-0000-{id:012}"), "name": format!("r{id}"), "serve": { "variant": serve } })
}

fn config(patch: &Value) -> FlagConfig {
    let mut document = json!({ "enabled": true, "off_variant": "off", "default_serve": { "variant": "off" },
        "rules": [rule(1, "on"), rule(2, "on")], "targets": [{ "variant": "on", "keys": ["a", "b"] }] });
    for (name, value) in patch.as_object().expect("fields") {
        document[name] = value.clone();
    }
    serde_json::from_value(document).expect("a config")
}

fn fields(merged: &Merged) -> Vec<&str> {
    merged.conflicts.iter().map(|conflict| conflict.field.as_str()).collect()
}

#[test]
fn edits_of_other_parts_are_both_kept() {
    let base = config(&json!({}));
    let theirs = config(&json!({ "enabled": false, "rules": [rule(1, "off"), rule(2, "on")] }));
    let mine =
        config(&json!({ "default_serve": { "variant": "on" }, "rules": [rule(1, "on"), rule(3, "on"), rule(2, "on")],
                               "targets": [{ "variant": "on", "keys": ["a", "b", "c"] }] }));
    let merged = merge(&base, &theirs, &mine);
    let wanted = config(&json!({ "enabled": false, "default_serve": { "variant": "on" },
        "rules": [rule(1, "off"), rule(3, "on"), rule(2, "on")], "targets": [{ "variant": "on", "keys": ["a", "b", "c"] }] }));
    assert_eq!((merged.config, merged.conflicts), (wanted, Vec::new()));
}

#[test]
fn what_both_changed_is_told_with_all_three_and_stays_as_it_is_saved() {
    let base = config(&json!({}));
    let theirs = config(&json!({ "default_serve": { "variant": "on" }, "rules": [rule(1, "off"), rule(2, "on")] }));
    let mine = config(&json!({ "default_serve": { "variant": "third" }, "rules": [rule(2, "on")] }));
    let merged = merge(&base, &theirs, &mine);
    assert_eq!(fields(&merged), ["rules[00000000-0000-0000-0000-000000000001]", "default_serve"]);
    assert_eq!(merged.config, theirs);
    let default = &merged.conflicts[1];
    let said = [&default.base, &default.theirs, &default.mine].map(|side| side.sentence.as_str());
    assert_eq!(said, ["off", "on", "third"]);
    assert_eq!(default.mine.value, json!({ "variant": "third" }));
}

#[test]
fn the_order_of_rules_is_nobodys_guess() {
    let base = config(&json!({}));
    let theirs = config(&json!({ "rules": [rule(1, "on"), rule(3, "on"), rule(2, "on")] }));
    let mine = config(&json!({ "rules": [rule(1, "on"), rule(4, "off"), rule(2, "on")] }));
    let merged = merge(&base, &theirs, &mine);
    assert_eq!(fields(&merged), ["rules"], "two new rules at one place");
    assert_eq!(merged.config.rules.len(), 4, "both are there");
    let swapped = config(&json!({ "rules": [rule(2, "on"), rule(1, "on")] }));
    let changed = config(&json!({ "rules": [rule(1, "off"), rule(2, "on")] }));
    let both = merge(&base, &swapped, &changed);
    assert_eq!((both.config, both.conflicts.len()), (config(&json!({ "rules": [rule(2, "on"), rule(1, "off")] })), 0));
    let other = merge(&base, &changed, &swapped);
    assert_eq!(
        (other.config, other.conflicts.len()),
        (config(&json!({ "rules": [rule(2, "on"), rule(1, "off")] })), 0)
    );
}

#[test]
fn a_key_that_two_people_move_otherwise_is_a_conflict_and_the_others_move() {
    let base = config(&json!({}));
    let theirs =
        config(&json!({ "targets": [{ "variant": "off", "keys": ["a"] }, { "variant": "on", "keys": ["b"] }] }));
    let mine = config(&json!({ "targets": [{ "variant": "third", "keys": ["a", "c"] }] }));
    let merged = merge(&base, &theirs, &mine);
    assert_eq!(fields(&merged), ["targets[a]"]);
    let wanted = json!([{ "variant": "off", "keys": ["a"] }, { "variant": "third", "keys": ["c"] }]);
    assert_eq!(serde_json::to_value(&merged.config.targets).expect("JSON"), wanted);
}

const VARIANTS: [&str; 3] = ["on", "off", "third"];

/// Any config of a small world: four rules, four keys, two prerequisites.
fn any_config() -> impl Strategy<Value = FlagConfig> {
    let variant = || (0..3_usize).prop_map(|at| VARIANTS[at]);
    let rules = proptest::sample::subsequence(vec![1_u32, 2, 3, 4], 0..=4).prop_shuffle();
    let keys = proptest::collection::btree_map(0..4_u8, variant(), 0..4);
    let needed = proptest::collection::btree_map(0..2_u8, variant(), 0..2);
    let serves = proptest::collection::vec(variant(), 4);
    (any::<bool>(), variant(), variant(), rules, serves, keys, needed).prop_map(
        |(enabled, off, default, rules, serves, keys, needed)| {
            let mut targets: BTreeMap<&str, Vec<String>> = BTreeMap::new();
            for (key, variant) in keys {
                targets.entry(variant).or_default().push(format!("k{key}"));
            }
            let targets: Vec<Value> =
                targets.into_iter().map(|(variant, keys)| json!({ "variant": variant, "keys": keys })).collect();
            let rules: Vec<Value> = rules.iter().map(|id| rule(*id, serves[*id as usize - 1])).collect();
            let needed: Vec<Value> = needed
                .iter()
                .map(|(flag, variant)| json!({ "flag": format!("f{flag}"), "variants": [variant] }))
                .collect();
            config(&json!({ "enabled": enabled, "off_variant": off, "default_serve": { "variant": default },
                            "rules": rules, "targets": targets, "prerequisites": needed }))
        },
    )
}

/// An edit of one part, by its number.
fn edited(config: &FlagConfig, part: u8, with: &FlagConfig) -> FlagConfig {
    let mut edited = config.clone();
    match part {
        0 => edited.enabled = !edited.enabled,
        1 => edited.off_variant.clone_from(&with.off_variant),
        2 => edited.default_serve.clone_from(&with.default_serve),
        3 => edited.targets.clone_from(&with.targets),
        4 => edited.rules.clone_from(&with.rules),
        _ => edited.prerequisites.clone_from(&with.prerequisites),
    }
    edited
}

proptest! {
    #[test]
    fn an_edit_beside_none_is_that_edit(base in any_config(), other in any_config()) {
        let none = Vec::new();
        prop_assert_eq!(merge(&base, &other, &base), Merged { config: other.clone(), conflicts: none.clone() });
        prop_assert_eq!(merge(&base, &base, &other), Merged { config: other.clone(), conflicts: none.clone() });
        prop_assert_eq!(merge(&base, &other, &other), Merged { config: other.clone(), conflicts: none });
    }

    #[test]
    fn edits_of_different_parts_give_what_doing_both_gives(
        base in any_config(), theirs in any_config(), mine in any_config(), parts in (0..6_u8, 0..6_u8),
    ) {
        prop_assume!(parts.0 != parts.1);
        let (first, second) = (edited(&base, parts.0, &theirs), edited(&base, parts.1, &mine));
        let both = edited(&first, parts.1, &mine);
        prop_assert_eq!(merge(&base, &first, &second), Merged { config: both, conflicts: Vec::new() });
    }

    #[test]
    fn what_is_merged_holds_nothing_twice_and_invents_nothing(
        base in any_config(), theirs in any_config(), mine in any_config(),
    ) {
        let merged = merge(&base, &theirs, &mine).config;
        let mut ids: Vec<_> = merged.rules.iter().map(|rule| rule.id).collect();
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), merged.rules.len());
        for rule in &merged.rules {
            let is_known = |rules: &[crate::model::rule::Rule]| rules.iter().any(|known| known.serve == rule.serve);
            prop_assert!(is_known(&theirs.rules) || is_known(&mine.rules));
        }
        let mut keys: Vec<&String> = merged.targets.iter().flat_map(|target| &target.keys).collect();
        let count = keys.len();
        keys.sort();
        keys.dedup();
        prop_assert_eq!(keys.len(), count);
    }
}
