//! Rules and their conditions: who gets what.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::model::id::RuleId;
use crate::model::key::{SegmentKey, VariantKey};
use crate::model::problem::Problems;
use crate::model::split::Split;

/// The deepest nesting of `all` and `any`.
pub const CONDITION_DEPTH_MAX: usize = 8;
/// The longest list of values of one condition, and of keys in a target or segment.
pub const VALUES_MAX: usize = 10_000;
/// The longest single value or key in such a list, in bytes.
pub const VALUE_BYTES_MAX: usize = 1_000;
/// The longest attribute name, in bytes.
pub const ATTRIBUTE_BYTES_MAX: usize = 200;

/// Comparison of an attribute with values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Operator {
    /// The attribute equals any of the values; its JSON type decides how they are read.
    Equals,
    /// The attribute is present and not null; takes no values.
    Exists,
    /// The context is in any of the segments named by the values; takes no attribute.
    InSegment,
}

/// One comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Leaf {
    /// Name of the context attribute, or a dotted path into nested objects; empty for `in_segment`.
    pub attribute: String,
    /// How to compare.
    pub operator: Operator,
    /// Any of these; kept as the text that was typed.
    pub values: Vec<String>,
    /// The exact complement, still false when the attribute is absent.
    pub negate: bool,
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

/// What to answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Serve {
    /// One variant for everybody.
    Variant(VariantKey),
    /// Shares of users.
    Split(Split),
}

/// A rule of a flag config; the first one that applies answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Rule {
    /// Stays the same while the rule is edited, so that its counts go on.
    pub id: RuleId,
    /// For people; at most 100 characters.
    #[serde(default)]
    pub name: String,
    /// Skipped while true.
    #[serde(default)]
    pub paused: bool,
    /// Who it is for; without conditions it is everyone.
    #[serde(default)]
    pub conditions: Condition,
    /// What they get.
    pub serve: Serve,
}

/// The JSON of a condition: exactly one of `all`, `any` or a comparison.
#[derive(Serialize, Deserialize)]
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
        match document {
            ConditionDocument {
                all: Some(all),
                any: None,
                attribute: None,
                operator: None,
                values: None,
                negate: false,
            } => Ok(Self::All(all)),
            ConditionDocument {
                all: None,
                any: Some(any),
                attribute: None,
                operator: None,
                values: None,
                negate: false,
            } => Ok(Self::Any(any)),
            ConditionDocument { all: None, any: None, attribute, operator: Some(operator), values, negate } => {
                let attribute = attribute.unwrap_or_default();
                Ok(Self::Leaf(Leaf { attribute, operator, values: values.unwrap_or_default(), negate }))
            }
            _ => Err(ConditionError),
        }
    }
}

impl From<Condition> for ConditionDocument {
    fn from(condition: Condition) -> Self {
        let empty = Self { all: None, any: None, attribute: None, operator: None, values: None, negate: false };
        match condition {
            Condition::All(all) => Self { all: Some(all), ..empty },
            Condition::Any(any) => Self { any: Some(any), ..empty },
            Condition::Leaf(leaf) => Self {
                attribute: Some(leaf.attribute).filter(|name| !name.is_empty()),
                operator: Some(leaf.operator),
                values: Some(leaf.values).filter(|values| !values.is_empty()),
                negate: leaf.negate,
                ..empty
            },
        }
    }
}

impl Condition {
    /// True for a group without members, which is everyone.
    pub fn is_everyone(&self) -> bool {
        matches!(self, Self::All(members) if members.is_empty())
    }

    /// Adds the keys of segments that the tree uses.
    pub fn collect_segments(&self, found: &mut Vec<SegmentKey>) {
        match self {
            Self::All(members) | Self::Any(members) => members.iter().for_each(|c| c.collect_segments(found)),
            Self::Leaf(leaf) if leaf.operator == Operator::InSegment => {
                found.extend(leaf.values.iter().filter_map(|value| value.parse().ok()));
            }
            Self::Leaf(_) => {}
        }
    }

    /// Notes what is wrong with the tree; `path` is where it stands.
    pub fn check(&self, path: &str, problems: &mut Problems) {
        self.check_at(path, 1, problems);
    }

