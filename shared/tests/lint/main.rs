//! No warning is a false alarm: what it says is tried against the engine.

mod environment;

use environment::{Environment, NOW_MS, answer, contexts, environments};
use proptest::prelude::*;
use serde_json::{Value, json};
use shared::evaluation::{Context, Place, State};
use shared::lint::{self, Setup, Subject, Warning, WarningKind};
use shared::model::timestamp::Timestamp;

/// The JSON pointer of a path.
fn pointer(path: &str) -> String {
    format!("/{}", path.replace(['.', '['], "/").replace(']', ""))
}

fn remove(document: &mut Value, path: &str) {
    let pointer = pointer(path);
    let (list, at) = pointer.rsplit_once('/').expect("an entry of a list");
    let list = document.pointer_mut(list).and_then(Value::as_array_mut).expect("a list");
    list.remove(at.parse().expect("a position"));
}

fn exists(negate: bool) -> Value {
    json!({"attribute": "c", "operator": "exists", "negate": negate})
}

/// Tries what a warning says.
fn disprove(
    environment: &Environment,
    subject: &Subject,
    warning: &Warning,
    contexts: &[(Context<'_>, i64)],
) -> Option<String> {
    let Warning { field, kind, .. } = warning;
    let state = environment.state();
    let mut edited = environment.clone();
    let document = edited.document(subject);
    let mut put = |condition: Value| {
        *document.pointer_mut(&pointer(field)).expect("a condition") = condition;
    };
    let is_condition = field.contains("conditions") && !field.contains("values[");
    match kind {
        WarningKind::NeverApplies | WarningKind::NeverHolds | WarningKind::Over | WarningKind::EmptySegment
            if is_condition =>
        {
            put(json!({"all": [exists(false), exists(true)]}));
        }
        WarningKind::AlwaysHolds => put(json!({"any": [exists(false), exists(true)]})),
        WarningKind::NoEffect | WarningKind::Duplicate | WarningKind::IncludedAndExcluded => remove(document, field),
        WarningKind::UnusedVariant | WarningKind::UnusedSegment => unreachable!("not asked for"),
        WarningKind::NeverApplies
        | WarningKind::NeverHolds
        | WarningKind::Over
        | WarningKind::EmptySegment
        | WarningKind::NeverReached
        | WarningKind::NeverMet => {}
    }
    let rule: Option<u16> = field.strip_prefix("rules[").and_then(|rest| rest.split(']').next()?.parse().ok());
    let is_removed = matches!(kind, WarningKind::NoEffect) && !field.contains("conditions");
    let edited = edited.state();
    let probe = probe(environment, subject);
    for (context, now_ms) in contexts {
        for flag in ["f", "parent"] {
            let (was, is) = (answer(&state, flag, context, *now_ms), answer(&edited, flag, context, *now_ms));
            let is_same = if is_removed { (was.value, was.error) == (is.value, is.error) } else { was == is };
            if !is_same {
                return Some(format!("{context:?} got {was:?} and gets {is:?}"));
            }
        }
        if let Subject::Flag(key) = subject {
            let place = answer(&state, key.as_str(), context, *now_ms).place;
            let is_impossible = match kind {
                WarningKind::NeverApplies | WarningKind::NeverReached => match rule {
                    Some(at) => place == Place::Rule(at),
                    None => matches!(place, Place::Default | Place::Error(_)),
                },
                WarningKind::NeverMet => place != Place::Blocked,
                _ => false,
            };
            if is_impossible {
                return Some(format!("{context:?} is answered by {place:?}"));
            }
        }
        if *kind == WarningKind::EmptySegment && answer(&probe, "f", context, *now_ms).variant == Some("on") {
            return Some(format!("{context:?} is in it"));
        }
    }
    None
}

/// A flag that is on for everyone in the segment a warning is about.
fn probe(environment: &Environment, subject: &Subject) -> State {
    let Subject::Segment(key) = subject else { return State::default() };
    let rule = json!({
        "id": "00000000-0000-0000-0000-000000000000", "serve": {"variant": "on"},
        "conditions": {"operator": "in_segment", "values": [key]},
    });
    let config = json!({"enabled": true, "rules": [rule], "default_serve": {"variant": "off"}});
    Environment { config, ..environment.clone() }.state()
}

proptest! {
    #[test]
    fn no_context_contradicts_a_warning(environment in environments(), seed in any::<u64>()) {
        let documents = environment.documents();
        prop_assert_eq!(documents.validate().err(), None);
        let contexts = contexts(seed);
        let contexts: Vec<(Context<'_>, i64)> =
            contexts.iter().map(|(json, now_ms)| (serde_json::from_str(json).expect("a context"), *now_ms)).collect();
        for (subject, warning) in lint::environment(&documents, NOW_MS) {
            let disproof = disprove(&environment, &subject, &warning, &contexts);
            prop_assert!(disproof.is_none(), "{:?} {:?}: {:?}", subject, warning, disproof);
        }
    }

    #[test]
    fn no_context_gets_an_unused_variant_or_another_than_the_settled_one(
        mut environment in environments(), is_short in any::<bool>(), seed in any::<u64>(),
    ) {
        if is_short {
            environment.config["rules"] = json!([]);
        }
        let (documents, state) = (environment.documents(), environment.state());
        let (definition, config) = &documents.flags["f"];
        let unused = lint::unused_variants(definition, &[&documents]);
        let at = |text: &str| serde_json::from_value::<Timestamp>(json!(text)).expect("a time");
        let setup = Setup { config, is_killed: false, changed_at: at("2026-01-01T00:00:00Z") };
        let settled = lint::settled(definition, false, &[setup], at("2027-01-01T00:00:00Z"), 30);
        for (context, now_ms) in contexts(seed) {
            let context: Context<'_> = serde_json::from_str(&context).expect("a context");
            let outcome = answer(&state, "f", &context, now_ms);
            let field = outcome.variant_index.map(|at| format!("variants[{at}]"));
            prop_assert!(!unused.iter().any(|warning| Some(&warning.field) == field.as_ref()));
            if let Some(settled) = settled.as_ref().filter(|_| outcome.error.is_none()) {
                prop_assert_eq!(outcome.variant, Some(settled.variant.as_str()));
            }
        }
    }
}
