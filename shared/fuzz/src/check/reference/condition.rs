//! Whether conditions hold.

use std::collections::HashMap;

use shared::compare::moment::Moment;
use shared::compare::network::{Network, Networks, address};
use shared::compare::number::Number;
use shared::compare::pattern::TEXT_BYTES_MAX;
use shared::compare::semver::{Range, Version};
use shared::compare::text::fold;
use shared::evaluation::Value;
use shared::model::condition::{Condition, Leaf, NOW, Operator};

use super::{Question, Reference, attribute, text_of_key};

impl<'d> Reference<'d> {
    pub(super) fn holds(
        &self,
        condition: &'d Condition,
        question: &Question<'_>,
        members: &mut HashMap<&'d str, bool>,
    ) -> bool {
        match condition {
            Condition::All(list) => list.iter().all(|member| self.holds(member, question, members)),
            Condition::Any(list) => list.iter().any(|member| self.holds(member, question, members)),
            Condition::Leaf(leaf) => {
                let passes = self.passes(leaf, question, members);
                passes.is_some_and(|passes| passes != leaf.negate)
            }
        }
    }

    /// `None` when the operator cannot read the attribute.
    fn passes(&self, leaf: &'d Leaf, question: &Question<'_>, members: &mut HashMap<&'d str, bool>) -> Option<bool> {
        if leaf.operator == Operator::InSegment {
            return Some(leaf.values.iter().any(|key| self.is_in(key, question, members)));
        }
        if leaf.attribute == NOW {
            let now = Moment::from_unix_ms(question.now_ms);
            return Some(leaf.values.iter().any(|limit| is_on_side(leaf.operator, now.cmp(&moment(limit)))));
        }
        let value = attribute(question.context, &leaf.attribute);
        if leaf.operator == Operator::Exists {
            return Some(value.is_some_and(|value| *value != Value::Null));
        }
        match value? {
            Value::Array(items) if items.is_empty() => Some(false),
            Value::Array(items) => {
                let mut room = TEXT_BYTES_MAX;
                let mut fits = |item: &Value<'_>| match (leaf.operator, item) {
                    (Operator::Matches, Value::Text(text)) => {
                        room.checked_sub(text.len()).inspect(|left| room = *left).is_some()
                    }
                    _ => true,
                };
                let fitting = items.iter().filter(|item| fits(item));
                let read: Vec<bool> = fitting.filter_map(|item| self.passes_one(leaf, item)).collect();
                (!read.is_empty()).then(|| read.contains(&true))
            }
            one => self.passes_one(leaf, one),
        }
    }

    fn passes_one(&self, leaf: &Leaf, value: &Value<'_>) -> Option<bool> {
        let Leaf { operator, ignore_case, values, .. } = leaf;
        let prepared = |text: &str| if *ignore_case { fold(text) } else { text.to_owned() };
        let any = |test: &dyn Fn(&str) -> bool| Some(values.iter().any(|limit| test(limit)));
        match (operator, value) {
            (Operator::Equals, Value::Text(text)) => any(&|limit| prepared(text) == prepared(limit)),
            (Operator::Equals, Value::Number(number)) => any(&|limit| Number::parse(limit) == Some(*number)),
            (Operator::Equals, Value::Boolean(boolean)) => any(&|limit| limit == boolean.to_string()),
            (Operator::Contains, Value::Text(text)) => any(&|limit| prepared(text).contains(&prepared(limit))),
            (Operator::StartsWith, Value::Text(text)) => any(&|limit| prepared(text).starts_with(&prepared(limit))),
            (Operator::EndsWith, Value::Text(text)) => any(&|limit| prepared(text).ends_with(&prepared(limit))),
            (Operator::Matches, Value::Text(text)) if text.len() <= TEXT_BYTES_MAX => {
                any(&|limit| self.patterns[limit].found_in(text))
            }
            (
                Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual,
                Value::Number(_) | Value::Text(_),
            ) => {
                let number = match value {
                    Value::Number(number) => *number,
                    Value::Text(text) => Number::parse(text)?,
                    _ => return None,
                };
                any(&|limit| is_on_side(*operator, number.cmp(&Number::parse(limit).expect("a number"))))
            }
            (Operator::SemverIn, Value::Text(text)) => {
                let version = Version::parse(text)?;
                any(&|limit| Range::parse(limit).expect("a range").contains(version))
            }
            (
                Operator::SemverEqual
                | Operator::SemverLess
                | Operator::SemverLessOrEqual
                | Operator::SemverGreater
                | Operator::SemverGreaterOrEqual,
                Value::Text(text),
            ) => {
                let version = Version::parse(text)?;
                any(&|limit| is_on_side(*operator, version.cmp(&Version::parse(limit).expect("a version"))))
            }
            (Operator::Before | Operator::After, Value::Number(Number::Integer(ms))) => {
                let at = Moment::from_unix_ms(i64::try_from(*ms).ok()?);
                any(&|limit| is_on_side(*operator, at.cmp(&moment(limit))))
            }
            (Operator::Before | Operator::After, Value::Text(text)) => {
                let at = Moment::parse(text)?;
                any(&|limit| is_on_side(*operator, at.cmp(&moment(limit))))
            }
            (Operator::InNetwork, Value::Text(text)) => {
                let address = address(text)?;
                any(&|limit| Networks::from_iter([Network::parse(limit).expect("a network")]).contains(address))
            }
            _ => None,
        }
    }

    fn is_in(&self, key: &'d str, question: &Question<'_>, members: &mut HashMap<&'d str, bool>) -> bool {
        if let Some(is_in) = members.get(key) {
            return *is_in;
        }
        let segment = self.segments[key];
        let named = text_of_key(question.context.targeting_key());
        let is_named = |keys: &[String]| named.as_ref().is_some_and(|named| keys.contains(named));
        let has_conditions = !segment.conditions.leaves().is_empty();
        let is_in = !is_named(&segment.excluded)
            && (is_named(&segment.included) || (has_conditions && self.holds(&segment.conditions, question, members)));
        members.insert(key, is_in);
        is_in
    }
}

fn moment(text: &str) -> Moment {
    Moment::parse(text).expect("a time")
}

fn is_on_side(operator: Operator, ordering: std::cmp::Ordering) -> bool {
    match operator {
        Operator::Less | Operator::SemverLess | Operator::Before => ordering.is_lt(),
        Operator::LessOrEqual | Operator::SemverLessOrEqual => ordering.is_le(),
        Operator::Greater | Operator::SemverGreater | Operator::After => ordering.is_gt(),
        Operator::GreaterOrEqual | Operator::SemverGreaterOrEqual => ordering.is_ge(),
        _ => ordering.is_eq(),
    }
}
