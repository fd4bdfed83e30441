//! The body of a request, borrowed from its bytes.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use shared::evaluation::{Context, Value};

/// What an application asks.
#[derive(Debug, Default)]
pub(super) struct Request<'a> {
    /// The flag asked for, where the body names it.
    pub(super) flag_key: Option<Cow<'a, str>>,
    /// About whom; `None` when it is there and not an object.
    pub(super) context: Option<Context<'a>>,
}

impl<'a> Request<'a> {
    /// Reads a body. Of doubled members the last wins; members of no meaning are read over.
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, serde_json::Error> {
        // Checked once as a whole: checking every string by itself takes as long as the rest of the reading.
        match std::str::from_utf8(body) {
            Ok(text) => serde_json::from_str(text),
            Err(_) => serde_json::from_slice(body),
        }
    }

    /// Reads a body that may also be absent.
    pub(super) fn parse_optional(body: &'a [u8]) -> Result<Self, serde_json::Error> {
        if body.trim_ascii().is_empty() {
            return Ok(Self { flag_key: None, context: Some(Context::default()) });
        }
        Self::parse(body)
    }
}

impl<'de> Deserialize<'de> for Request<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RequestVisitor;

        impl<'de> Visitor<'de> for RequestVisitor {
            type Value = Request<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the request as a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Request<'de>, A::Error> {
                let mut request = Request { flag_key: None, context: Some(Context::default()) };
                while let Some(name) = map.next_key()? {
                    match name {
                        Member::FlagKey => request.flag_key = Some(map.next_value::<Text<'de>>()?.0),
                        Member::Context => request.context = map.next_value::<MaybeContext<'de>>()?.0,
                        // Read as a value, not skipped: skipping would accept broken text and endless nesting.
                        Member::Other => drop(map.next_value::<Value<'de>>()?),
                    }
                }
                Ok(request)
            }
        }

        deserializer.deserialize_map(RequestVisitor)
    }
}

enum Member {
    FlagKey,
    Context,
    Other,
}

impl<'de> Deserialize<'de> for Member {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MemberVisitor;

        impl Visitor<'_> for MemberVisitor {
            type Value = Member;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Member, E> {
                Ok(match name {
                    "flagKey" => Member::FlagKey,
                    "context" => Member::Context,
                    _ => Member::Other,
                })
            }
        }

        deserializer.deserialize_str(MemberVisitor)
    }
}

/// A text, borrowed unless it was written with escapes.
struct Text<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;

        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the flag's key as a string")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_str(TextVisitor)
    }
}

/// A context, or anything else, which is well-formed JSON and yet no context.
pub(super) struct MaybeContext<'a>(pub(super) Option<Context<'a>>);

impl<'de> Deserialize<'de> for MaybeContext<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ContextVisitor;

        impl<'de> Visitor<'de> for ContextVisitor {
            type Value = MaybeContext<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the context as a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<MaybeContext<'de>, A::Error> {
                Context::deserialize(MapAccessDeserializer::new(map)).map(|context| MaybeContext(Some(context)))
            }

            fn visit_unit<E: Error>(self) -> Result<MaybeContext<'de>, E> {
                Ok(MaybeContext(Some(Context::default())))
            }

            fn visit_bool<E: Error>(self, _: bool) -> Result<MaybeContext<'de>, E> {
                Ok(MaybeContext(None))
            }

            fn visit_i64<E: Error>(self, _: i64) -> Result<MaybeContext<'de>, E> {
                Ok(MaybeContext(None))
            }

            fn visit_u64<E: Error>(self, _: u64) -> Result<MaybeContext<'de>, E> {
                Ok(MaybeContext(None))
            }

            fn visit_f64<E: Error>(self, _: f64) -> Result<MaybeContext<'de>, E> {
                Ok(MaybeContext(None))
            }

            fn visit_str<E: Error>(self, _: &str) -> Result<MaybeContext<'de>, E> {
                Ok(MaybeContext(None))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<MaybeContext<'de>, A::Error> {
                while seq.next_element::<Value<'de>>()?.is_some() {}
                Ok(MaybeContext(None))
            }
        }

        deserializer.deserialize_any(ContextVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_doubled_members_the_last_wins_and_strangers_are_read_over() {
        let body = br#"{"flagKey":"a","x":[{"y":1}],"context":[1],"flagKey":"b","context":{"plan":"pro"}}"#;
        let request = Request::parse(body).expect("a request");
        assert_eq!(request.flag_key.as_deref(), Some("b"));
        let context = request.context.expect("an object");
        assert_eq!(context.get("plan"), Some(&Value::Text("pro".into())));
    }

    #[test]
    fn a_context_that_is_no_object_is_told_from_broken_json() {
        for context in ["[1,[2]]", "\"x\"", "7", "-7", "1.5", "true"] {
            let body = format!("{{\"flagKey\":\"a\",\"context\":{context}}}");
            let request = Request::parse(body.as_bytes()).expect("well-formed");
            assert!(request.context.is_none() && request.flag_key.is_some(), "{context}");
        }
        let deep = "[".repeat(10_000);
        for body in [
            "".to_owned(),
            "[]".into(),
            "null".into(),
            "{".into(),
            "{} x".into(),
            "{\"flagKey\":7}".into(),
            format!("{{\"context\":{deep}"),
            format!("{{\"context\":{{\"a\":{deep}"),
            format!("{{\"other\":{deep}"),
            deep,
        ] {
            assert!(Request::parse(body.as_bytes()).is_err(), "{:.40}", body);
        }
        for bytes in [&b"{\"flagKey\":\"\xff\"}"[..], b"{\"other\":\"\xff\"}", b"{\"\xff\":1}"] {
            assert!(Request::parse(bytes).is_err());
        }
    }

    #[test]
    fn a_missing_body_is_an_empty_context_where_that_is_allowed() {
        for body in ["", " \n", "{}", "{\"context\":null}"] {
            assert!(Request::parse_optional(body.as_bytes()).expect("allowed").context.is_some(), "{body:?}");
        }
    }
}
