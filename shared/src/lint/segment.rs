//! What is wrong with segments.

use std::collections::{BTreeSet, HashSet};

use crate::lint::proof::{Goal, Prover};
use crate::lint::{Warning, WarningKind, Warnings, condition, list};
use crate::model::key::SegmentKey;
use crate::model::reach::Documents;
use crate::model::segment::SegmentDefinition;
use crate::sentence::listed;

/// What is probably a mistake in a segment, from `now_ms` on.
///
/// The definition need not be the one in `documents`, which are asked for the segments it uses.
pub fn segment(definition: &SegmentDefinition, documents: &Documents, now_ms: i64) -> Vec<Warning> {
    let mut found = Warnings::default();
    let mut prover = Prover::new(documents, Some(definition), now_ms);
    let is_empty = !prover.is_possible(&[Goal::Member(&definition.key)]);
    let has_conditions = !definition.conditions.leaves().is_empty();
    if is_empty && !has_conditions {
        let message = "Nobody can be in this segment. Include keys or add conditions.";
        found.add(WarningKind::EmptySegment, "included", message);
    }
    let whole = if is_empty {
        (WarningKind::EmptySegment, " Until then nobody is in this segment.")
    } else {
        (WarningKind::NeverHolds, " Until then only the included keys are in this segment.")
    };
    if has_conditions && !prover.is_possible(&[Goal::Fails(&definition.conditions)]) {
        let message = "Everyone meets these conditions, so all but excluded keys are in this segment. Correct them.";
        found.add(WarningKind::AlwaysHolds, "conditions", message);
    } else if has_conditions {
        condition::check(&definition.conditions, "conditions", whole, &mut prover, &mut found);
    }
    keys(definition, &mut found);
    found.found
}

fn keys(definition: &SegmentDefinition, found: &mut Warnings) {
    let SegmentDefinition { included, excluded, .. } = definition;
    for (path, keys) in [("included", included), ("excluded", excluded)] {
        list::twins(keys, false, path, found);
        if let Some(at) = keys.iter().position(String::is_empty) {
            found.add(WarningKind::NoEffect, format!("{path}[{at}]"), "An empty key is nobody's. Remove it.");
        }
    }
    let out: HashSet<&str> = excluded.iter().map(String::as_str).collect();
    let both: BTreeSet<(usize, &str)> =
        included.iter().map(String::as_str).enumerate().filter(|(_, key)| out.contains(key)).collect();
    if let Some((at, key)) = both.first() {
        let names: Vec<&str> = both.iter().map(|(_, key)| *key).collect();
        let verb = if names.len() == 1 { "is" } else { "are" };
        let message =
            format!("{} {verb} both included and excluded; excluded wins. Remove one of them.", listed(&names));
        let because = excluded.iter().position(|other| other == key).map(|other| format!("excluded[{other}]"));
        let because = because.into_iter().collect();
        found.add_because(WarningKind::IncludedAndExcluded, format!("included[{at}]"), message, because);
    }
}

