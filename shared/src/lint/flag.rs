//! What is wrong with one flag's config.

use std::collections::HashSet;

use crate::lint::proof::Prover;
use crate::lint::reach::{Before, Reach};
use crate::lint::variant::answerable;
use crate::lint::{Warning, WarningKind, Warnings, condition};
use crate::model::flag::{FlagConfig, FlagDefinition};
use crate::model::key::VariantKey;
use crate::model::reach::Documents;
use crate::model::rule::Serve;
use crate::sentence::listed;

/// What is probably a mistake in a flag's config, were it turned on, from `now_ms` on. Paused rules are left out.
///
/// The config need not be the one in `documents`, which are asked for segments and other flags.
pub fn flag(definition: &FlagDefinition, config: &FlagConfig, documents: &Documents, now_ms: i64) -> Vec<Warning> {
    let mut found = Warnings::default();
    prerequisites(definition, config, documents, &mut found);
    let mut prover = Prover::new(documents, None, now_ms);
    let mut before = Before::new(config);
    // Rules that could apply, and whether somebody gets to them.
    let mut rules = Vec::new();
    for (at, rule) in config.rules.iter().enumerate().filter(|(_, rule)| !rule.paused) {
        let path = format!("rules[{at}].conditions");
        let whole = (WarningKind::NeverApplies, " Until then the rule never applies.");
        let can_apply = condition::check(&rule.conditions, &path, whole, &mut prover, &mut found);
        if !can_apply {
            continue;
        }
        match before.reach(at, rule, &mut prover, &mut found) {
            Reach::Impossible => {}
            reach => rules.push((at, reach == Reach::Reached)),
        }
    }
    before.reach_default(&mut prover, &mut found);
    idle(config, &rules, &mut found);
    found.found
}

/// Rules and targets that answer what would be answered without them.
fn idle(config: &FlagConfig, rules: &[(usize, bool)], found: &mut Warnings) {
    // One that nobody gets to now would be got to without those before it.
    let is_idle = |(at, _): &&(usize, bool)| config.rules[*at].serve == config.default_serve;
    let tail = rules.iter().rev().take_while(is_idle).count();
    for (at, _) in rules[rules.len() - tail..].iter().filter(|(_, is_reached)| *is_reached) {
        let message = "This rule serves what the default after it serves. Remove it or serve something else.";
        found.add_because(WarningKind::NoEffect, format!("rules[{at}]"), message, vec!["default_serve".into()]);
    }
    if tail < rules.len() {
        return;
    }
    let Serve::Variant(default) = &config.default_serve else { return };
    for (at, target) in config.targets.iter().enumerate() {
        if target.variant == *default && !target.keys.is_empty() {
            let message = format!("Everyone gets {default} anyway. Remove these targets or serve something else.");
            let because = vec!["default_serve".into()];
            found.add_because(WarningKind::NoEffect, format!("targets[{at}]"), message, because);
        }
    }
}

