//! The state bundle: one file with all that edges must hold, for edges that start with nothing, for tests, and for work
//! without a backend.
//!
//! A JSON document, one value per line, its keys in order:
//! `{"kind":"fluxgate-bundle","format":1,"exported_at":"2026-12-01T10:00:00Z","values":{"<key of the bucket>":{…}}}`.
//! Values are envelopes as in the bucket, their bodies byte for byte; tombstones and revoked SDK keys are among them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::compare::shown;
use crate::model::id::EnvironmentId;
use crate::model::timestamp::Timestamp;
use crate::wire::state::{ENVIRONMENT_BYTES_MAX, Entity, Envelope, StateKey};

/// What every bundle says it is.
pub const KIND: &str = "fluxgate-bundle";
/// The format that this version writes, and the newest it reads.
pub const FORMAT: u32 = 1;
/// The largest bundle, in bytes.
pub const BUNDLE_BYTES_MAX: usize = 256 * 1024 * 1024;

/// The state of some environments at one moment, each of them whole.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// When it was read from the database.
    pub exported_at: Timestamp,
    /// What the bucket holds of these environments.
    pub values: BTreeMap<StateKey, Envelope>,
}

/// Why a text is not a bundle for this version.
#[derive(Debug, Error)]
pub enum BundleError {
    /// Longer than allowed.
    #[error("it is longer than {BUNDLE_BYTES_MAX} bytes; export one project or one environment alone")]
    TooLarge,
    /// Not even text.
    #[error("it is not UTF-8 from byte {0} on")]
    NotText(usize),
    /// No JSON, or JSON of another shape; the error has the place.
    #[error("{0}")]
    Malformed(#[from] serde_json::Error),
    /// JSON of another kind.
    #[error("its kind is {0}, not \"{KIND}\"; make a bundle with fluxgate-backend export-bundle")]
    Foreign(String),
    /// Written by a newer version, or by none.
    #[error("its format is {0}; this version reads formats up to {FORMAT}, a newer one may read it")]
    Newer(String),
    /// An environment that edges would never be ready for.
    #[error("it has values of the environment {0} and not '{0}.environment' itself; it was cut, export it anew")]
    Incomplete(EnvironmentId),
    /// More than an edge may have to hold.
    #[error("the environment {0} has more than {ENVIRONMENT_BYTES_MAX} bytes; archive flags and export it anew")]
    EnvironmentTooLarge(EnvironmentId),
}

/// The part that tells what a document is, in any version.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    kind: Value,
    #[serde(default)]
    format: Value,
}

#[derive(Deserialize)]
struct Document {
    exported_at: Timestamp,
    values: Values,
}

struct Values(BTreeMap<StateKey, Envelope>);

impl Bundle {
    /// Reads a bundle.
    pub fn parse(bytes: &[u8]) -> Result<Self, BundleError> {
        if bytes.len() > BUNDLE_BYTES_MAX {
            return Err(BundleError::TooLarge);
        }
        let text = std::str::from_utf8(bytes).map_err(|error| BundleError::NotText(error.valid_up_to()))?;
        let head: Head = serde_json::from_str(text)?;
        if head.kind != KIND {
            let kind = if head.kind.is_null() { "absent".into() } else { shown(&head.kind.to_string()) };
            return Err(BundleError::Foreign(kind));
        }
        if head.format.as_u64().is_none_or(|format| format == 0 || format > u64::from(FORMAT)) {
            return Err(BundleError::Newer(shown(&head.format.to_string())));
        }
        let Document { exported_at, values: Values(values) } = serde_json::from_str(text)?;
        let bundle = Self { exported_at, values };
        bundle.check()?;
        Ok(bundle)
    }

