//! The body of `POST /track`, read as leniently as that of an evaluation.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use shared::evaluation::{Context, Value};

use crate::http::request::MaybeContext;

/// What an application tells.
#[derive(Debug, Default)]
pub(super) struct TrackRequest<'a> {
    /// What was done; `None` when absent or null.
    pub(super) event_name: Option<Value<'a>>,
    /// By whom; `None` when it is there and not an object.
    pub(super) context: Option<Context<'a>>,
    /// How much it was worth; `None` when absent or null.
    pub(super) value: Option<Value<'a>>,
}

impl<'a> TrackRequest<'a> {
    /// Reads a body. Of doubled members the last wins; members of no meaning are read over.
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, serde_json::Error> {
        match std::str::from_utf8(body) {
            Ok(text) => serde_json::from_str(text),
            Err(_) => serde_json::from_slice(body),
        }
    }
}

impl<'de> Deserialize<'de> for TrackRequest<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TrackVisitor;

        impl<'de> Visitor<'de> for TrackVisitor {
            type Value = TrackRequest<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the event as a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TrackRequest<'de>, A::Error> {
                let mut request = TrackRequest { context: Some(Context::default()), ..TrackRequest::default() };
                let some = |value: Value<'de>| Some(value).filter(|value| *value != Value::Null);
                while let Some(name) = map.next_key()? {
                    match name {
                        Member::EventName => request.event_name = some(map.next_value()?),
                        Member::Context => request.context = map.next_value::<MaybeContext<'de>>()?.0,
                        Member::Value => request.value = some(map.next_value()?),
                        // Read as a value, not skipped: skipping would accept broken text and endless nesting.
                        Member::Other => drop(map.next_value::<Value<'de>>()?),
                    }
                }
                Ok(request)
            }
        }

        deserializer.deserialize_map(TrackVisitor)
    }
}

enum Member {
    EventName,
    Context,
    Value,
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
                    "eventName" => Member::EventName,
                    "context" => Member::Context,
                    "value" => Member::Value,
                    _ => Member::Other,
                })
            }
        }

        deserializer.deserialize_str(MemberVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_doubled_members_the_last_wins_and_strangers_are_read_over() {
        let body = br#"{"eventName":"a","x":[{}],"value":1,"context":[1],"eventName":"b","value":null,"context":{}}"#;
        let request = TrackRequest::parse(body).expect("an event");
        assert_eq!((request.event_name, request.value), (Some(Value::Text("b".into())), None));
        assert!(request.context.is_some());
    }

    #[test]
    fn what_is_no_json_object_is_refused() {
        for body in ["", "[]", "null", "7", "{", "{} x", "{\"value\":1e999}", &format!("{{\"x\":{}", "[".repeat(9_999))]
        {
            assert!(TrackRequest::parse(body.as_bytes()).is_err(), "{:.40}", body);
        }
        assert!(TrackRequest::parse(b"{\"eventName\":\"\xff\"}").is_err());
    }
}
