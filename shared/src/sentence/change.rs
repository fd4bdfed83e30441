//! What changes between two configs of a flag.

use crate::model::flag::{FlagConfig, Target};
use crate::model::key::VariantKey;
use crate::model::rule::{Rule, Serve};
use crate::sentence::condition::condition;
use crate::sentence::config::prerequisites;
use crate::sentence::serve::{hidden_change, serve};
use crate::sentence::shown::{bounded, listed, name, only_in};
use crate::sentence::values_change::values;

/// What changes between two configs of a flag, one line each; `+` added, `−` removed, `~` changed. Empty only when
/// nothing does.
pub fn changes(old: &FlagConfig, new: &FlagConfig) -> Vec<String> {
    let mut lines = Vec::new();
    if old == new {
        return lines;
    }
    if old.enabled != new.enabled {
        lines.push(if new.enabled { "~ Turned on".into() } else { "~ Turned off".into() });
    }
    if old.off_variant != new.off_variant {
        let name = |variant: &Option<VariantKey>| variant.as_ref().map_or("code default".into(), ToString::to_string);
        lines.push(format!("~ Off variant: {} → {}", name(&old.off_variant), name(&new.off_variant)));
    }
    if old.prerequisites != new.prerequisites {
        let text = |config: &FlagConfig| match config.prerequisites.as_slice() {
            [] => "none".into(),
            needed => prerequisites(needed),
        };
        lines.push(replaced("Prerequisites", &text(old), &text(new)));
    }
    if old.targets != new.targets {
        lines.extend(targets(&old.targets, &new.targets));
    }
    lines.extend(rules(&old.rules, &new.rules));
    if old.default_serve != new.default_serve {
        lines.extend(served("Default", &old.default_serve, &new.default_serve));
    }
    if lines.is_empty() {
        lines.push("~ Details changed".into());
    }
    lines.into_iter().map(bounded).collect()
}

/// `~ Default: on → off`, or that something changed which the sentence does not tell.
fn replaced(label: &str, was: &str, now: &str) -> String {
    if was == now { format!("~ {label}: details changed") } else { format!("~ {label}: {was} → {now}") }
}

fn targets(old: &[Target], new: &[Target]) -> Vec<String> {
    let mut variants: Vec<&VariantKey> = Vec::new();
    for target in old.iter().chain(new) {
        if !variants.contains(&&target.variant) {
            variants.push(&target.variant);
        }
    }
    let keys = |targets: &[Target], variant: &VariantKey| -> Vec<String> {
        targets.iter().filter(|target| target.variant == *variant).flat_map(|target| target.keys.clone()).collect()
    };
    let mut lines = Vec::new();
    for variant in variants {
        let (before, after) = (keys(old, variant), keys(new, variant));
        for (sign, gone) in [('−', only_in(&before, &after)), ('+', only_in(&after, &before))] {
            if !gone.is_empty() {
                lines.push(format!("{sign} Targets for {variant}: {}", listed(&gone)));
            }
        }
    }
    if lines.is_empty() {
        lines.push("~ Targets: details changed".into());
    }
    lines
}

fn rules(old: &[Rule], new: &[Rule]) -> Vec<String> {
    let mut lines = Vec::new();
    for (at, rule) in old.iter().enumerate() {
        if !new.iter().any(|r| r.id == rule.id) {
            lines.push(format!("− {}: {}", label(at, rule), text(rule)));
        }
    }
    let kept = |rules: &[Rule], other: &[Rule]| -> Vec<_> {
        rules.iter().map(|r| r.id).filter(|id| other.iter().any(|o| o.id == *id)).collect()
    };
    if kept(old, new) != kept(new, old) {
        lines.push("~ Rules in another order".into());
    }
    for (at, rule) in new.iter().enumerate() {
        match old.iter().find(|r| r.id == rule.id) {
            Some(before) => lines.extend(self::rule(&label(at, rule), before, rule)),
            None => {
                let paused = if rule.paused { ", paused" } else { "" };
                lines.push(format!("+ {}{paused}: {}", label(at, rule), text(rule)));
            }
        }
    }
    lines
}