    /// Writes the bundle.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        #[derive(Serialize)]
        struct Written<'b> {
            kind: &'static str,
            format: u32,
            exported_at: &'b Timestamp,
        }
        let head = Written { kind: KIND, format: FORMAT, exported_at: &self.exported_at };
        let mut json = serde_json::to_string(&head)?;
        json.pop();
        json.push_str(",\"values\":{");
        let mut values: Vec<(String, &Envelope)> =
            self.values.iter().map(|(key, envelope)| (key.to_string(), envelope)).collect();
        values.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (at, (key, envelope)) in values.into_iter().enumerate() {
            // A key of the bucket holds nothing that needs an escape.
            json.push_str(if at == 0 { "\n\"" } else { ",\n\"" });
            json.push_str(&key);
            json.push_str("\":");
            json.push_str(&serde_json::to_string(envelope)?);
        }
        json.push_str("\n}}\n");
        Ok(json)
    }

    fn check(&self) -> Result<(), BundleError> {
        let mut environments: BTreeMap<EnvironmentId, (usize, bool)> = BTreeMap::new();
        for (key, envelope) in &self.values {
            let (bytes, is_named) = environments.entry(key.environment).or_default();
            *bytes += envelope.body.as_ref().map_or(0, |body| body.get().len());
            *is_named |= key.entity == Entity::Environment;
        }
        for (id, (bytes, is_named)) in environments {
            if !is_named {
                return Err(BundleError::Incomplete(id));
            }
            if bytes > ENVIRONMENT_BYTES_MAX {
                return Err(BundleError::EnvironmentTooLarge(id));
            }
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValuesVisitor;

        impl<'de> Visitor<'de> for ValuesVisitor {
            type Value = Values;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the values of the state bucket by key")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Values, A::Error> {
                let mut values = BTreeMap::new();
                while let Some(text) = map.next_key::<Cow<'de, str>>()? {
                    let key: StateKey = text.parse().map_err(A::Error::custom)?;
                    let Entry::Vacant(place) = values.entry(key) else {
                        return Err(A::Error::custom(format_args!("'{key}' is there twice")));
                    };
                    // The inner error ends with its place in the file, which serde_json keeps.
                    let named = |error: A::Error| {
                        A::Error::custom(format_args!("the value of '{key}' is no envelope: {error}"))
                    };
                    place.insert(map.next_value::<Envelope>().map_err(named)?);
                }
                Ok(Values(values))
            }
        }

        deserializer.deserialize_map(ValuesVisitor)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    /// Bodies with blanks, an order and numbers of their own, which a re-written document would lose.
    fn text() -> String {
        let (environment, flag) = (Uuid::from_u128(1), Uuid::from_u128(2));
        format!(
            "{{\"kind\":\"fluxgate-bundle\",\"format\":1,\"exported_at\":\"2026-12-01T10:00:00Z\",\"values\":{{\n\
             \"{environment}.environment\":{{\"format\":1,\"revision\":7,\"killed\":false,\"deleted\":false,\"body\":{{}}}},\n\
             \"{environment}.flag.{flag}\":{{\"format\":9,\"revision\":6,\"killed\":true,\"deleted\":false,\
             \"body\":{{\"b\": 1.50,\"a\":[1e2 , \"\\u00e4\"]}}}},\n\
             \"{environment}.key.{flag}\":{{\"format\":1,\"revision\":7,\"killed\":false,\"deleted\":true}}\n}}}}\n"
        )
    }

    fn refusal(text: &str) -> String {
        Bundle::parse(text.as_bytes()).expect_err("refused").to_string()
    }

    #[test]
    fn a_bundle_survives_a_round_trip_byte_for_byte() {
        let text = text();
        let bundle = Bundle::parse(text.as_bytes()).expect("a bundle");
        assert_eq!(bundle.values.len(), 3);
        assert_eq!(bundle.to_json().expect("JSON"), text);
        let none = Bundle { values: BTreeMap::new(), ..bundle };
        assert!(Bundle::parse(none.to_json().expect("JSON").as_bytes()).expect("a bundle").values.is_empty());
    }

    #[test]
    fn keys_are_written_in_order_whatever_order_they_are_read_in() {
        let text = text();
        let mut lines: Vec<&str> = text.lines().collect();
        lines[1..4].reverse();
        let values: Vec<String> = lines[1..4].iter().map(|line| line.trim_end_matches(',').to_owned()).collect();
        let shuffled = format!("{}\n{}\n}}}}", lines[0], values.join(",\n"));
        let bundle = Bundle::parse(shuffled.as_bytes()).expect("a bundle");
        assert_eq!(bundle.to_json().expect("JSON"), text);
    }

    #[test]
    fn what_is_no_bundle_is_refused_with_the_reason_and_the_place() {
        let good = text();
        let environment = Uuid::from_u128(1);
        let cases = [
            ("".to_owned(), "line 1 column 0"),
            ("hello".into(), "line 1 column 1"),
            ("{}".into(), "kind is absent"),
            ("{\"kind\":\"fluxgate-edge-state\",\"format\":1}".into(), "kind is \"fluxgate-edge-state\""),
            ("{\"kind\":7}".into(), "kind is 7"),
            (good.replacen("\"format\":1", "\"format\":2", 1), "format is 2"),
            (good.replacen("\"format\":1,", "", 1), "format is null"),
            (good.replacen("2026-12-01T10:00:00Z", "today", 1), "line 1 column"),
            (good[..good.len() / 2].into(), "line 3 column"),
            (good.replacen(".flag.", ".flags.", 1), "is not a key of the state bucket at line 3"),
            (good.replacen(".key.", ".flag.", 1), "is there twice at line 4"),
            (good.replacen("\"revision\":6,", "", 1), "no envelope: missing field `revision` at line 3"),
            (good.replacen(&format!("{environment}.environment"), &format!("{}.environment", Uuid::nil()), 1), "cut"),
        ];
        for (text, reason) in cases {
            let refusal = refusal(&text);
            assert!(refusal.contains(reason), "{refusal}, not {reason}: {text}");
        }
        let named = refusal(&good.replacen("\"revision\":6", "\"revision\":\"6\"", 1));
        assert!(named.contains(&format!("{environment}.flag.")) && named.contains("line 3"), "{named}");
        assert!(matches!(Bundle::parse(b"{\"kind\":\"\xff"), Err(BundleError::NotText(9))));
    }

    #[test]
    fn a_bundle_that_was_cut_anywhere_is_refused() {
        let good = text();
        for end in 0..good.trim_end().len() {
            assert!(Bundle::parse(&good.as_bytes()[..end]).is_err(), "{}", &good[..end]);
        }
    }

    #[test]
    fn an_environment_that_no_backend_would_publish_is_refused() {
        let good = text();
        let body = |bytes: usize| good.replacen("\"body\":{}", &format!("\"body\":\"{}\"", "x".repeat(bytes)), 1);
        let others = "{\"b\": 1.50,\"a\":[1e2 , \"\\u00e4\"]}".len() + "\"\"".len();
        let most = body(ENVIRONMENT_BYTES_MAX - others);
        assert!(Bundle::parse(most.as_bytes()).is_ok());
        let refusal = refusal(&body(ENVIRONMENT_BYTES_MAX - others + 1));
        assert!(refusal.contains(&Uuid::from_u128(1).to_string()) && refusal.contains("67108864"), "{refusal:.200}");
        let spaces = vec![b' '; BUNDLE_BYTES_MAX + 1];
        assert!(matches!(Bundle::parse(&spaces), Err(BundleError::TooLarge)));
    }
}