fn prerequisites(definition: &FlagDefinition, config: &FlagConfig, documents: &Documents, found: &mut Warnings) {
    for (at, needed) in config.prerequisites.iter().enumerate() {
        let Some((parent, parent_config)) = documents.flags.get(&needed.flag) else { continue };
        let answers: HashSet<&VariantKey> = answerable(parent_config).collect();
        if !needed.variants.is_empty() && !needed.variants.iter().any(|variant| answers.contains(variant)) {
            let variants: Vec<&str> = needed.variants.iter().map(VariantKey::as_str).collect();
            let message = format!(
                "{} never answers {} here, so {} is always blocked. Name another variant or change {}.",
                parent.key,
                listed(&variants).replace(" and ", " or "),
                definition.key,
                parent.key,
            );
            found.add(WarningKind::NeverMet, format!("prerequisites[{at}].variants"), message);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::lint::WARNINGS_MAX;

    const NOW_MS: i64 = 1_798_761_600_000;

    fn definition(key: &str) -> FlagDefinition {
        serde_json::from_value(json!({
            "key": key, "value_type": "boolean", "kind": "release", "client_visible": false,
            "variants": [{"key": "on", "value": "true"}, {"key": "off", "value": "false"}],
        }))
        .expect("a definition")
    }

    fn config(patch: &Value) -> FlagConfig {
        let mut document = json!({"enabled": true, "default_serve": {"variant": "off"}});
        for (name, value) in patch.as_object().expect("fields") {
            document[name] = value.clone();
        }
        serde_json::from_value(document).expect("a config")
    }

    fn warnings(patch: &Value) -> Vec<Warning> {
        let mut documents = Documents::default();
        let parent = config(&json!({"targets": [{"variant": "on", "keys": []}]}));
        documents.flags.insert("parent".parse().expect("a key"), (definition("parent"), parent));
        let staff = serde_json::from_value(json!({"key": "staff", "included": ["a", "b"]})).expect("a segment");
        documents.segments.insert("staff".parse().expect("a key"), staff);
        flag(&definition("checkout"), &config(patch), &documents, NOW_MS)
    }

    fn found(patch: &Value) -> Vec<(WarningKind, String, String)> {
        warnings(patch).into_iter().map(|w| (w.kind, w.field, w.message)).collect()
    }

    fn rules(list: &[(Value, Value)]) -> Value {
        let rule = |(at, (conditions, serve)): (usize, &(Value, Value))| {
            let id = format!("00000000-0000-0000-0000-{at:012}");
            json!({"id": id, "conditions": conditions, "serve": serve})
        };
        json!({"rules": list.iter().enumerate().map(rule).collect::<Vec<_>>()})
    }

    fn split(end: u32) -> Value {
        let range = json!({"start": 0, "end": end, "variant": "on"});
        json!({"split": {"bucket_by": "targetingKey", "seed": "s", "ranges": [range]}})
    }

    fn equals(attribute: &str, value: &str) -> Value {
        json!({"attribute": attribute, "operator": "equals", "values": [value]})
    }

    fn on() -> Value {
        json!({"variant": "on"})
    }

    #[test]
    fn a_flag_as_it_should_be_has_no_warnings() {
        let mut patch = rules(&[
            (equals("plan", "pro"), on()),
            (json!({"all": [equals("plan", "team"), equals("country", "DE")]}), split(50_000)),
            (equals("plan", "team"), on()),
        ]);
        patch["prerequisites"] = json!([{"flag": "parent", "variants": ["on", "off"]}]);
        patch["targets"] = json!([{"variant": "off", "keys": ["a"]}]);
        assert_eq!(found(&patch), []);
    }

    #[test]
    fn a_rule_behind_one_that_answers_all_of_its_users_is_told() {
        let narrow = json!({"all": [equals("plan", "pro"), equals("country", "DE")]});
        let mut patch = rules(&[(equals("plan", "pro"), on()), (narrow.clone(), split(10_000))]);
        patch["rules"][0]["name"] = json!("Beta");
        let warning = warnings(&patch).remove(0);
        assert_eq!((warning.kind, warning.field.as_str()), (WarningKind::NeverReached, "rules[1]"));
        assert_eq!(warning.because, ["rules[0]"]);
        let message = "Nobody gets to this rule: rule 1 “Beta” answers all of them. Move or remove one of the two.";
        assert_eq!(warning.message, message);
        // A gap, or a missing key, lets some of them through; the same key does not.
        assert_eq!(found(&rules(&[(equals("plan", "pro"), split(99_999)), (narrow.clone(), on())])), []);
        assert_eq!(found(&rules(&[(equals("plan", "pro"), split(100_000)), (narrow.clone(), on())])), []);
        let both = found(&rules(&[(equals("plan", "pro"), split(100_000)), (narrow, split(10_000))]));
        assert_eq!(both.len(), 1, "{both:?}");
    }

    #[test]
    fn nothing_after_a_rule_for_everyone_is_reached() {
        let patch = rules(&[(json!({"all": []}), on()), (equals("plan", "pro"), split(10_000))]);
        let fields: Vec<(WarningKind, String)> = found(&patch).into_iter().map(|(k, f, _)| (k, f)).collect();
        let expected = ["rules[1]", "default_serve"].map(|field| (WarningKind::NeverReached, field.to_owned()));
        assert_eq!(fields, expected);
        let mut paused = patch;
        paused["rules"][0]["paused"] = json!(true);
        assert_eq!(found(&paused), []);
    }

    #[test]
    fn rules_that_answer_everyone_together_are_named() {
        let absent = json!({"attribute": "plan", "operator": "exists", "negate": true});
        let present = json!({"attribute": "plan", "operator": "exists"});
        let patch = rules(&[(absent, on()), (equals("a", "x"), on()), (present, on()), (equals("b", "x"), split(9))]);
        let warning = warnings(&patch).remove(0);
        assert_eq!((warning.kind, warning.field.as_str()), (WarningKind::NeverReached, "rules[3]"));
        assert_eq!(warning.because, ["rules[0]", "rules[2]"]);
        let message =
            "Nobody gets to this rule: rule 1 and rule 3 together answer all of them. Move or remove something.";
        assert_eq!(warning.message, message);
    }

    #[test]
    fn targets_stand_before_every_rule() {
        let mut patch = rules(&[(json!({"operator": "in_segment", "values": ["staff"]}), on())]);
        patch["targets"] = json!([{"variant": "off", "keys": ["a"]}, {"variant": "on", "keys": ["b", "c"]}]);
        let message = "Nobody gets to this rule: the targets answer all of them. Move or remove something.";
        assert_eq!(found(&patch), [(WarningKind::NeverReached, "rules[0]".into(), message.into())]);
        patch["targets"] = json!([{"variant": "on", "keys": ["a"]}]);
        assert_eq!(found(&patch), []);
    }

    #[test]
    fn a_split_by_what_nobody_has_never_applies() {
        let absent = json!({"attribute": "targetingKey", "operator": "exists", "negate": true});
        let found = found(&rules(&[(absent, split(10_000))]));
        assert_eq!((found[0].0, found[0].1.as_str()), (WarningKind::NeverApplies, "rules[0].serve.split.bucket_by"));
    }

    #[test]
    fn what_answers_like_the_default_after_it_has_no_effect() {
        let off = json!({"variant": "off"});
        let patch =
            rules(&[(equals("a", "x"), off.clone()), (equals("b", "x"), on()), (equals("c", "x"), off.clone())]);
        let message = "This rule serves what the default after it serves. Remove it or serve something else.";
        assert_eq!(found(&patch), [(WarningKind::NoEffect, "rules[2]".into(), message.into())]);
        let targets = json!([{"variant": "off", "keys": ["a"]}, {"variant": "on", "keys": ["b"]}]);
        let message = "Everyone gets off anyway. Remove these targets or serve something else.";
        let expected = (WarningKind::NoEffect, "targets[0]".into(), message.into());
        assert_eq!(found(&json!({ "targets": targets })), [expected]);
        let mut with_rule = rules(&[(equals("b", "x"), on())]);
        with_rule["targets"] = targets;
        assert_eq!(found(&with_rule), []);
    }

    #[test]
    fn a_prerequisite_that_never_answers_so_is_told() {
        let needs = |variants: &[&str]| json!({"prerequisites": [{"flag": "parent", "variants": variants}]});
        let message =
            "parent never answers on here, so checkout is always blocked. Name another variant or change parent.";
        let expected = (WarningKind::NeverMet, "prerequisites[0].variants".into(), message.into());
        assert_eq!(found(&needs(&["on"])), [expected]);
        assert_eq!(found(&needs(&["off", "on"])), []);
    }

    #[test]
    fn warnings_end_before_they_help_nobody() {
        let many: Vec<(Value, Value)> = (0..200).map(|_| (json!({"any": []}), on())).collect();
        assert_eq!(warnings(&rules(&many)).len(), WARNINGS_MAX);
    }
}
