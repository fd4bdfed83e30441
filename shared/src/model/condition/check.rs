//! What is wrong with a condition, said where it is saved.

use crate::compare::moment::Moment;
use crate::compare::network::Network;
use crate::compare::number::Number;
use crate::compare::pattern::Pattern;
use crate::compare::semver::{Range, Version};
use crate::compare::shown;
use crate::model::condition::{
    ATTRIBUTE_BYTES_MAX, CONDITION_DEPTH_MAX, Condition, Leaf, NOW, Operator, PATTERNS_MAX, VALUE_BYTES_MAX, VALUES_MAX,
};
use crate::model::key::SegmentKey;
use crate::model::problem::{Path, Problems};

/// Notes what is wrong with a tree.
pub(super) fn tree(condition: &Condition, path: Path<'_>, problems: &mut Problems) {
    group(condition, path, 1, problems);
}

fn group(condition: &Condition, path: Path<'_>, depth: usize, problems: &mut Problems) {
    let (name, members) = match condition {
        Condition::Leaf(leaf) => return self::leaf(leaf, path, problems),
        Condition::All(members) => ("all", members),
        Condition::Any(members) => ("any", members),
    };
    if depth > CONDITION_DEPTH_MAX {
        problems.add(path, format!("conditions nest deeper than {CONDITION_DEPTH_MAX} groups"));
        return;
    }
    if members.len() > VALUES_MAX {
        problems.add(path, format!("{} conditions; at most {VALUES_MAX} are allowed", members.len()));
        return;
    }
    for (index, member) in members.iter().enumerate() {
        group(member, format_args!("{path}.{name}[{index}]"), depth + 1, problems);
    }
}

fn leaf(leaf: &Leaf, path: Path<'_>, problems: &mut Problems) {
    let operator = leaf.operator;
    attribute(leaf, path, problems);
    if leaf.ignore_case && !operator.can_ignore_case() {
        let message = match operator {
            Operator::Matches => "matches takes no ignore_case; begin the pattern with (?i)".into(),
            _ => format!("{operator} takes no ignore_case; remove it"),
        };
        problems.add(format_args!("{path}.ignore_case"), message);
    }
    if !operator.takes_values() {
        if !leaf.values.is_empty() {
            problems.add(format_args!("{path}.values"), format!("{operator} takes no values; remove them"));
        }
        return;
    }
    if leaf.values.is_empty() {
        problems.add(format_args!("{path}.values"), "at least one value is needed");
    }
    check_texts(format_args!("{path}.values"), &leaf.values, problems);
    if leaf.values.len() <= VALUES_MAX {
        for (index, text) in leaf.values.iter().enumerate() {
            if let Err(message) = value(operator, text) {
                problems.add(format_args!("{path}.values[{index}]"), message);
            }
        }
    }
}

fn attribute(leaf: &Leaf, path: Path<'_>, problems: &mut Problems) {
    let (operator, name) = (leaf.operator, leaf.attribute.as_str());
    if !operator.takes_attribute() {
        if !name.is_empty() {
            problems.add(
                format_args!("{path}.attribute"),
                format!("{operator} looks at the whole context; remove the attribute"),
            );
        }
        return;
    }
    if name == NOW && matches!(operator, Operator::Before | Operator::After) {
        return;
    }
    if name == NOW {
        problems.add(
            format_args!("{path}.attribute"),
            format!("'{NOW}' is the time of the evaluation, which only before and after can look at"),
        );
    } else if name.is_empty() || name.starts_with('$') || name.len() > ATTRIBUTE_BYTES_MAX {
        let shown = shown(name);
        let message = format!(
            "'{shown}' is not an attribute name: use 1 to {ATTRIBUTE_BYTES_MAX} bytes that do not begin with '$'"
        );
        problems.add(format_args!("{path}.attribute"), message);
    } else if name.contains('\0') {
        problems.add(format_args!("{path}.attribute"), "the name holds the character U+0000, which is not allowed");
    }
}

/// Whether an operator can compare with a value.
fn value(operator: Operator, text: &str) -> Result<(), String> {
    let expect = |is_right: bool, expected: &str| {
        if is_right { Ok(()) } else { Err(format!("'{}' is not {expected}", shown(text))) }
    };
    match operator {
        Operator::Equals | Operator::Contains | Operator::StartsWith | Operator::EndsWith | Operator::Exists => Ok(()),
        Operator::Matches => Pattern::parse(text).map(drop).map_err(|error| error.to_string()),
        Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
            expect(Number::parse(text).is_some(), "a number such as 10 or 0.5")
        }
        Operator::SemverEqual
        | Operator::SemverLess
        | Operator::SemverLessOrEqual
        | Operator::SemverGreater
        | Operator::SemverGreaterOrEqual => expect(Version::parse(text).is_some(), "a version such as 1.2.3"),
        Operator::SemverIn => Range::parse(text).map(drop).map_err(|error| error.to_string()),
        Operator::Before | Operator::After => {
            expect(Moment::parse(text).is_some(), "a time such as 2027-01-31T09:00:00Z or unix milliseconds")
        }
        Operator::InNetwork => Network::parse(text).map(drop).map_err(|error| error.to_string()),
        Operator::InSegment => text.parse::<SegmentKey>().map(drop).map_err(|error| error.to_string()),
    }
}