    fn check_at(&self, path: &str, depth: usize, problems: &mut Problems) {
        let (name, members) = match self {
            Self::Leaf(leaf) => return leaf.check(path, problems),
            Self::All(members) => ("all", members),
            Self::Any(members) => ("any", members),
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
            member.check_at(&format!("{path}.{name}[{index}]"), depth + 1, problems);
        }
    }
}

impl Leaf {
    fn check(&self, path: &str, problems: &mut Problems) {
        let name = self.attribute.as_str();
        let takes_attribute = self.operator != Operator::InSegment;
        if takes_attribute && (name.is_empty() || name.starts_with('$') || name.len() > ATTRIBUTE_BYTES_MAX) {
            let message = format!(
                "'{name}' is not an attribute name: use 1 to {ATTRIBUTE_BYTES_MAX} bytes that do not begin with '$'"
            );
            problems.add(format!("{path}.attribute"), message);
        }
        if !takes_attribute && !name.is_empty() {
            problems.add(format!("{path}.attribute"), "in_segment looks at the whole context; remove the attribute");
        }
        if name.contains('\0') {
            problems.add(format!("{path}.attribute"), "the name holds the character U+0000, which is not allowed");
        }
        match self.operator {
            Operator::Exists if !self.values.is_empty() => {
                problems.add(format!("{path}.values"), "exists takes no values; remove them");
            }
            Operator::Equals | Operator::InSegment if self.values.is_empty() => {
                problems.add(format!("{path}.values"), "at least one value is needed");
            }
            _ => check_texts(&format!("{path}.values"), &self.values, problems),
        }
        if self.operator == Operator::InSegment {
            for (index, value) in self.values.iter().enumerate() {
                if let Err(error) = value.parse::<SegmentKey>() {
                    problems.add(format!("{path}.values[{index}]"), error.to_string());
                }
            }
        }
    }
}

/// Notes what is wrong with a list of values or keys.
pub(crate) fn check_texts(path: &str, texts: &[String], problems: &mut Problems) {
    if texts.len() > VALUES_MAX {
        problems.add(path, format!("{} entries; at most {VALUES_MAX} are allowed", texts.len()));
        return;
    }
    for (index, text) in texts.iter().enumerate() {
        if text.len() > VALUE_BYTES_MAX {
            problems.add(
                format!("{path}[{index}]"),
                format!("{} bytes; at most {VALUE_BYTES_MAX} are allowed", text.len()),
            );
        } else if text.contains('\0') {
            problems.add(format!("{path}[{index}]"), "holds the character U+0000, which is not allowed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_one_of_three_shapes_and_nothing_more() {
        let good = r#"{"all":[{"any":[{"attribute":"plan","operator":"equals","values":["pro"]}]},{"operator":"in_segment","values":["staff"],"negate":true}]}"#;
        let condition: Condition = serde_json::from_str(good).expect("a condition");
        assert_eq!(serde_json::to_string(&condition).expect("JSON"), good);
        for bad in [
            r#"{}"#,
            r#"{"all":[],"any":[]}"#,
            r#"{"all":[],"negate":true}"#,
            r#"{"attribute":"plan","operator":"resembles","values":["pro"]}"#,
            r#"{"attribute":"plan","operator":"equals","values":["pro"],"case":1}"#,
        ] {
            assert!(serde_json::from_str::<Condition>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn problems_say_where_they_are() {
        let deep = (0..9).fold(Condition::default(), |inner, _| Condition::All(vec![inner]));
        let leaf = Condition::Leaf(Leaf {
            attribute: "$now".into(),
            operator: Operator::Equals,
            values: vec![],
            negate: false,
        });
        let mut problems = Problems::default();
        deep.check("rules[0].conditions", &mut problems);
        Condition::Any(vec![leaf]).check("conditions", &mut problems);
        let found = problems.into_result().expect_err("three problems");
        let fields: Vec<&str> = found.iter().map(|p| p.field.as_str()).collect();
        assert_eq!(fields[1..], ["conditions.any[0].attribute", "conditions.any[0].values"]);
        assert!(fields[0].starts_with("rules[0].conditions.all[0].all[0]"), "{fields:?}");
    }
}
