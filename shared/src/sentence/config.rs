//! A flag's config in English.

use crate::model::flag::{FlagConfig, FlagDefinition};
use crate::model::key::VariantKey;
use crate::model::prerequisite::Prerequisite;
use crate::model::rule::Serve;
use crate::sentence::serve::shares;
use crate::sentence::shown::{any_of, bounded, capital, plural, value};

/// So many prerequisites are told, the others are counted.
const PREREQUISITES_TOLD_MAX: usize = 4;
/// A longer value is not repeated beside the name of its variant, in characters.
const BESIDE_CHARS_MAX: usize = 30;

/// What everyone gets, in one or two sentences.
pub fn config(flag: &FlagDefinition, config: &FlagConfig, is_killed: bool) -> String {
    let off = match &config.off_variant {
        Some(variant) => with_value(flag, variant),
        None => "the code's own default".into(),
    };
    if is_killed {
        return format!("Killed. Everyone gets {off}.");
    }
    if !config.enabled {
        return format!("Off. Everyone gets {off}.");
    }
    let keys: usize = config.targets.iter().map(|target| target.keys.len()).sum();
    let rules = config.rules.iter().filter(|rule| !rule.paused).count();
    let only = match config.prerequisites.as_slice() {
        [] => String::new(),
        needed => format!("Only while {}; otherwise everyone gets {off}. ", prerequisites(needed)),
    };
    let mut before = Vec::new();
    if keys > 0 {
        before.push(plural(keys, "named key"));
    }
    if rules > 0 {
        before.push(plural(rules, "rule"));
    }
    let on = match (&config.default_serve, before.is_empty()) {
        (Serve::Variant(variant), true) => format!("Everyone gets {}.", with_value(flag, variant)),
        (Serve::Variant(variant), false) => {
            format!("{} first, everyone else gets {}.", before.join(" and "), with_value(flag, variant))
        }
        (Serve::Split(split), true) => format!("{}.", capital(&shares(split))),
        (Serve::Split(split), false) => format!("{} first, then {}.", before.join(" and "), shares(split)),
    };
    bounded(format!("On. {only}{on}"))
}

/// The flags that another one needs: `pricing answers on, and plan answers pro or team`.
pub fn prerequisites(needed: &[Prerequisite]) -> String {
    let told = needed.len().min(PREREQUISITES_TOLD_MAX);
    let mut parts: Vec<String> = needed[..told]
        .iter()
        .map(|Prerequisite { flag, variants }| {
            let variants: Vec<String> = variants.iter().map(ToString::to_string).collect();
            format!("{flag} answers {}", any_of(&variants))
        })
        .collect();
    if told < needed.len() {
        parts.push(format!("{} answer as they must", plural(needed.len() - told, "more flag")));
    }
    bounded(parts.join(", and "))
}

fn with_value(flag: &FlagDefinition, variant: &VariantKey) -> String {
    match flag.variants.iter().find(|v| v.key == *variant) {
        Some(found) if found.value.chars().nth(BESIDE_CHARS_MAX).is_none() => {
            format!("{variant} ({})", value(&found.value))
        }
        _ => variant.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn flag() -> FlagDefinition {
        let long = "x".repeat(64 * 1024);
        serde_json::from_value(json!({
            "key": "theme", "value_type": "string", "kind": "release", "client_visible": false,
            "variants": [
                {"key": "blue", "value": "#00f"}, {"key": "plain", "value": ""}, {"key": "lines", "value": "a\nb"},
                {"key": "object", "value": "{\"limit\": 10, \"of\": 2}"}, {"key": "long", "value": long},
            ],
        }))
        .expect("a definition")
    }

    fn said(document: &Value) -> String {
        let document = serde_json::from_value(document.clone()).expect("a config");
        config(&flag(), &document, false)
    }

    #[test]
    fn a_flag_that_is_not_on_says_what_everyone_gets_instead() {
        let serve = json!({"variant": "blue"});
        let off = json!({"enabled": false, "off_variant": "plain", "default_serve": serve});
        assert_eq!(said(&off), "Off. Everyone gets plain (“”).");
        let none = json!({"enabled": false, "default_serve": serve});
        assert_eq!(said(&none), "Off. Everyone gets the code's own default.");
        let killed = serde_json::from_value(none).expect("a config");
        assert_eq!(config(&flag(), &killed, true), "Killed. Everyone gets the code's own default.");
    }

    #[test]
    fn a_value_stands_beside_its_variant_unless_it_is_long() {
        let cases = [
            ("blue", "On. Everyone gets blue (#00f)."),
            ("lines", "On. Everyone gets lines (a␊b)."),
            ("object", "On. Everyone gets object (“{\"limit\": 10, \"of\": 2}”)."),
            ("long", "On. Everyone gets long."),
            ("unknown", "On. Everyone gets unknown."),
        ];
        for (variant, text) in cases {
            assert_eq!(said(&json!({"enabled": true, "default_serve": {"variant": variant}})), text);
        }
    }

    #[test]
    fn what_comes_before_the_default_is_counted() {
        let rule = |at: usize, paused: bool| {
            let id = format!("00000000-0000-0000-0000-00000000000{at}");
            json!({"id": id, "paused": paused, "serve": {"variant": "blue"}})
        };
        let half = json!({"split": {"bucket_by": "targetingKey", "seed": "s", "ranges": [
            {"start": 0, "end": 50_000, "variant": "blue"}, {"start": 50_000, "end": 100_000, "variant": "plain"},
        ]}});
        let cases = [
            (json!({"enabled": true, "default_serve": half}), "On. 50 % get blue, 50 % get plain."),
            (
                json!({"enabled": true, "default_serve": {"variant": "blue"}, "rules": [rule(1, true)]}),
                "On. Everyone gets blue (#00f).",
            ),
            (
                json!({"enabled": true, "default_serve": half, "rules": [rule(1, false), rule(2, false)],
                    "targets": [{"variant": "blue", "keys": ["u-1"]}]}),
                "On. 1 named key and 2 rules first, then 50 % get blue, 50 % get plain.",
            ),
            (
                json!({"enabled": true, "default_serve": {"variant": "plain"}, "off_variant": "blue",
                    "prerequisites": [{"flag": "pricing", "variants": ["on"]}, {"flag": "a/b", "variants": ["x", "y"]}]}),
                "On. Only while pricing answers on, and a/b answers x or y; otherwise everyone gets blue (#00f). \
                 Everyone gets plain (“”).",
            ),
        ];
        for (document, text) in cases {
            assert_eq!(said(&document), text);
        }
    }

    #[test]
    fn of_many_prerequisites_most_are_counted() {
        let needed: Vec<Value> = (0..64).map(|n| json!({"flag": format!("f{n}"), "variants": ["on"]})).collect();
        let needed: Vec<Prerequisite> = serde_json::from_value(json!(needed)).expect("prerequisites");
        let text = prerequisites(&needed);
        assert!(text.ends_with("f3 answers on, and 60 more flags answer as they must"), "{text}");
        assert_eq!(prerequisites(&[]), "");
    }
}
