//! Bucketing keys, as an application sent them and as text.

use std::borrow::Cow;

use crate::compare::number::Number;
use crate::evaluation::context::Value;

/// Whole numbers beyond this are not the same in every language, so as text they are no key.
const INTEGER_MAX: u64 = 1 << 53;
/// `-9007199254740992` has 17 bytes.
const INTEGER_BYTES: usize = 17;

/// A bucketing key as an application sent it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Key<'a> {
    /// A text, which may be empty.
    Text(&'a str),
    /// A whole number, or a float that is one.
    Integer(i128),
    /// Any other number.
    Float(f64),
    /// `true` or `false`.
    Boolean(bool),
}

impl<'a> Key<'a> {
    /// The key in an attribute's value; `None` for what is missing in every algorithm: null, arrays and objects.
    #[inline]
    pub fn of(value: Option<&'a Value<'_>>) -> Option<Self> {
        match value? {
            Value::Text(text) => Some(Self::Text(text)),
            Value::Number(Number::Integer(integer)) => Some(Self::Integer(*integer)),
            Value::Number(Number::Float(float)) => Some(Self::Float(*float)),
            Value::Boolean(boolean) => Some(Self::Boolean(*boolean)),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// The same key with a float that is whole as an integer.
    pub(super) fn normalised(&self) -> Self {
        match *self {
            Self::Float(float) => match Number::from(float) {
                Number::Integer(integer) => Self::Integer(integer),
                Number::Float(float) => Self::Float(float),
            },
            key => key,
        }
    }

    /// The key as text: text as it is, whole numbers within ±2^53 in plain decimal; everything else has none.
    #[inline]
    pub(super) fn text(&self) -> Option<KeyText<'a>> {
        match self {
            Self::Text(text) => Some(KeyText::Text(text)),
            Self::Integer(integer) => KeyText::of_integer(*integer),
            Self::Float(_) | Self::Boolean(_) => None,
        }
    }
}

/// A value made text for comparison with named keys; `None` for everything that counts as missing: empty texts,
/// fractions, booleans, arrays, objects and null.
#[inline]
pub(in crate::evaluation) fn named<'a>(value: Option<&'a Value<'_>>) -> Option<KeyText<'a>> {
    Key::of(value)?.text().filter(|text| !text.as_str().is_empty())
}

/// A key made text without allocation.
pub(in crate::evaluation) enum KeyText<'a> {
    Text(&'a str),
    Integer { digits: [u8; INTEGER_BYTES], start: usize },
}

impl<'a> KeyText<'a> {
    pub(in crate::evaluation) fn into_cow(self) -> Cow<'a, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Integer { .. } => Cow::Owned(self.as_str().to_owned()),
        }
    }

    pub(super) fn of_u32(number: u32) -> Self {
        Self::of_digits(number.into(), false)
    }

    fn of_integer(integer: i128) -> Option<Self> {
        let absolute = u64::try_from(integer.unsigned_abs()).ok()?;
        (absolute <= INTEGER_MAX).then(|| Self::of_digits(absolute, integer < 0))
    }

    fn of_digits(mut rest: u64, is_negative: bool) -> Self {
        let mut digits = [b'-'; INTEGER_BYTES];
        let mut start = INTEGER_BYTES;
        loop {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        // Before the digits there are only minus signs.
        Self::Integer { digits, start: start - usize::from(is_negative) }
    }

    #[inline]
    pub(in crate::evaluation) fn as_str(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Integer { .. } => std::str::from_utf8(self.as_bytes()).unwrap_or_default(),
        }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Integer { digits, start } => &digits[*start..],
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(json: &str) -> Option<String> {
        let value: Value<'_> = serde_json::from_str(json).expect("JSON");
        Key::of(Some(&value))?.text().map(|text| text.as_str().to_owned())
    }

    #[test]
    fn texts_and_safe_whole_numbers_have_a_text() {
        for (json, expected) in [
            ("\"u\"", "u"),
            ("\"\"", ""),
            ("42", "42"),
            ("42.0", "42"),
            ("-7e1", "-70"),
            ("0", "0"),
            ("-0.0", "0"),
            ("9007199254740992", "9007199254740992"),
            ("-9007199254740992", "-9007199254740992"),
        ] {
            assert_eq!(text(json).as_deref(), Some(expected), "{json}");
        }
        for none in ["1.5", "true", "null", "[\"u\"]", "{}", "9007199254740993", "-9007199254740993", "1e300"] {
            assert_eq!(text(none), None, "{none}");
        }
        assert_eq!(Key::of(None), None);
    }

    proptest! {
        #[test]
        fn whole_numbers_read_as_rust_writes_them(integer in -(1_i64 << 53)..=1 << 53) {
            let key = Key::Integer(integer.into());
            let text = key.text().expect("a safe whole number");
            prop_assert_eq!(text.as_str(), integer.to_string());
        }
    }
}
