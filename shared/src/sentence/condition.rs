//! Conditions in English.

use crate::model::condition::{Condition, Leaf, NOW, Operator};
use crate::sentence::shown::{any_of, bounded, plural, value};

/// So many comparisons are told, the others are counted.
const LEAVES_MAX: usize = 20;

/// A rule's condition: `plan is pro or team, and country is not DE`; empty for everyone.
pub fn condition(condition: &Condition) -> String {
    bounded(tree(condition, &mut LEAVES_MAX.clone()))
}

/// How an operator reads between an attribute and its values: `is`, `does not contain`, `is at least version`.
pub fn comparison(operator: Operator, negate: bool) -> &'static str {
    let (positive, negative) = match operator {
        Operator::Equals => ("is", "is not"),
        Operator::Contains => ("contains", "does not contain"),
        Operator::StartsWith => ("starts with", "does not start with"),
        Operator::EndsWith => ("ends with", "does not end with"),
        Operator::Matches => ("matches", "does not match"),
        Operator::Less => ("is less than", "is not less than"),
        Operator::LessOrEqual => ("is at most", "is not at most"),
        Operator::Greater => ("is greater than", "is not greater than"),
        Operator::GreaterOrEqual => ("is at least", "is not at least"),
        Operator::SemverEqual => ("is version", "is not version"),
        Operator::SemverLess => ("is before version", "is not before version"),
        Operator::SemverLessOrEqual => ("is at most version", "is not at most version"),
        Operator::SemverGreater => ("is after version", "is not after version"),
        Operator::SemverGreaterOrEqual => ("is at least version", "is not at least version"),
        Operator::SemverIn => ("is in version range", "is not in version range"),
        Operator::Before => ("is before", "is not before"),
        Operator::After => ("is after", "is not after"),
        Operator::InNetwork => ("is in network", "is not in network"),
        Operator::InSegment => ("in segment", "not in segment"),
        Operator::Exists => ("is present", "is absent"),
    };
    if negate { negative } else { positive }
}

/// What a comparison looks at: `plan`, `the time`, `the segments`.
pub(super) fn subject(leaf: &Leaf) -> String {
    match leaf.operator {
        Operator::InSegment => "the segments".into(),
        _ if leaf.attribute == NOW => "the time".into(),
        _ => value(&leaf.attribute),
    }
}

/// `left` is how many comparisons may still be told.
fn tree(condition: &Condition, left: &mut usize) -> String {
    let (members, joint, nothing) = match condition {
        // Without members, "all" asks nothing: it is left out beside others, and is everyone among alternatives.
        Condition::All(members) => (members, ", and ", ""),
        Condition::Any(members) if !members.is_empty() => (members, ", or ", "everyone"),
        Condition::Any(_) => {
            *left = left.saturating_sub(1);
            return "nobody".into();
        }
        Condition::Leaf(leaf) => {
            *left = left.saturating_sub(1);
            return self::leaf(leaf);
        }
    };
    let mut parts = Vec::new();
    for (at, member) in members.iter().enumerate() {
        if *left == 0 {
            let rest: usize = members[at..].iter().map(count).sum();
            parts.extend(Some(plural(rest, "more condition")).filter(|_| rest > 0));
            break;
        }
        let text = tree(member, left);
        match member {
            _ if text.is_empty() => parts.extend(Some(nothing.to_owned()).filter(|nothing| !nothing.is_empty())),
            Condition::All(inner) | Condition::Any(inner) if inner.len() > 1 => parts.push(format!("({text})")),
            _ => parts.push(text),
        }
    }
    parts.join(joint)
}

fn count(condition: &Condition) -> usize {
    match condition {
        Condition::Leaf(_) => 1,
        Condition::Any(members) if members.is_empty() => 1,
        Condition::All(members) | Condition::Any(members) => members.iter().map(count).sum(),
    }
}