/// Segments that no flag reaches in any of these environments, each once.
pub fn unused_segments(environments: &[&Documents]) -> Vec<(SegmentKey, Warning)> {
    let known: BTreeSet<&SegmentKey> = environments.iter().flat_map(|documents| documents.segments.keys()).collect();
    let mut used: HashSet<SegmentKey> = HashSet::new();
    for documents in environments {
        for (_, config) in documents.flags.values() {
            used.extend(documents.reach_of_flag(config).segments);
        }
    }
    let unused = known.into_iter().filter(|key| !used.contains(*key));
    let warning = || Warning {
        field: String::new(),
        kind: WarningKind::UnusedSegment,
        message: "No flag uses this segment. Use it in a rule or delete it.".into(),
        because: Vec::new(),
    };
    unused.map(|key| (key.clone(), warning())).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW_MS: i64 = 1_798_761_600_000;

    fn definition(document: &Value) -> SegmentDefinition {
        serde_json::from_value(document.clone()).expect("a segment")
    }

    fn found(document: &Value) -> Vec<(WarningKind, String, String)> {
        let mut documents = Documents::default();
        for key in ["staff", "beta"] {
            let other = json!({"key": key, "conditions": {"operator": "in_segment", "values": ["edited"]}});
            documents.segments.insert(key.parse().expect("a key"), definition(&other));
        }
        let warnings = segment(&definition(document), &documents, NOW_MS);
        warnings.into_iter().map(|w| (w.kind, w.field, w.message)).collect()
    }

    #[test]
    fn a_segment_with_somebody_has_no_warnings() {
        let plan = json!({"attribute": "plan", "operator": "equals", "values": ["pro"]});
        for document in [
            json!({"key": "s", "included": ["a"], "excluded": ["b"]}),
            json!({"key": "s", "conditions": plan}),
            json!({"key": "s", "included": ["a"], "excluded": ["b"], "conditions": plan}),
        ] {
            assert_eq!(found(&document), [], "{document}");
        }
    }

    #[test]
    fn a_segment_that_nobody_can_be_in_is_told() {
        let message = "Nobody can be in this segment. Include keys or add conditions.";
        let expected = (WarningKind::EmptySegment, "included".to_owned(), message.to_owned());
        assert_eq!(found(&json!({"key": "s"})), std::slice::from_ref(&expected));
        let idle = json!({"key": "s", "conditions": {"any": [{"all": []}]}});
        assert_eq!(found(&idle), std::slice::from_ref(&expected));
        let out = found(&json!({"key": "s", "included": ["a"], "excluded": ["a", "b"]}));
        assert_eq!(out[0], expected);
        let message = "a is both included and excluded; excluded wins. Remove one of them.";
        assert_eq!(out[1], (WarningKind::IncludedAndExcluded, "included[0]".into(), message.into()));
        let neither = json!({"all": [
            {"attribute": "a", "operator": "exists"}, {"attribute": "a", "operator": "exists", "negate": true},
        ]});
        let message = "“a is absent” can never hold together with “a is present”. Correct or remove one of them. \
            Until then nobody is in this segment.";
        let found = found(&json!({"key": "s", "conditions": neither}));
        assert_eq!(found, [(WarningKind::EmptySegment, "conditions.all[1]".into(), message.into())]);
    }

    #[test]
    fn a_segment_that_uses_an_empty_one_is_told_with_what_is_being_edited() {
        let uses =
            json!({"key": "edited", "included": ["a"], "conditions": {"operator": "in_segment", "values": ["none"]}});
        assert_eq!(found(&uses), []);
        let mut documents = Documents::default();
        let inner = definition(&json!({"key": "inner"}));
        documents.segments.insert(inner.key.clone(), inner);
        let outer = definition(&json!({"key": "outer", "conditions": {"operator": "in_segment", "values": ["inner"]}}));
        let message = "Nobody is in segment inner, so this holds for nobody. Put someone in or remove it. \
            Until then nobody is in this segment.";
        assert_eq!(segment(&outer, &documents, NOW_MS)[0].message, message);
    }

    #[test]
    fn conditions_that_everyone_meets_are_told() {
        let either = json!({"any": [
            {"attribute": "a", "operator": "exists"}, {"attribute": "a", "operator": "exists", "negate": true},
        ]});
        let found = found(&json!({"key": "s", "conditions": either}));
        assert_eq!((found[0].0, found[0].1.as_str()), (WarningKind::AlwaysHolds, "conditions"));
    }

    #[test]
    fn keys_are_looked_through() {
        let document = json!({"key": "s", "included": ["a", "b", "a", ""], "excluded": ["x", "x"]});
        let fields: Vec<(WarningKind, String)> = found(&document).into_iter().map(|(k, f, _)| (k, f)).collect();
        let expected = [
            (WarningKind::Duplicate, "included[2]".to_owned()),
            (WarningKind::NoEffect, "included[3]".to_owned()),
            (WarningKind::Duplicate, "excluded[1]".to_owned()),
        ];
        assert_eq!(fields, expected);
    }

    #[test]
    fn segments_that_no_flag_reaches_anywhere_are_told() {
        let flag = json!({
            "key": "f", "value_type": "boolean", "kind": "release", "client_visible": false,
            "variants": [{"key": "on", "value": "true"}, {"key": "off", "value": "false"}],
        });
        let environment = |used: &str| {
            let rule = json!({
                "id": "00000000-0000-0000-0000-000000000000", "serve": {"variant": "on"},
                "conditions": {"operator": "in_segment", "values": [used]},
            });
            let config = json!({"enabled": true, "rules": [rule], "default_serve": {"variant": "off"}});
            let mut documents = Documents::default();
            let flag = (
                serde_json::from_value(flag.clone()).expect("a flag"),
                serde_json::from_value(config).expect("a config"),
            );
            documents.flags.insert("f".parse().expect("a key"), flag);
            for (key, uses) in [("a", "b"), ("b", "b"), ("c", "a"), ("d", "d")] {
                let conditions =
                    if key == uses { json!({"all": []}) } else { json!({"operator": "in_segment", "values": [uses]}) };
                let segment = definition(&json!({"key": key, "included": ["x"], "conditions": conditions}));
                documents.segments.insert(segment.key.clone(), segment);
            }
            documents
        };
        let (one, other) = (environment("a"), environment("d"));
        let unused = |environments: &[&Documents]| -> Vec<String> {
            unused_segments(environments).into_iter().map(|(key, _)| key.to_string()).collect()
        };
        assert_eq!(unused(&[&one]), ["c", "d"]);
        assert_eq!(unused(&[&one, &other]), ["c"]);
    }
}