fn rule(label: &str, before: &Rule, rule: &Rule) -> Vec<String> {
    let mut lines = Vec::new();
    if before.name != rule.name {
        let shown = |text: &str| if text.is_empty() { "no name".into() } else { name(text) };
        lines.push(format!("~ {label}: renamed from {} to {}", shown(&before.name), shown(&rule.name)));
    }
    if before.paused != rule.paused {
        lines.push(format!("~ {label}: {}", if rule.paused { "paused" } else { "resumed" }));
    }
    let (was, now) = (text(before), text(rule));
    let values = values(&before.conditions, &rule.conditions);
    // Where only long lists differ, what is in them says more than how long they are.
    if was != now && (values.is_empty() || serve(&before.serve) != serve(&rule.serve)) {
        lines.push(replaced(label, &was, &now));
    }
    let is_told = before.conditions == rule.conditions || condition(&before.conditions) != condition(&rule.conditions);
    if values.is_empty() && !is_told {
        lines.push(format!("~ {label}: details of its conditions changed"));
    }
    let hidden = hidden_change(&before.serve, &rule.serve).map(str::to_owned);
    lines.extend(values.into_iter().chain(hidden).map(|line| format!("~ {label}: {line}")));
    if lines.is_empty() && before != rule {
        lines.push(format!("~ {label}: details changed"));
    }
    lines
}

fn served(label: &str, old: &Serve, new: &Serve) -> Vec<String> {
    let (was, now) = (serve(old), serve(new));
    let hidden = hidden_change(old, new).map(|hidden| format!("~ {label}: {hidden}"));
    let mut lines: Vec<String> =
        Some(replaced(label, &was, &now)).filter(|_| was != now || hidden.is_none()).into_iter().collect();
    lines.extend(hidden);
    lines
}

/// `Rule 2 Beta`; a rule need not have a name.
fn label(at: usize, rule: &Rule) -> String {
    format!("Rule {} {}", at + 1, name(&rule.name)).trim_end().to_owned()
}