fn leaf(leaf: &Leaf) -> String {
    let comparison = comparison(leaf.operator, leaf.negate);
    match leaf.operator {
        Operator::InSegment => format!("{comparison} {}", any_of(&leaf.values)),
        Operator::Exists => format!("{} {comparison}", subject(leaf)),
        _ => {
            let case = if leaf.ignore_case { " in upper or lower case" } else { "" };
            format!("{} {comparison} {}{case}", subject(leaf), any_of(&leaf.values))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn said(document: &Value) -> String {
        condition(&serde_json::from_value(document.clone()).expect("a condition"))
    }

    #[test]
    fn every_operator_reads_as_english_both_ways() {
        let cases = [
            (Operator::Equals, "a is 1 or 2", "a is not 1 or 2"),
            (Operator::Contains, "a contains 1 or 2", "a does not contain 1 or 2"),
            (Operator::StartsWith, "a starts with 1 or 2", "a does not start with 1 or 2"),
            (Operator::EndsWith, "a ends with 1 or 2", "a does not end with 1 or 2"),
            (Operator::Matches, "a matches 1 or 2", "a does not match 1 or 2"),
            (Operator::Less, "a is less than 1 or 2", "a is not less than 1 or 2"),
            (Operator::LessOrEqual, "a is at most 1 or 2", "a is not at most 1 or 2"),
            (Operator::Greater, "a is greater than 1 or 2", "a is not greater than 1 or 2"),
            (Operator::GreaterOrEqual, "a is at least 1 or 2", "a is not at least 1 or 2"),
            (Operator::SemverEqual, "a is version 1 or 2", "a is not version 1 or 2"),
            (Operator::SemverLess, "a is before version 1 or 2", "a is not before version 1 or 2"),
            (Operator::SemverLessOrEqual, "a is at most version 1 or 2", "a is not at most version 1 or 2"),
            (Operator::SemverGreater, "a is after version 1 or 2", "a is not after version 1 or 2"),
            (Operator::SemverGreaterOrEqual, "a is at least version 1 or 2", "a is not at least version 1 or 2"),
            (Operator::SemverIn, "a is in version range 1 or 2", "a is not in version range 1 or 2"),
            (Operator::Before, "a is before 1 or 2", "a is not before 1 or 2"),
            (Operator::After, "a is after 1 or 2", "a is not after 1 or 2"),
            (Operator::InNetwork, "a is in network 1 or 2", "a is not in network 1 or 2"),
            (Operator::InSegment, "in segment 1 or 2", "not in segment 1 or 2"),
            (Operator::Exists, "a is present", "a is absent"),
        ];
        assert_eq!(cases.map(|(operator, ..)| operator), Operator::ALL);
        for (operator, plain, negated) in cases {
            let leaf = |negate| json!({"attribute": "a", "operator": operator, "values": ["1", "2"], "negate": negate});
            assert_eq!(said(&leaf(false)), plain);
            assert_eq!(said(&leaf(true)), negated);
        }
    }

    #[test]
    fn groups_read_as_english() {
        let (pro, staff) = (
            json!({"attribute": "plan", "operator": "equals", "values": ["pro"], "ignore_case": true}),
            json!({"operator": "in_segment", "values": ["staff"]}),
        );
        let until = json!({"attribute": "$now", "operator": "before", "values": ["2027-01-31T09:00:00Z"]});
        let cases = [
            (json!({"all": []}), ""),
            (json!({"all": [{"all": []}]}), ""),
            (json!({"any": []}), "nobody"),
            (json!({"any": [{"all": []}, pro]}), "everyone, or plan is pro in upper or lower case"),
            (json!({"all": [pro, {"all": []}]}), "plan is pro in upper or lower case"),
            (json!({"all": [staff, {"any": []}]}), "in segment staff, and nobody"),
            (
                json!({"all": [until, {"any": [pro, staff]}]}),
                "the time is before 2027-01-31T09:00:00Z, and (plan is pro in upper or lower case, or in segment staff)",
            ),
            (
                json!({"any": [{"all": [staff, {"any": [staff, until]}]}, {"any": [staff]}]}),
                "(in segment staff, and (in segment staff, or the time is before 2027-01-31T09:00:00Z)), \
                 or in segment staff",
            ),
        ];
        for (document, text) in cases {
            assert_eq!(said(&document), text, "{document}");
        }
    }

    #[test]
    fn what_was_typed_cannot_be_mistaken_for_the_sentence() {
        let cases = [
            (json!({"attribute": "", "operator": "exists"}), "“” is present"),
            (json!({"attribute": "plan", "operator": "equals", "values": [""]}), "plan is “”"),
            (json!({"attribute": "plan", "operator": "equals"}), "plan is nothing"),
            (json!({"attribute": "a\nb", "operator": "equals", "values": [" x", "y,z"]}), "a␊b is “ x” or “y,z”"),
        ];
        for (document, text) in cases {
            assert_eq!(said(&document), text, "{document}");
        }
    }

    #[test]
    fn conditions_without_end_are_counted() {
        let leaf = json!({"attribute": "a", "operator": "exists"});
        let pairs: Vec<Value> = (0..50).map(|_| json!({"any": [leaf, leaf]})).collect();
        let text = said(&json!({"all": pairs}));
        assert_eq!(text.matches("a is present").count(), LEAVES_MAX);
        assert!(text.ends_with("(a is present, or a is present), and 80 more conditions"), "{text}");
    }
}
