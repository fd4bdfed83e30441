//! Single parts, and lists of parts that have a name.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::Value;

use crate::merge::{Conflict, Side};

/// A part and how it is said.
pub(super) struct Part<'f, T> {
    pub(super) field: String,
    pub(super) said: &'f dyn Fn(&T) -> String,
}

/// Base, theirs and mine.
pub(super) type Three<T> = (T, T, T);

/// What the three come to: whoever changed it; theirs, with a conflict, where both did.
pub(super) fn picked<'v, T: PartialEq + Serialize>(
    part: Part<'_, T>,
    (base, theirs, mine): Three<&'v T>,
    conflicts: &mut Vec<Conflict>,
) -> &'v T {
    if mine == base || mine == theirs {
        return theirs;
    }
    if theirs == base {
        return mine;
    }
    let side =
        |value: &T| Side { sentence: (part.said)(value), value: serde_json::to_value(value).unwrap_or(Value::Null) };
    conflicts.push(Conflict { base: side(base), theirs: side(theirs), mine: side(mine), field: part.field });
    theirs
}

/// The same for each item of a list in which names are unique, in an order that nobody cares about.
pub(super) fn merged_list<T: Clone + PartialEq + Serialize>(
    field: &str,
    lists: Three<&Vec<T>>,
    name: impl Fn(&T) -> String,
    said: &dyn Fn(&Option<&T>) -> String,
    conflicts: &mut Vec<Conflict>,
) -> Vec<T> {
    let (base, theirs, mine) = lists;
    if mine == base || mine == theirs {
        return theirs.clone();
    }
    if theirs == base {
        return mine.clone();
    }
    let is_unique = |list: &Vec<T>| {
        let mut seen = HashSet::new();
        list.iter().all(|item| seen.insert(name(item)))
    };
    if ![base, theirs, mine].into_iter().all(is_unique) {
        let whole = |list: &Vec<T>| format!("{} of them", list.len());
        return picked(Part { field: field.to_owned(), said: &whole }, lists, conflicts).clone();
    }
    let find = |list: &'_ Vec<T>, wanted: &str| list.iter().position(|item| name(item) == wanted);
    let names: Vec<String> =
        ordered(&theirs.iter().map(&name).collect::<Vec<_>>(), &mine.iter().map(&name).collect::<Vec<_>>());
    let mut merged = Vec::new();
    for wanted in names {
        let at = |list: &'_ Vec<T>| find(list, &wanted);
        let (was, now, own) = (at(base).map(|i| &base[i]), at(theirs).map(|i| &theirs[i]), at(mine).map(|i| &mine[i]));
        let part = Part { field: format!("{field}[{wanted}]"), said };
        merged.extend(picked(part, (&was, &now, &own), conflicts).cloned());
    }
    merged
}

/// The names of a frame, with those that only the other list has behind the one that they follow there.
pub(super) fn ordered<N: Clone + PartialEq>(frame: &[N], other: &[N]) -> Vec<N> {
    let mut names = frame.to_vec();
    for (at, name) in other.iter().enumerate() {
        if names.contains(name) {
            continue;
        }
        let before = at.checked_sub(1).and_then(|before| names.iter().position(|known| *known == other[before]));
        names.insert(before.map_or(0, |before| before + 1), name.clone());
    }
    names
}
