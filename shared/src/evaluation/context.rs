//! The evaluation context as an application sent it, borrowed from the request's bytes where possible.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};

use crate::compare::number::Number;

/// Whom an evaluation is about.
pub const TARGETING_KEY: &str = "targetingKey";
/// Another name for the same.
const BUCKETING_KEY: &str = "bucketingKey";
/// Objects with more fields than this are sorted once, so that a large context cannot make look-ups slow.
const SCAN_MAX: usize = 16;

/// An attribute's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// `null`, the same as absent.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// A number.
    Number(Number),
    /// A text.
    Text(Cow<'a, str>),
    /// A list, which matches when any element does.
    Array(Vec<Value<'a>>),
    /// Nested attributes, reached by a dotted path.
    Object(Fields<'a>),
}

impl Value<'_> {
    /// The value as JSON, for people.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Boolean(boolean) => serializer.serialize_bool(*boolean),
            Self::Number(Number::Integer(integer)) => serializer.serialize_i128(*integer),
            Self::Number(Number::Float(float)) => serializer.serialize_f64(*float),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Array(items) => serializer.collect_seq(items),
            Self::Object(fields) => serializer.collect_map(fields.0.iter().map(|(name, value)| (name, value))),
        }
    }
}

/// The fields of an object; of doubled names the last wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields<'a>(Vec<(Cow<'a, str>, Value<'a>)>);

impl<'a> Fields<'a> {
    fn new(mut fields: Vec<(Cow<'a, str>, Value<'a>)>) -> Self {
        if fields.len() > SCAN_MAX {
            fields.sort_by(|(a, _), (b, _)| a.cmp(b));
        }
        Self(fields)
    }

    /// The value of a field.
    pub fn get(&self, name: &str) -> Option<&Value<'a>> {
        let fields = &self.0;
        if fields.len() > SCAN_MAX {
            let end = fields.partition_point(|(known, _)| known.as_ref() <= name);
            return fields[..end].last().filter(|(known, _)| known == name).map(|(_, value)| value);
        }
        fields.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

/// Everything an application says about whom it asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context<'a> {
    fields: Fields<'a>,
}

impl<'a> Context<'a> {
    /// The attribute named so, where `targetingKey` may also have been sent as `bucketingKey`.
    pub fn get(&self, name: &str) -> Option<&Value<'a>> {
        if name == TARGETING_KEY {
            self.targeting_key()
        } else {
            self.fields.get(name).filter(|_| !name.starts_with('$'))
        }
    }

    /// `targetingKey`, or `bucketingKey` where that is absent or null.
    pub fn targeting_key(&self) -> Option<&Value<'a>> {
        self.fields.get(TARGETING_KEY).filter(|v| **v != Value::Null).or_else(|| self.fields.get(BUCKETING_KEY))
    }
}

impl<'de> Deserialize<'de> for Context<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ContextVisitor;

        impl<'de> Visitor<'de> for ContextVisitor {
            type Value = Context<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the context as a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Context<'de>, A::Error> {
                fields(map, SCAN_MAX).map(|fields| Context { fields })
            }

            fn visit_unit<E: de::Error>(self) -> Result<Context<'de>, E> {
                Ok(Context::default())
            }
        }

        deserializer.deserialize_any(ContextVisitor)
    }
}

impl<'de> Deserialize<'de> for Value<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueVisitor;

        impl<'de> Visitor<'de> for ValueVisitor {
            type Value = Value<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }

            fn visit_unit<E>(self) -> Result<Value<'de>, E> {
                Ok(Value::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Value<'de>, E> {
                Ok(Value::Boolean(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Value<'de>, E> {
                Ok(Value::Number(Number::Integer(value.into())))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Value<'de>, E> {
                Ok(Value::Number(Number::Integer(value.into())))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Value<'de>, E> {
                Ok(Value::Number(value.into()))
            }

            fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Value<'de>, E> {
                Ok(Value::Text(Cow::Borrowed(value)))
            }

            fn visit_str<E>(self, value: &str) -> Result<Value<'de>, E> {
                Ok(Value::Text(Cow::Owned(value.to_owned())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value<'de>, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Value::Array(items))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Value<'de>, A::Error> {
                // Nothing is set aside before it is needed: a body can hold very many objects.
                fields(map, 0).map(Value::Object)
            }
        }

        deserializer.deserialize_any(ValueVisitor)
    }
}

fn fields<'de, A: MapAccess<'de>>(mut map: A, room: usize) -> Result<Fields<'de>, A::Error> {
    let mut fields = Vec::with_capacity(room);
    while let Some(Name(name)) = map.next_key()? {
        fields.push((name, map.next_value()?));
    }
    Ok(Fields::new(fields))
}

/// A field's name, borrowed unless it was written with escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;

        impl<'de> Visitor<'de> for NameVisitor {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(name)))
            }

            fn visit_str<E>(self, name: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }

        deserializer.deserialize_str(NameVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Context<'_> {
        serde_json::from_str(json).expect("a context")
    }

    #[test]
    fn of_doubled_names_the_last_wins_in_small_and_large_contexts() {
        assert_eq!(parse(r#"{"a":1,"a":2}"#).get("a"), Some(&Value::Number(Number::Integer(2))));
        let many: String = (0..40).map(|n| format!(r#""n{n}":{n},"a":{n},"#)).collect();
        let json = format!("{{{many}\"z\":1}}");
        let context = parse(&json);
        assert_eq!(context.get("a"), Some(&Value::Number(Number::Integer(39))));
        assert_eq!(context.get("n7"), Some(&Value::Number(Number::Integer(7))));
        assert_eq!(context.get("b"), None);
    }

    #[test]
    fn targeting_key_wins_over_bucketing_key_unless_it_is_null() {
        let text = |t: &'static str| Value::Text(t.into());
        assert_eq!(parse(r#"{"bucketingKey":"b","targetingKey":"t"}"#).targeting_key(), Some(&text("t")));
        assert_eq!(parse(r#"{"bucketingKey":"b","targetingKey":null}"#).targeting_key(), Some(&text("b")));
        assert_eq!(parse(r#"{"$targetingKey":"b"}"#).get("$targetingKey"), None);
    }

    #[test]
    fn nesting_without_end_is_an_error_not_a_crash() {
        let deep = format!("{{\"a\":{}", "[".repeat(10_000));
        assert!(serde_json::from_str::<Context<'_>>(&deep).is_err());
    }
}
