//! Variants: the answers a flag can give, and how a typed text becomes JSON.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::model::key::VariantKey;

/// The type of all values of one flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ValueType {
    /// `true` or `false`; such a flag has exactly the variants `on` and `off`.
    Boolean,
    /// Any text.
    String,
    /// A whole number within ±(2^53−1).
    Integer,
    /// A finite number.
    Float,
    /// A JSON object.
    Object,
}

/// One answer a flag can give.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Variant {
    /// Unique inside the flag.
    pub key: VariantKey,
    /// The value as it was typed: a string's own text, otherwise JSON of the flag's type.
    pub value: String,
}

/// Why a text is not a value of a flag's type.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ValueError {
    /// Over [`VALUE_BYTES_MAX`].
    #[error("the value has {0} bytes; at most {VALUE_BYTES_MAX} are allowed")]
    TooLong(usize),
    /// Holds U+0000, which PostgreSQL and many SDKs cannot carry.
    #[error("the value holds the character U+0000, which is not allowed")]
    Nul,
    /// Not of the type.
    #[error("'{text}' is not {expected}")]
    Type {
        /// The text, cut to 60 characters.
        text: String,
        /// What would be right.
        expected: &'static str,
    },
    /// An integer that JavaScript and doubles would round.
    #[error("{0} is beyond ±9007199254740991 (2^53−1), where clients would round it; use a string")]
    IntegerRange(String),
}

/// The largest value of a variant, in bytes.
pub const VALUE_BYTES_MAX: usize = 64 * 1024;
const SAFE_INTEGER_MAX: i64 = (1 << 53) - 1;

impl ValueType {
    /// The JSON that applications get for a value typed as `text`.
    ///
    /// Integers are written in plain decimal, floats always with a point or an exponent, objects exactly as typed.
    pub fn json(self, text: &str) -> Result<String, ValueError> {
        if text.len() > VALUE_BYTES_MAX {
            return Err(ValueError::TooLong(text.len()));
        }
        if text.contains('\0') {
            return Err(ValueError::Nul);
        }
        let wrong = |expected| ValueError::Type { text: text.chars().take(60).collect(), expected };
        match self {
            Self::Boolean => match text {
                "true" | "false" => Ok(text.into()),
                _ => Err(wrong("'true' or 'false'")),
            },
            Self::String => Ok(Value::from(text).to_string()),
            Self::Integer => {
                let number = json_number(text).ok_or_else(|| wrong("a whole number such as 42"))?;
                safe_integer(&number, text)?.map(|n| n.to_string()).ok_or_else(|| wrong("a whole number such as 42"))
            }
            Self::Float => {
                let expected = "a number such as 0.5";
                let number = json_number(text).ok_or_else(|| wrong(expected))?;
                // A number written as a whole one is as exact as it looks only within the range of integers.
                if !text.contains(['.', 'e', 'E']) {
                    safe_integer(&number, text)?;
                }
                let float = number.as_f64().filter(|float| float.is_finite());
                float.map(|float| Value::from(float).to_string()).ok_or_else(|| wrong(expected))
            }
            Self::Object => match serde_json::from_str::<Value>(text) {
                Ok(value @ Value::Object(_)) => check_object(&value).map(|()| text.trim().into()),
                _ => Err(wrong("a JSON object such as {\"limit\": 10}")),
            },
        }
    }
}

/// A JSON number that is the whole of `text`, without blanks around it.
pub(crate) fn json_number(text: &str) -> Option<serde_json::Number> {
    let is_bare = text.as_bytes().first().is_some_and(|c| c.is_ascii_digit() || *c == b'-')
        && text.as_bytes().last().is_some_and(u8::is_ascii_digit);
    if is_bare { serde_json::from_str(text).ok() } else { None }
}

/// The number as an integer, `None` when it has a fraction.
fn safe_integer(number: &serde_json::Number, text: &str) -> Result<Option<i64>, ValueError> {
    let out_of_range = || ValueError::IntegerRange(text.chars().take(60).collect());
    if let Some(integer) = number.as_i64() {
        return if integer.unsigned_abs() <= SAFE_INTEGER_MAX as u64 { Ok(Some(integer)) } else { Err(out_of_range()) };
    }
    match number.as_f64() {
        Some(float) if float.fract() != 0.0 => Ok(None),
        Some(float) if float.abs() <= SAFE_INTEGER_MAX as f64 => Ok(Some(float as i64)),
        _ => Err(out_of_range()),
    }
}

fn check_object(value: &Value) -> Result<(), ValueError> {
    match value {
        Value::Number(number) => safe_integer(number, &number.to_string()).map(|_| ()),
        Value::String(text) if text.contains('\0') => Err(ValueError::Nul),
        Value::Array(items) => items.iter().try_for_each(check_object),
        Value::Object(fields) => fields
            .iter()
            .try_for_each(|(name, field)| if name.contains('\0') { Err(ValueError::Nul) } else { check_object(field) }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_value_becomes_json_of_its_type() {
        let cases = [
            (ValueType::Boolean, "true", "true"),
            (ValueType::String, "a \"b\"", r#""a \"b\"""#),
            (ValueType::Integer, "100", "100"),
            (ValueType::Integer, "1e5", "100000"),
            (ValueType::Float, "10", "10.0"),
            (ValueType::Float, "0.0", "0.0"),
            (ValueType::Float, "1e300", "1e+300"),
            (ValueType::Object, r#"{"b":1,"a":2.50}"#, r#"{"b":1,"a":2.50}"#),
        ];
        for (value_type, text, json) in cases {
            assert_eq!(value_type.json(text).as_deref(), Ok(json), "{value_type:?} {text}");
        }
    }

    #[test]
    fn a_value_of_another_type_is_refused_by_name() {
        let cases = [
            (ValueType::Boolean, "yes"),
            (ValueType::Integer, "1.5"),
            (ValueType::Integer, "01"),
            (ValueType::Integer, " 1"),
            (ValueType::Integer, "1234567890123456789"),
            (ValueType::Integer, "-9223372036854775808"),
            (ValueType::Float, "1e999"),
            (ValueType::Float, "9007199254740993"),
            (ValueType::Float, "123456789012345678901234567890"),
            (ValueType::Float, "NaN"),
            (ValueType::Object, "[1]"),
            (ValueType::Object, r#"{"id":1234567890123456789}"#),
            (ValueType::String, "a\0b"),
        ];
        for (value_type, text) in cases {
            assert!(value_type.json(text).is_err(), "{value_type:?} {text}");
        }
        let long = "x".repeat(VALUE_BYTES_MAX + 1);
        assert_eq!(ValueType::String.json(&long), Err(ValueError::TooLong(VALUE_BYTES_MAX + 1)));
    }
}
