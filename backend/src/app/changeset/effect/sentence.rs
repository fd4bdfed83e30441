//! Changes of things as sentences.

use serde::de::Deserialize;
use serde_json::Value;
use shared::model::flag::{FlagConfig, FlagDefinition};
use shared::model::policy::Policy;
use shared::model::segment::SegmentDefinition;
use shared::sentence;

use crate::app::changeset::effect::{Touched, read};

/// What changes, one line each; never empty.
pub(super) fn of(touched: Touched<'_>, definition: Option<&FlagDefinition>) -> Vec<String> {
    let lines = match touched.entity {
        "config" => config(touched, definition),
        "flag" => described(touched, "definition", |old: &FlagDefinition, new| sentence::definition_changes(old, new)),
        "segment" => {
            described(touched, "definition", |old: &SegmentDefinition, new| sentence::segment_changes(old, new))
        }
        "policy" => policy(touched),
        "member" => member(touched),
        _ => Vec::new(),
    };
    if lines.is_empty() { vec![plain(touched)] } else { lines }
}

fn plain(touched: Touched<'_>) -> String {
    let Touched { entity, key, .. } = touched;
    let noun = entity.replace('_', " ");
    match (touched.before, touched.after) {
        (None, Some(_)) => format!("+ New {noun} {key}"),
        (Some(_), None) => format!("− {key}: {noun} removed"),
        _ => format!("~ {key}: {noun} changed"),
    }
}

fn config(touched: Touched<'_>, definition: Option<&FlagDefinition>) -> Vec<String> {
    match (read::<FlagConfig>(touched.before), read::<FlagConfig>(touched.after)) {
        (Some(old), Some(new)) if old == new => vec!["Nothing: it is as it was".into()],
        (Some(old), Some(new)) => sentence::changes(&old, &new),
        (None, Some(new)) => {
            let said = definition
                .map_or_else(|| sentence::brief(&new, false), |definition| sentence::config(definition, &new, false));
            vec![format!("+ {said}")]
        }
        _ => Vec::new(),
    }
}

/// A thing with a document that decides, and texts for people beside it.
fn described<T: for<'de> Deserialize<'de>>(
    touched: Touched<'_>,
    part: &str,
    changes: impl Fn(&T, &T) -> Vec<String>,
) -> Vec<String> {
    let (Some(before), Some(after)) = (touched.before, touched.after) else { return Vec::new() };
    let mut lines = match (read::<T>(before.get(part)), read::<T>(after.get(part))) {
        (Some(old), Some(new)) => changes(&old, &new),
        _ => Vec::new(),
    };
    let fields = after.as_object().into_iter().flatten().filter(|(name, _)| name.as_str() != part);
    for (name, now) in fields {
        let was = before.get(name).unwrap_or(&Value::Null);
        if was != now {
            lines.push(format!("~ {}: {} → {}", capital(name), shown(was), shown(now)));
        }
    }
    if lines.is_empty() { vec!["Nothing: it is as it was".into()] } else { lines }
}

fn policy(touched: Touched<'_>) -> Vec<String> {
    let said = |policy: &Policy| {
        let people =
            if policy.approvals == 1 { "1 approval".into() } else { format!("{} approvals", policy.approvals) };
        let named = match (policy.people.len(), policy.roles.as_slice()) {
            (0, []) => String::new(),
            (people, []) => format!(" of {people} named people"),
            (0, roles) => format!(" of people with the role {}", listed(roles)),
            (people, roles) => format!(" of {people} named people or those with the role {}", listed(roles)),
        };
        format!("{people}{named}{}", if policy.note_required { ", and a note" } else { "" })
    };
    match (read::<Policy>(touched.before), read::<Policy>(touched.after)) {
        (None, Some(new)) => vec![format!("+ Protected: changes need {}", said(&new))],
        (Some(old), Some(new)) => vec![format!("~ Changes need {} → {}", said(&old), said(&new))],
        (Some(old), None) => vec![format!("− Not protected any more: changes needed {}", said(&old))],
        (None, None) => vec!["Nothing: it is as it was".into()],
    }
}

fn member(touched: Touched<'_>) -> Vec<String> {
    let role = |document: &Value| {
        let own = document["role"].as_str().unwrap_or("no role").to_owned();
        let elsewhere = document["environments"].as_object().into_iter().flatten();
        let elsewhere: Vec<String> =
            elsewhere.map(|(environment, role)| format!("{} in {environment}", role.as_str().unwrap_or("?"))).collect();
        if elsewhere.is_empty() { own } else { format!("{own}, {}", elsewhere.join(", ")) }
    };
    let key = touched.key;
    match (touched.before, touched.after) {
        (None, Some(after)) => vec![format!("+ {key} becomes a member: {}", role(after))],
        (Some(before), Some(after)) => vec![format!("~ {key}: {} → {}", role(before), role(after))],
        (Some(before), None) => vec![format!("− {key} is no member any more; was {}", role(before))],
        (None, None) => Vec::new(),
    }
}

fn listed<T: ToString>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn capital(name: &str) -> String {
    let mut letters = name.replace('_', " ");
    if let Some(first) = letters.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    letters
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "none".into(),
        Value::String(text) if text.is_empty() => "none".into(),
        Value::String(text) => sentence::value(text),
        Value::Array(items) if items.is_empty() => "none".into(),
        Value::Array(items) => {
            sentence::value(&items.iter().map(|item| item.as_str().unwrap_or("?")).collect::<Vec<_>>().join(", "))
        }
        other => sentence::value(&other.to_string()),
    }
}
