//! What a comparison does.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Comparison of an attribute with values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Operator {
    /// Equals any of the values; the attribute's JSON type decides how they are read.
    Equals,
    /// A text that contains any of the values.
    Contains,
    /// A text that starts with any of the values.
    StartsWith,
    /// A text that ends with any of the values.
    EndsWith,
    /// A text in which any of the regular expressions finds something.
    Matches,
    /// A number less than any of the values.
    Less,
    /// A number less than any of the values or equal to it.
    LessOrEqual,
    /// A number greater than any of the values.
    Greater,
    /// A number greater than any of the values or equal to it.
    GreaterOrEqual,
    /// A version of the same precedence as any of the values.
    SemverEqual,
    /// A version before any of the values.
    SemverLess,
    /// A version before any of the values or equal to it.
    SemverLessOrEqual,
    /// A version after any of the values.
    SemverGreater,
    /// A version after any of the values or equal to it.
    SemverGreaterOrEqual,
    /// A version in any of the ranges.
    SemverIn,
    /// A time before any of the values.
    Before,
    /// A time after any of the values.
    After,
    /// An IP address in any of the networks.
    InNetwork,
    /// The context is in any of the segments named by the values; takes no attribute.
    InSegment,
    /// The attribute is present and not null; takes no values.
    Exists,
}

impl Operator {
    /// All operators, in the order people look for them.
    pub const ALL: [Self; 20] = [
        Self::Equals,
        Self::Contains,
        Self::StartsWith,
        Self::EndsWith,
        Self::Matches,
        Self::Less,
        Self::LessOrEqual,
        Self::Greater,
        Self::GreaterOrEqual,
        Self::SemverEqual,
        Self::SemverLess,
        Self::SemverLessOrEqual,
        Self::SemverGreater,
        Self::SemverGreaterOrEqual,
        Self::SemverIn,
        Self::Before,
        Self::After,
        Self::InNetwork,
        Self::InSegment,
        Self::Exists,
    ];

    /// The operator as it is written in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Equals => "equals",
            Self::Contains => "contains",
            Self::StartsWith => "starts_with",
            Self::EndsWith => "ends_with",
            Self::Matches => "matches",
            Self::Less => "less",
            Self::LessOrEqual => "less_or_equal",
            Self::Greater => "greater",
            Self::GreaterOrEqual => "greater_or_equal",
            Self::SemverEqual => "semver_equal",
            Self::SemverLess => "semver_less",
            Self::SemverLessOrEqual => "semver_less_or_equal",
            Self::SemverGreater => "semver_greater",
            Self::SemverGreaterOrEqual => "semver_greater_or_equal",
            Self::SemverIn => "semver_in",
            Self::Before => "before",
            Self::After => "after",
            Self::InNetwork => "in_network",
            Self::InSegment => "in_segment",
            Self::Exists => "exists",
        }
    }

    /// Whether it looks at an attribute; `in_segment` looks at the whole context.
    pub fn takes_attribute(self) -> bool {
        self != Self::InSegment
    }

    /// Whether it compares with values.
    pub fn takes_values(self) -> bool {
        self != Self::Exists
    }

    /// Whether it can ignore upper and lower case.
    pub fn can_ignore_case(self) -> bool {
        matches!(self, Self::Equals | Self::Contains | Self::StartsWith | Self::EndsWith)
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_is_named_as_in_json() {
        for operator in Operator::ALL {
            let json = serde_json::to_string(&operator).expect("JSON");
            assert_eq!(json, format!("\"{operator}\""));
        }
    }
}
