//! Keys that people choose and applications send, parsed once and valid ever after.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why a text is not a key.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{text}' cannot be the key of {noun}: {rule}")]
pub struct KeyError {
    noun: &'static str,
    text: String,
    rule: &'static str,
}

macro_rules! key {
    ($(#[doc = $doc:literal] $name:ident, $noun:literal, $check:ident, $rule:literal;)+) => {$(
        #[doc = $doc]
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String))]
        pub struct $name(Box<str>);

        impl $name {
            /// The rule a key must meet, as a sentence for people.
            pub const RULE: &'static str = $rule;

            /// The key as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = KeyError;

            fn from_str(text: &str) -> Result<Self, KeyError> {
                if $check(text) {
                    Ok(Self(text.into()))
                } else {
                    let text = text.chars().take(60).collect();
                    Err(KeyError { noun: $noun, text, rule: $rule })
                }
            }
        }

        impl TryFrom<String> for $name {
            type Error = KeyError;

            fn try_from(text: String) -> Result<Self, KeyError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(key: $name) -> Self {
                key.0.into()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    )+};
}

key! {
    /// What an application sends to name a flag.
    FlagKey, "a flag", is_flag_key,
        "use 1 to 200 letters, digits and . _ : / -, beginning with a letter or digit, \
         without a '/' at the end and without empty, '.' or '..' parts between slashes";
    /// Names a variant inside its flag.
    VariantKey, "a variant", is_name_key,
        "use 1 to 100 letters, digits and . _ -, beginning with a letter or digit";
    /// Names a segment inside its project.
    SegmentKey, "a segment", is_name_key,
        "use 1 to 100 letters, digits and . _ -, beginning with a letter or digit";
    /// Names a project in addresses.
    ProjectKey, "a project", is_slug,
        "use 1 to 60 lower-case letters, digits and -, beginning with a letter or digit";
    /// Names an environment inside its project.
    EnvironmentKey, "an environment", is_slug,
        "use 1 to 60 lower-case letters, digits and -, beginning with a letter or digit";
    /// Names a role.
    RoleKey, "a role", is_slug,
        "use 1 to 60 lower-case letters, digits and -, beginning with a letter or digit";
    /// Names what users do and metrics count.
    EventName, "an event", is_event_name,
        "use 1 to 100 letters, digits and . _ : / -, beginning with a letter or digit";
}

fn is_event_name(text: &str) -> bool {
    is_made_of(text, 100, |c| c.is_ascii_alphanumeric() || b"._:/-".contains(&c))
        && text.as_bytes()[0].is_ascii_alphanumeric()
}

fn is_flag_key(text: &str) -> bool {
    is_made_of(text, 200, |c| c.is_ascii_alphanumeric() || b"._:/-".contains(&c))
        && text.as_bytes()[0].is_ascii_alphanumeric()
        && text.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

fn is_name_key(text: &str) -> bool {
    is_made_of(text, 100, |c| c.is_ascii_alphanumeric() || b"._-".contains(&c))
        && text.as_bytes()[0].is_ascii_alphanumeric()
}

fn is_slug(text: &str) -> bool {
    is_made_of(text, 60, |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-') && !text.starts_with('-')
}

fn is_made_of(text: &str, bytes_max: usize, allowed: impl Fn(u8) -> bool) -> bool {
    (1..=bytes_max).contains(&text.len()) && text.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_key_may_hold_slashes_but_no_empty_or_dotted_part() {
        for good in ["a", "checkout", "a/b", "team:checkout/theme.v2", &"k".repeat(200)] {
            assert!(good.parse::<FlagKey>().is_ok(), "{good}");
        }
        for bad in ["", "/a", "a/", "a//b", ".", "..", "a/../b", "a/.", "is it on?", "ü", &"k".repeat(201)] {
            assert!(bad.parse::<FlagKey>().is_err(), "{bad}");
        }
    }

    #[test]
    fn an_error_names_the_text_and_the_way_out() {
        let error = "Is It".parse::<ProjectKey>().expect_err("upper case is refused").to_string();
        assert!(error.contains("'Is It'") && error.contains("lower-case"), "{error}");
    }
}
