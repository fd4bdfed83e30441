//! Compiled conditions: the tree walked, lists hashed, paths split.

use std::collections::HashSet;
use std::sync::Arc;

use crate::evaluation::bucketing::BucketingKey;
use crate::evaluation::compile::Segment;
use crate::evaluation::context::{Context, Number, Value};
use crate::model::flag::SEGMENTS_MAX;
use crate::model::variant::json_number;

/// Segments already decided in this evaluation, so that each is walked at most once.
pub(super) struct Memo([Option<bool>; SEGMENTS_MAX]);

impl Memo {
    pub(super) fn new() -> Self {
        Self([None; SEGMENTS_MAX])
    }
}

#[derive(Debug)]
pub(super) enum Condition {
    All(Box<[Condition]>),
    Any(Box<[Condition]>),
    Equals {
        attribute: Attribute,
        values: Values,
        negate: bool,
    },
    Exists {
        attribute: Attribute,
        negate: bool,
    },
    /// Positions in the flag's list of segments.
    InSegment {
        segments: Box<[u8]>,
        negate: bool,
    },
}

impl Condition {
    pub(super) fn holds(&self, context: &Context<'_>, segments: &[Arc<Segment>], memo: &mut Memo) -> bool {
        match self {
            Self::All(members) => members.iter().all(|c| c.holds(context, segments, memo)),
            Self::Any(members) => members.iter().any(|c| c.holds(context, segments, memo)),
            Self::Equals { attribute, values, negate } => {
                attribute.of(context).and_then(|value| values.contain(value)).is_some_and(|equal| equal != *negate)
            }
            Self::Exists { attribute, negate } => {
                attribute.of(context).is_some_and(|value| *value != Value::Null) != *negate
            }
            Self::InSegment { segments: named, negate } => {
                let is_in = named.iter().any(|&at| {
                    let at = usize::from(at);
                    *memo.0[at].get_or_insert_with(|| segments[at].contains(context))
                });
                is_in != *negate
            }
        }
    }
}

impl Segment {
    /// Whether the context is in the segment: excluded keys first, then included keys, then conditions.
    pub fn contains(&self, context: &Context<'_>) -> bool {
        if let Some(key) = BucketingKey::of(context.targeting_key()) {
            if self.excluded.contains(key.as_str()) {
                return false;
            }
            if self.included.contains(key.as_str()) {
                return true;
            }
        }
        // Segments inside segments are refused at save, so there is nothing to look up or remember here.
        self.conditions.as_ref().is_some_and(|c| c.holds(context, &[], &mut Memo::new()))
    }
}

/// An attribute's name: the whole literal key, or else a dotted path.
#[derive(Debug)]
pub(super) struct Attribute {
    literal: Box<str>,
    path: Box<[Box<str>]>,
}

impl Attribute {
    pub(super) fn new(name: &str) -> Self {
        let path = if name.contains('.') { name.split('.').map(Box::from).collect() } else { Box::default() };
        Self { literal: name.into(), path }
    }

    pub(super) fn of<'c, 'a>(&self, context: &'c Context<'a>) -> Option<&'c Value<'a>> {
        if let Some(value) = context.get(&self.literal) {
            return Some(value);
        }
        let (first, rest) = self.path.split_first()?;
        rest.iter().try_fold(context.get(first)?, |value, name| match value {
            Value::Object(fields) => fields.get(name),
            _ => None,
        })
    }
}

/// The values of `equals`, each readable as text, as a number, or as a boolean.
#[derive(Debug)]
pub(super) struct Values {
    texts: HashSet<Box<str>>,
    numbers: HashSet<Number>,
    has_true: bool,
    has_false: bool,
}

impl Values {
    pub(super) fn new(texts: &[String]) -> Self {
        Self {
            texts: texts.iter().map(|text| text.as_str().into()).collect(),
            numbers: texts.iter().filter_map(|text| number(text)).collect(),
            has_true: texts.iter().any(|text| text == "true"),
            has_false: texts.iter().any(|text| text == "false"),
        }
    }

    /// Whether the value, or any element of it, is among these; `None` when it cannot be compared.
    fn contain(&self, value: &Value<'_>) -> Option<bool> {
        match value {
            Value::Text(text) => Some(self.texts.contains(text.as_ref())),
            Value::Number(number) => Some(self.numbers.contains(number)),
            Value::Boolean(true) => Some(self.has_true),
            Value::Boolean(false) => Some(self.has_false),
            Value::Array(items) if items.is_empty() => Some(false),
            Value::Array(items) => items.iter().filter_map(|item| self.contain(item)).reduce(|a, b| a | b),
            Value::Null | Value::Object(_) => None,
        }
    }
}

fn number(text: &str) -> Option<Number> {
    let number = json_number(text)?;
    let integer = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    integer.map(Number::Integer).or_else(|| number.as_f64().map(Number::from))
}