/// Notes what is wrong with a list of values or keys.
pub(crate) fn check_texts(path: Path<'_>, texts: &[String], problems: &mut Problems) {
    if texts.len() > VALUES_MAX {
        problems.add(path, format!("{} entries; at most {VALUES_MAX} are allowed", texts.len()));
        return;
    }
    for (index, text) in texts.iter().enumerate() {
        if text.len() > VALUE_BYTES_MAX {
            problems.add(
                format_args!("{path}[{index}]"),
                format!("{} bytes; at most {VALUE_BYTES_MAX} are allowed", text.len()),
            );
        } else if text.contains('\0') {
            problems.add(format_args!("{path}[{index}]"), "holds the character U+0000, which is not allowed");
        }
    }
}

/// Notes when the conditions of one flag or segment hold too many patterns in all, and returns whether they do not. To be
/// asked before each is checked, which takes long.
pub(crate) fn check_patterns<'c>(
    path: Path<'_>,
    conditions: impl Iterator<Item = &'c Condition>,
    problems: &mut Problems,
) -> bool {
    let leaves = conditions.flat_map(Condition::leaves).filter(|leaf| leaf.operator == Operator::Matches);
    let patterns: usize = leaves.map(|leaf| leaf.values.len()).sum();
    if patterns > PATTERNS_MAX {
        problems.add(path, format!("{patterns} patterns of matches; at most {PATTERNS_MAX} are allowed in all"));
    }
    patterns <= PATTERNS_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(attribute: &str, operator: Operator, values: &[&str]) -> Condition {
        let values = values.iter().map(ToString::to_string).collect();
        Condition::Leaf(Leaf { attribute: attribute.into(), operator, values, negate: false, ignore_case: false })
    }

    fn problems_of(condition: &Condition) -> Vec<(String, String)> {
        let mut problems = Problems::default();
        condition.check(format_args!("conditions"), &mut problems);
        let found = problems.into_result().err().unwrap_or_default();
        found.into_iter().map(|problem| (problem.field, problem.message)).collect()
    }

    #[test]
    fn problems_say_where_they_are() {
        let deep = (0..9).fold(Condition::default(), |inner, _| Condition::All(vec![inner]));
        let found = problems_of(&deep);
        assert!(found[0].0.starts_with("conditions.all[0].all[0]"), "{found:?}");
        let found = problems_of(&Condition::Any(vec![leaf("$now", Operator::Equals, &[])]));
        let fields: Vec<&str> = found.iter().map(|(field, _)| field.as_str()).collect();
        assert_eq!(fields, ["conditions.any[0].attribute", "conditions.any[0].values"]);
    }

    #[test]
    fn a_value_that_the_operator_cannot_read_is_named() {
        let cases = [
            (Operator::Greater, "1.3.4"),
            (Operator::Less, "Infinity"),
            (Operator::SemverLess, "1.2.3.4"),
            (Operator::SemverIn, "1.x"),
            (Operator::Before, "tomorrow"),
            (Operator::InNetwork, "10.0.0.1/8"),
            (Operator::InNetwork, "localhost"),
            (Operator::Matches, "(a"),
            (Operator::InSegment, "no segment"),
        ];
        for (operator, value) in cases {
            let attribute = if operator == Operator::InSegment { "" } else { "a" };
            let found = problems_of(&Condition::All(vec![leaf(attribute, operator, &[value])]));
            assert_eq!(found.len(), 1, "{operator} {value}: {found:?}");
            assert_eq!(found[0].0, "conditions.all[0].values[0]", "{operator}");
            assert!(found[0].1.contains(value), "{operator} {value}: {}", found[0].1);
        }
    }

    #[test]
    fn every_operator_takes_a_value_it_can_read() {
        for operator in Operator::ALL {
            let (attribute, values): (&str, &[&str]) = match operator {
                Operator::Exists => ("a", &[]),
                Operator::InSegment => ("", &["staff"]),
                Operator::Before | Operator::After => ("$now", &["2027-01-31T09:00:00", "1700000000000"]),
                Operator::InNetwork => ("ip", &["10.0.0.0/8", "::1"]),
                Operator::SemverIn => ("version", &["^1.2", ">=1 <2, <1.5"]),
                _ => ("a", &["1"]),
            };
            assert_eq!(problems_of(&leaf(attribute, operator, values)), [], "{operator}");
        }
    }

    #[test]
    fn case_is_ignored_only_where_texts_are_compared() {
        for operator in Operator::ALL {
            let Condition::Leaf(mut leaf) = leaf("a", operator, &["1"]) else { unreachable!("a leaf was made") };
            leaf.ignore_case = true;
            let found = problems_of(&Condition::Leaf(leaf));
            let is_refused = found.iter().any(|(field, _)| field == "conditions.ignore_case");
            assert_eq!(is_refused, !operator.can_ignore_case(), "{operator}");
        }
    }
}
