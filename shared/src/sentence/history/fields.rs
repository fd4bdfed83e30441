//! What changes between two documents of which only the fields are known.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::sentence::shown::{capital, listed, only_in, value};

/// One line per field that changes, by name; `skipped` ones are told by somebody else.
pub(super) fn field_changes(before: &Value, after: &Value, skipped: &[&str]) -> Vec<String> {
    let (Some(old), Some(new)) = (before.as_object(), after.as_object()) else {
        return if before == after { Vec::new() } else { vec!["~ Details changed".into()] };
    };
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let told = names.into_iter().filter(|name| !skipped.contains(&name.as_str()));
    told.flat_map(|name| field(&label(name), old.get(name), new.get(name))).collect()
}

/// A field's or a thing's name in words: `note_required` is `Note required`.
pub(super) fn label(name: &str) -> String {
    capital(&value(&name.replace('_', " ")))
}

fn field(label: &str, before: Option<&Value>, after: Option<&Value>) -> Vec<String> {
    let known = |value: Option<&Value>| value.filter(|value| !value.is_null()).cloned();
    match (known(before), known(after)) {
        (None, None) => Vec::new(),
        (Some(before), Some(after)) if before == after => Vec::new(),
        (Some(Value::Array(before)), Some(Value::Array(after))) => list(label, &before, &after),
        (Some(Value::Object(before)), Some(Value::Object(after))) => object(label, &before, &after),
        (before, after) => vec![single(label, before.as_ref(), after.as_ref())],
    }
}

fn single(label: &str, before: Option<&Value>, after: Option<&Value>) -> String {
    match (before.map(text), after.map(text)) {
        (Some(Some(was)), Some(Some(now))) if was != now => format!("~ {label}: {was} → {now}"),
        (None, Some(Some(now))) => format!("+ {label}: {now}"),
        (Some(Some(was)), None) => format!("− {label}: {was}"),
        (None, Some(None)) => format!("+ {label} added"),
        (Some(None), None) => format!("− {label} removed"),
        _ => format!("~ {label}: details changed"),
    }
}

fn list(label: &str, before: &[Value], after: &[Value]) -> Vec<String> {
    let (Some(old), Some(new)) = (texts(before), texts(after)) else {
        return vec![format!("~ {label}: details changed")];
    };
    let parts = [('−', only_in(&old, &new)), ('+', only_in(&new, &old))];
    let lines: Vec<String> = parts
        .into_iter()
        .filter(|(_, texts)| !texts.is_empty())
        .map(|(sign, texts)| format!("{sign} {label}: {}", listed(&texts)))
        .collect();
    if lines.is_empty() { vec![format!("~ {label} in another order")] } else { lines }
}

fn object(label: &str, before: &Map<String, Value>, after: &Map<String, Value>) -> Vec<String> {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let differing = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
    differing.map(|name| single(&format!("{label} {}", value(name)), before.get(name), after.get(name))).collect()
}

/// A value that fits into a sentence.
fn text(document: &Value) -> Option<String> {
    match document {
        Value::String(text) => Some(value(text)),
        Value::Bool(is_so) => Some(if *is_so { "yes" } else { "no" }.into()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null => Some("none".into()),
        Value::Array(items) if items.is_empty() => Some("none".into()),
        Value::Array(items) => texts(items).map(|texts| listed(&texts)),
        Value::Object(_) => None,
    }
}

fn texts(items: &[Value]) -> Option<Vec<String>> {
    items.iter().map(|item| if item.is_array() { None } else { text(item) }).collect()
}
