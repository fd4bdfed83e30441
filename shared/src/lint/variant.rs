//! Variants that nothing serves.

use std::collections::HashSet;

use crate::lint::{Warning, WarningKind, Warnings};
use crate::model::flag::{FlagConfig, FlagDefinition};
use crate::model::key::VariantKey;
use crate::model::reach::Documents;
use crate::model::rule::Serve;
use crate::model::variant::ValueType;

/// Variants of a flag that it serves in none of these environments, and that no other flag there asks for.
///
/// Paused rules count as serving. A boolean flag has its two variants whether it serves them or not.
pub fn unused_variants(definition: &FlagDefinition, environments: &[&Documents]) -> Vec<Warning> {
    let mut found = Warnings::default();
    if definition.value_type == ValueType::Boolean {
        return found.found;
    }
    let mut used: HashSet<&VariantKey> = HashSet::new();
    for documents in environments {
        if let Some((_, config)) = documents.flags.get(&definition.key) {
            let targets = config.targets.iter().map(|target| &target.variant);
            let rules = config.rules.iter().flat_map(|rule| served(&rule.serve));
            used.extend(targets.chain(rules).chain(served(&config.default_serve)).chain(&config.off_variant));
        }
        let needed = documents.flags.values().flat_map(|(_, config)| &config.prerequisites);
        let needed = needed.filter(|prerequisite| prerequisite.flag == definition.key);
        used.extend(needed.flat_map(|prerequisite| &prerequisite.variants));
    }
    for (at, variant) in definition.variants.iter().enumerate().filter(|(_, variant)| !used.contains(&variant.key)) {
        let message = format!("Nothing serves {}. Serve it somewhere or remove it.", variant.key);
        found.add(WarningKind::UnusedVariant, format!("variants[{at}]"), message);
    }
    found.found
}

/// Every variant that a config could answer while it is on and not blocked, and perhaps more.
pub(super) fn answerable(config: &FlagConfig) -> impl Iterator<Item = &VariantKey> {
    let targets = config.targets.iter().filter(|target| !target.keys.is_empty()).map(|target| &target.variant);
    let rules = config.rules.iter().filter(|rule| !rule.paused).flat_map(|rule| served(&rule.serve));
    targets.chain(rules).chain(served(&config.default_serve))
}

/// The variants of a serve, some of them more than once.
fn served(serve: &Serve) -> Box<dyn Iterator<Item = &VariantKey> + '_> {
    match serve {
        Serve::Variant(variant) => Box::new(std::iter::once(variant)),
        Serve::Split(split) => Box::new(split.ranges.iter().map(|range| &range.variant)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn definition(key: &str, value_type: &str) -> FlagDefinition {
        let variants = ["a", "b", "c", "d", "e", "f"].map(|key| json!({"key": key, "value": key}));
        serde_json::from_value(json!({
            "key": key, "value_type": value_type, "kind": "release", "client_visible": false, "variants": variants,
        }))
        .expect("a definition")
    }

    fn environment(flags: &[(&str, Value)]) -> Documents {
        let mut documents = Documents::default();
        for (key, config) in flags {
            let config = serde_json::from_value(config.clone()).expect("a config");
            documents.flags.insert(key.parse().expect("a key"), (definition(key, "string"), config));
        }
        documents
    }

    #[test]
    fn only_a_variant_that_nothing_names_anywhere_is_unused() {
        let rule = json!({"id": "00000000-0000-0000-0000-000000000000", "paused": true, "serve": {"variant": "b"}});
        let split = json!({"split": {"bucket_by": "targetingKey", "seed": "s", "ranges": [
            {"start": 0, "end": 100_000, "variant": "c"},
        ]}});
        let staging = environment(&[(
            "theme",
            json!({"enabled": false, "off_variant": "a", "rules": [rule],
            "default_serve": split}),
        )]);
        let needs = json!({"enabled": true, "default_serve": {"variant": "a"},
            "prerequisites": [{"flag": "theme", "variants": ["d"]}]});
        let production = environment(&[("other", needs)]);
        let unused = |environments: &[&Documents]| -> Vec<String> {
            unused_variants(&definition("theme", "string"), environments).into_iter().map(|w| w.field).collect()
        };
        assert_eq!(unused(&[&staging]), ["variants[3]", "variants[4]", "variants[5]"]);
        assert_eq!(unused(&[&staging, &production]), ["variants[4]", "variants[5]"]);
        let warning = unused_variants(&definition("theme", "string"), &[&staging, &production]).remove(0);
        assert_eq!(warning.message, "Nothing serves e. Serve it somewhere or remove it.");
        assert_eq!(unused_variants(&definition("theme", "boolean"), &[]), []);
    }
}
