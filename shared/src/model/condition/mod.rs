//! Conditions: a tree of `all` and `any` over comparisons of context attributes.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::model::key::SegmentKey;
use crate::model::problem::{Path, Problems};

mod check;
mod operator;

pub(crate) use check::{check_patterns, check_texts};
pub use operator::Operator;

/// The deepest nesting of `all` and `any`.
pub const CONDITION_DEPTH_MAX: usize = 8;
/// The longest list of values of one condition, and of keys in a target or segment.
pub const VALUES_MAX: usize = 10_000;
/// The longest single value or key in such a list, in bytes.
pub const VALUE_BYTES_MAX: usize = 1_000;
/// The longest attribute name, in bytes.
pub const ATTRIBUTE_BYTES_MAX: usize = 200;
/// The most patterns of `matches` in one flag or segment.
pub const PATTERNS_MAX: usize = 20;
/// The attribute that is the time of the evaluation; only `before` and `after` may look at it.
pub const NOW: &str = "$now";

/// One comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Name of the context attribute, or a dotted path into nested objects; empty for `in_segment`.
    pub attribute: String,
    /// How to compare.
    pub operator: Operator,
    /// Any of these; kept as the text that was typed.
    pub values: Vec<String>,
    /// The exact complement, still false when the attribute is absent or cannot be read by the operator.
    pub negate: bool,
    /// Compares each character's own lower case; only for `equals`, `contains`, `starts_with` and `ends_with`.
    pub ignore_case: bool,
}

/// A tree of `all` and `any` over comparisons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ConditionDocument", into = "ConditionDocument")]
pub enum Condition {
    /// Every one holds; an empty list is everyone.
    All(Vec<Condition>),
    /// At least one holds; an empty list is nobody.
    Any(Vec<Condition>),
    /// A comparison.
    Leaf(Leaf),
}

impl Default for Condition {
    fn default() -> Self {
        Self::All(Vec::new())
    }
}

impl Condition {
    /// True for a group without members, which is everyone.
    pub fn is_everyone(&self) -> bool {
        matches!(self, Self::All(members) if members.is_empty())
    }

    /// Every comparison of the tree, from left to right.
    pub fn leaves(&self) -> Vec<&Leaf> {
        let mut found = Vec::new();
        self.collect_leaves(&mut found);
        found
    }

    fn collect_leaves<'c>(&'c self, found: &mut Vec<&'c Leaf>) {
        match self {
            Self::All(members) | Self::Any(members) => members.iter().for_each(|c| c.collect_leaves(found)),
            Self::Leaf(leaf) => found.push(leaf),
        }
    }

    /// Every comparison with its place, from left to right; `path` is where the tree stands.
    pub fn located_leaves(&self, path: &str) -> Vec<(String, &Leaf)> {
        let mut found = Vec::new();
        self.collect_located(path, &mut found);
        found
    }

    fn collect_located<'c>(&'c self, path: &str, found: &mut Vec<(String, &'c Leaf)>) {
        let (name, members) = match self {
            Self::Leaf(leaf) => return found.push((path.to_owned(), leaf)),
            Self::All(members) => ("all", members),
            Self::Any(members) => ("any", members),
        };
        for (index, member) in members.iter().enumerate() {
            member.collect_located(&format!("{path}.{name}[{index}]"), found);
        }
    }

    /// Adds the keys of segments that the tree uses.
    pub fn collect_segments(&self, found: &mut Vec<SegmentKey>) {
        let uses = self.leaves().into_iter().filter(|leaf| leaf.operator == Operator::InSegment);
        found.extend(uses.flat_map(|leaf| &leaf.values).filter_map(|value| value.parse().ok()));
    }

    /// Notes what is wrong with the tree; `path` is where it stands.
    pub fn check(&self, path: Path<'_>, problems: &mut Problems) {
        check::tree(self, path, problems);
    }
}

/// The JSON of a condition: exactly one of `all`, `any` or a comparison.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Condition, no_recursion))]
pub struct ConditionDocument {
    /// Every one holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    all: Option<Vec<Condition>>,
    /// At least one holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    any: Option<Vec<Condition>>,
    /// Name or dotted path of an attribute; absent for `in_segment`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attribute: Option<String>,
    /// How to compare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    operator: Option<Operator>,
    /// Any of these, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    values: Option<Vec<String>>,
    /// The exact complement.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    negate: bool,
    /// Compares each character's own lower case.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ignore_case: bool,
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for Condition {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        ConditionDocument::schema()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for Condition {}

/// Why a JSON object is not a condition.
#[derive(Debug, PartialEq, Eq, Error)]
#[error(
    "a condition is exactly one of {{\"all\": […]}}, {{\"any\": […]}} or {{\"attribute\", \"operator\", \"values\"}}"
)]
pub struct ConditionError;

impl TryFrom<ConditionDocument> for Condition {
    type Error = ConditionError;

    fn try_from(document: ConditionDocument) -> Result<Self, ConditionError> {
        let ConditionDocument { all, any, attribute, operator, values, negate, ignore_case } = document;
        let is_bare = attribute.is_none() && operator.is_none() && values.is_none() && !negate && !ignore_case;
        match (all, any, operator) {
            (Some(members), None, None) if is_bare => Ok(Self::All(members)),
            (None, Some(members), None) if is_bare => Ok(Self::Any(members)),
            (None, None, Some(operator)) => {
                let (attribute, values) = (attribute.unwrap_or_default(), values.unwrap_or_default());
                Ok(Self::Leaf(Leaf { attribute, operator, values, negate, ignore_case }))
            }
            _ => Err(ConditionError),
        }
    }
}

impl From<Condition> for ConditionDocument {
    fn from(condition: Condition) -> Self {
        match condition {
            Condition::All(all) => Self { all: Some(all), ..Self::default() },
            Condition::Any(any) => Self { any: Some(any), ..Self::default() },
            Condition::Leaf(leaf) => Self {
                attribute: Some(leaf.attribute).filter(|name| !name.is_empty()),
                operator: Some(leaf.operator),
                values: Some(leaf.values).filter(|values| !values.is_empty()),
                negate: leaf.negate,
                ignore_case: leaf.ignore_case,
                ..Self::default()
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_one_of_three_shapes_and_nothing_more() {
        let good = r#"{"all":[{"any":[{"attribute":"plan","operator":"equals","values":["pro"],"ignore_case":true}]},{"operator":"in_segment","values":["staff"],"negate":true}]}"#;
        let condition: Condition = serde_json::from_str(good).expect("a condition");
        assert_eq!(serde_json::to_string(&condition).expect("JSON"), good);
        for bad in [
            r#"{}"#,
            r#"{"all":[],"any":[]}"#,
            r#"{"all":[],"negate":true}"#,
            r#"{"any":[],"ignore_case":true}"#,
            r#"{"all":[],"attribute":"plan","operator":"equals","values":["pro"]}"#,
            r#"{"attribute":"plan","operator":"resembles","values":["pro"]}"#,
            r#"{"attribute":"plan","operator":"equals","values":["pro"],"case":1}"#,
        ] {
            assert!(serde_json::from_str::<Condition>(bad).is_err(), "{bad}");
        }
    }
}
