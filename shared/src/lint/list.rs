//! What is wrong with lists of values and keys.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use crate::compare::moment::Moment;
use crate::compare::number::Number;
use crate::compare::semver::{OwnedVersion, Range, Version};
use crate::compare::text::fold;
use crate::lint::{WarningKind, Warnings};
use crate::model::condition::{Leaf, Operator};
use crate::sentence::{listed, value};

/// Notes what is wrong with the values of a comparison.
pub(super) fn check(leaf: &Leaf, path: &str, found: &mut Warnings) {
    let path = format!("{path}.values");
    twins(&leaf.values, leaf.ignore_case, &path, found);
    if leaf.values.len() < 2 {
        return;
    }
    if let Some(counts) = deciding(leaf) {
        let idle = (0..leaf.values.len()).find(|at| leaf.values[*at] != leaf.values[counts]);
        if let Some(idle) = idle {
            let deciding = value(&leaf.values[counts]);
            let others = if leaf.values.len() > 2 { "others" } else { "other" };
            let message = format!("Several values mean any of them, so only {deciding} counts. Remove the {others}.");
            let because = vec![format!("{path}[{counts}]")];
            found.add_because(WarningKind::NoEffect, format!("{path}[{idle}]"), message, because);
        }
    }
    if leaf.operator == Operator::SemverIn {
        let is_empty = |text: &String| Range::parse(text).is_ok_and(|range| range.is_empty());
        if let Some(at) = leaf.values.iter().position(is_empty) {
            let message = format!("No version is in {}. Correct or remove it.", value(&leaf.values[at]));
            found.add(WarningKind::NoEffect, format!("{path}[{at}]"), message);
        }
    }
}

/// Notes entries that are in a list twice.
pub(super) fn twins(texts: &[String], ignore_case: bool, path: &str, found: &mut Warnings) {
    let mut first: HashMap<String, usize> = HashMap::new();
    let mut doubled: Vec<(usize, usize)> = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        let compared = if ignore_case { fold(text) } else { text.clone() };
        if let Some(&known) = first.get(&compared) {
            doubled.push((at, known));
        } else {
            first.insert(compared, at);
        }
    }
    let Some(&(at, known)) = doubled.first() else { return };
    let mut told = HashSet::new();
    let names: Vec<&str> =
        doubled.iter().filter(|(_, known)| told.insert(known)).map(|(_, known)| texts[*known].as_str()).collect();
    let (verb, many) = if names.len() == 1 { ("is", "it") } else { ("are", "each") };
    let message = format!("{} {verb} there more than once. Keep {many} once.", listed(&names));
    found.add_because(WarningKind::Duplicate, format!("{path}[{at}]"), message, vec![format!("{path}[{known}]")]);
}

/// Which of several limits is the one that counts; `None` where each may.
fn deciding(leaf: &Leaf) -> Option<usize> {
    match leaf.operator {
        Operator::Less | Operator::LessOrEqual => extreme(leaf, Ordering::Greater, Number::parse),
        Operator::Greater | Operator::GreaterOrEqual => extreme(leaf, Ordering::Less, Number::parse),
        Operator::SemverLess | Operator::SemverLessOrEqual => extreme(leaf, Ordering::Greater, version),
        Operator::SemverGreater | Operator::SemverGreaterOrEqual => extreme(leaf, Ordering::Less, version),
        Operator::Before => extreme(leaf, Ordering::Greater, Moment::parse),
        Operator::After => extreme(leaf, Ordering::Less, Moment::parse),
        _ => None,
    }
}

fn version(text: &str) -> Option<OwnedVersion> {
    Version::parse(text).map(OwnedVersion::from)
}

/// The first of the greatest or least values.
fn extreme<T: Ord>(leaf: &Leaf, side: Ordering, parse: impl Fn(&str) -> Option<T>) -> Option<usize> {
    let mut best: Option<(usize, T)> = None;
    for (at, text) in leaf.values.iter().enumerate() {
        let value = parse(text)?;
        if best.as_ref().is_none_or(|(_, best)| value.cmp(best) == side) {
            best = Some((at, value));
        }
    }
    best.map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::condition::Condition;

    fn found(operator: &str, values: &[&str], ignore_case: bool) -> Vec<(WarningKind, String, String)> {
        let document = json!({"attribute": "a", "operator": operator, "values": values, "ignore_case": ignore_case});
        let condition: Condition = serde_json::from_value(document).expect("a condition");
        let mut found = Warnings::default();
        for leaf in condition.leaves() {
            check(leaf, "c", &mut found);
        }
        found.found.into_iter().map(|w| (w.kind, w.field, w.message)).collect()
    }

    #[test]
    fn entries_that_are_there_twice_are_told_once() {
        let message = "pro is there more than once. Keep it once.";
        let expected = (WarningKind::Duplicate, "c.values[2]".into(), message.into());
        assert_eq!(found("equals", &["pro", "Pro", "pro", "pro"], false), [expected]);
        let message = "a and B are there more than once. Keep each once.";
        let expected = (WarningKind::Duplicate, "c.values[2]".into(), message.into());
        assert_eq!(found("equals", &["a", "B", "A", "b", "c"], true), [expected]);
        assert_eq!(found("equals", &["10", "10.0"], false), []);
    }

    #[test]
    fn of_several_limits_only_one_counts() {
        let cases = [
            ("less", ["5", "10"], "10", 0),
            ("greater_or_equal", ["5", "10"], "5", 1),
            ("less", ["10", "10.0"], "10", 1),
            ("semver_less", ["1.10", "1.9"], "1.10", 1),
            ("semver_greater_or_equal", ["2", "1.9"], "1.9", 0),
            ("before", ["2027-01-01T00:00:00Z", "2026-01-01T00:00:00Z"], "2027-01-01T00:00:00Z", 1),
            ("after", ["2027-01-01T00:00:00Z", "2026-01-01T00:00:00Z"], "2026-01-01T00:00:00Z", 0),
        ];
        for (operator, values, counts, idle) in cases {
            let found = found(operator, &values, false);
            assert_eq!(found.len(), 1, "{operator}");
            assert_eq!(
                (found[0].0, found[0].1.clone()),
                (WarningKind::NoEffect, format!("c.values[{idle}]")),
                "{operator}"
            );
            assert!(found[0].2.contains(&format!("only {counts} counts")), "{}", found[0].2);
        }
        assert_eq!(found("less", &["5"], false), []);
        assert_eq!(found("semver_equal", &["1", "2"], false), []);
    }
}
