//! Context attributes that people registered, so that rules name them alike.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::compare::shown;
use crate::model::changeset::UnknownWord;
use crate::model::condition::{ATTRIBUTE_BYTES_MAX, VALUE_BYTES_MAX};
use crate::model::flag::DESCRIPTION_CHARS_MAX;
use crate::model::problem::{FieldProblem, Problems};

/// The most attributes that a project registers.
pub const ATTRIBUTES_MAX: usize = 500;
/// The most suggested values of an attribute.
pub const SUGGESTIONS_MAX: usize = 50;

/// What the values of an attribute are. It suggests operators, and refuses none: what applications send decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum AttributeType {
    /// Text.
    Text,
    /// A number, or text that is one.
    Number,
    /// True or false.
    Boolean,
    /// Several texts or numbers; any of them may match.
    List,
    /// A version, as `1.4.2`.
    Semver,
    /// A moment, as RFC 3339 or in unix milliseconds.
    Time,
    /// An IP address.
    Network,
}

impl AttributeType {
    const ALL: [(Self, &'static str); 7] = [
        (Self::Text, "text"),
        (Self::Number, "number"),
        (Self::Boolean, "boolean"),
        (Self::List, "list"),
        (Self::Semver, "semver"),
        (Self::Time, "time"),
        (Self::Network, "network"),
    ];

    /// The type as text.
    pub fn as_str(self) -> &'static str {
        Self::ALL.into_iter().find(|(known, _)| *known == self).map_or("text", |(_, text)| text)
    }
}

impl fmt::Display for AttributeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for AttributeType {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|(_, known)| *known == text).map(|(known, _)| known);
        found.ok_or_else(|| UnknownWord::new("the type of an attribute", text))
    }
}

/// An attribute as people register it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Attribute {
    /// As applications send it, or a dotted path into nested objects; 1 to 200 bytes, not beginning with `$`.
    pub name: String,
    /// What its values are.
    #[serde(rename = "type")]
    pub value_type: AttributeType,
    /// Values that forms offer; at most 50 of at most 1,000 bytes.
    #[serde(default)]
    pub suggestions: Vec<String>,
    /// For people; at most 2,000 characters.
    #[serde(default)]
    pub description: String,
}

impl Attribute {
    /// What is wrong with it, each problem with its place.
    pub fn validate(&self) -> Result<(), Vec<FieldProblem>> {
        let mut problems = Problems::default();
        let is_named = !self.name.is_empty() && self.name.len() <= ATTRIBUTE_BYTES_MAX;
        if !is_named || self.name.starts_with('$') || self.name.contains('\0') {
            let message = format!(
                "'{}': a name has 1 to {ATTRIBUTE_BYTES_MAX} bytes, does not begin with '$', and holds no U+0000",
                shown(&self.name)
            );
            problems.add("name", message);
        }
        if self.suggestions.len() > SUGGESTIONS_MAX {
            let message = format!("{} values; at most {SUGGESTIONS_MAX} are suggested", self.suggestions.len());
            problems.add("suggestions", message);
        }
        for (at, value) in self.suggestions.iter().enumerate() {
            if value.is_empty() || value.len() > VALUE_BYTES_MAX || value.contains('\0') {
                let message = format!("'{}': a value has 1 to {VALUE_BYTES_MAX} bytes and no U+0000", shown(value));
                problems.add(format_args!("suggestions[{at}]"), message);
            } else if self.suggestions[..at.min(SUGGESTIONS_MAX)].contains(value) {
                problems.add(format_args!("suggestions[{at}]"), format!("'{}' is there twice", shown(value)));
            }
        }
        if self.description.chars().count() > DESCRIPTION_CHARS_MAX || self.description.contains('\0') {
            let message = format!("a description has at most {DESCRIPTION_CHARS_MAX} characters and no U+0000");
            problems.add("description", message);
        }
        problems.into_result()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_survive_a_round_trip_and_read_as_in_json() {
        for (value_type, text) in AttributeType::ALL {
            assert_eq!((value_type.as_str(), text.parse()), (text, Ok(value_type)));
            assert_eq!(serde_json::to_value(value_type).expect("JSON"), text);
        }
        assert!("date".parse::<AttributeType>().is_err());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let good = Attribute {
            name: "user.plan".into(),
            value_type: AttributeType::Text,
            suggestions: vec!["pro".into(), "free".into()],
            description: String::new(),
        };
        assert_eq!(good.validate(), Ok(()));
        let twice = vec!["pro".to_owned(), String::new(), "pro".into()];
        let wrong =
            Attribute { name: "$now".into(), suggestions: twice, description: "x".repeat(2_001), ..good.clone() };
        let places: Vec<String> = wrong.validate().expect_err("wrong").into_iter().map(|p| p.field).collect();
        assert_eq!(places, ["name", "suggestions[1]", "suggestions[2]", "description"]);
        let many = Attribute { suggestions: (0..51).map(|n| n.to_string()).collect(), ..good };
        assert_eq!(many.validate().expect_err("many")[0].message, "51 values; at most 50 are suggested");
    }
}