fn text(rule: &Rule) -> String {
    match condition(&rule.conditions) {
        everyone if everyone.is_empty() => format!("everyone gets {}", serve(&rule.serve)),
        some => format!("if {some} then {}", serve(&rule.serve)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn config(patch: &Value) -> FlagConfig {
        let mut document = json!({"enabled": true, "off_variant": "off", "default_serve": {"variant": "off"}});
        for (name, value) in patch.as_object().expect("fields") {
            document[name] = value.clone();
        }
        serde_json::from_value(document).expect("a config")
    }

    fn lines(old: &Value, new: &Value) -> Vec<String> {
        changes(&config(old), &config(new))
    }

    fn rule(id: usize, patch: &Value) -> Value {
        let mut rule = json!({"id": format!("00000000-0000-0000-0000-00000000000{id}"), "serve": {"variant": "on"}});
        for (name, value) in patch.as_object().expect("fields") {
            rule[name] = value.clone();
        }
        rule
    }

    fn split(seed: &str, on: u32) -> Value {
        json!({"split": {"bucket_by": "targetingKey", "seed": seed, "ranges": [
            {"start": 0, "end": on, "variant": "on"}, {"start": on, "end": 100_000, "variant": "off"},
        ]}})
    }

    #[test]
    fn nothing_changed_says_nothing() {
        let same = json!({"rules": [rule(1, &json!({"serve": split("s", 10)}))]});
        assert_eq!(lines(&same, &same), [""; 0]);
    }

    #[test]
    fn what_a_flag_answers_by_itself_is_told() {
        assert_eq!(lines(&json!({}), &json!({"enabled": false})), ["~ Turned off"]);
        assert_eq!(lines(&json!({}), &json!({"off_variant": null})), ["~ Off variant: off → code default"]);
        let needs = json!({"prerequisites": [{"flag": "pricing", "variants": ["on"]}]});
        assert_eq!(lines(&json!({}), &needs), ["~ Prerequisites: none → pricing answers on"]);
        assert_eq!(lines(&json!({}), &json!({"default_serve": {"variant": "on"}})), ["~ Default: off → on"]);
        let (few, more) = (json!({"default_serve": split("s", 10_000)}), json!({"default_serve": split("s", 20_000)}));
        let line = "~ Default: on to 10 % and off to 90 % by targetingKey → on to 20 % and off to 80 % by targetingKey";
        assert_eq!(lines(&few, &more), [line]);
        let anew = json!({"default_serve": split("t", 10_000)});
        assert_eq!(lines(&few, &anew), ["~ Default: everyone is divided anew"]);
        let both = json!({"default_serve": split("t", 20_000)});
        assert_eq!(lines(&few, &both), [line, "~ Default: everyone is divided anew"]);
    }

    #[test]
    fn targets_are_named_per_variant() {
        let old = json!({"targets": [{"variant": "on", "keys": ["a", "b", "c"]}, {"variant": "off", "keys": ["x"]}]});
        let new = json!({"targets": [{"variant": "on", "keys": ["b", "x", "d", "e", "f", "g"]}]});
        let told = ["− Targets for on: a and c", "+ Targets for on: x, d, e and 2 others", "− Targets for off: x"];
        assert_eq!(lines(&old, &new), told);
        let turned =
            json!({"targets": [{"variant": "off", "keys": ["x"]}, {"variant": "on", "keys": ["a", "b", "c"]}]});
        assert_eq!(lines(&old, &turned), ["~ Targets: details changed"]);
    }

    #[test]
    fn rules_are_told_by_number_and_name() {
        let pro = json!({"attribute": "plan", "operator": "equals", "values": ["pro"]});
        let team = json!({"attribute": "plan", "operator": "equals", "values": ["team"]});
        let one = rule(1, &json!({"name": "Beta", "conditions": pro}));
        let two = rule(2, &json!({}));
        let base = json!({"rules": [one, two]});
        let cases = [
            (json!([one]), vec!["− Rule 2: everyone gets on"]),
            (json!([two, one]), vec!["~ Rules in another order"]),
            (json!([one, two, rule(3, &json!({"paused": true}))]), vec!["+ Rule 3, paused: everyone gets on"]),
            (
                json!([rule(1, &json!({"name": "Beta", "conditions": team})), two]),
                vec!["~ Rule 1 Beta: if plan is pro then on → if plan is team then on"],
            ),
            (
                json!([rule(1, &json!({"conditions": pro, "paused": true})), two]),
                vec!["~ Rule 1: renamed from Beta to no name", "~ Rule 1: paused"],
            ),
            (
                json!([one, rule(2, &json!({"serve": {"variant": "off"}}))]),
                vec!["~ Rule 2: everyone gets on → everyone gets off"],
            ),
        ];
        for (rules, told) in cases {
            assert_eq!(lines(&base, &json!({"rules": rules})), told, "{rules}");
        }
        let (few, anew) = (rule(1, &json!({"serve": split("s", 1)})), rule(1, &json!({"serve": split("t", 1)})));
        assert_eq!(lines(&json!({"rules": [few]}), &json!({"rules": [anew]})), ["~ Rule 1: everyone is divided anew"]);
    }

    #[test]
    fn what_changes_inside_a_long_list_is_named_beside_another_serve() {
        let with = |last: &str, serve: &str| {
            let leaf = json!({"attribute": "country", "operator": "equals", "values": ["DE", "FR", "IT", "ES", last]});
            json!({"rules": [rule(1, &json!({"conditions": leaf, "serve": {"variant": serve}}))]})
        };
        let values = "~ Rule 1: values of country: added AT; removed PT";
        let serve = "~ Rule 1: if country is DE, FR or 3 others then on → if country is DE, FR or 3 others then off";
        assert_eq!(lines(&with("PT", "on"), &with("AT", "off")), [serve, values]);
        assert_eq!(lines(&with("PT", "on"), &with("AT", "on")), [values]);
    }
}
