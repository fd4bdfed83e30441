//! Rules: who gets what.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::model::condition::Condition;
use crate::model::id::RuleId;
use crate::model::key::VariantKey;
use crate::model::split::Split;

/// What to answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", try_from = "ServeDocument")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Serve {
    /// One variant for everybody.
    Variant(VariantKey),
    /// Shares of users.
    Split(Split),
}

/// The JSON of a serve as it is read, so that one of the wrong shape is told in our words.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServeDocument {
    variant: Option<VariantKey>,
    split: Option<Split>,
}

/// Why a JSON object is not a serve.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("what to serve is exactly one of {{\"variant\": …}} or {{\"split\": …}}")]
pub struct ServeError;

impl TryFrom<ServeDocument> for Serve {
    type Error = ServeError;

    fn try_from(document: ServeDocument) -> Result<Self, ServeError> {
        match document {
            ServeDocument { variant: Some(variant), split: None } => Ok(Self::Variant(variant)),
            ServeDocument { variant: None, split: Some(split) } => Ok(Self::Split(split)),
            _ => Err(ServeError),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_serve_is_a_variant_or_a_split_and_says_so() {
        let variant = r#"{"variant":"on"}"#;
        let split = r#"{"split":{"bucket_by":"targetingKey","algorithm":"murmur3","seed":"s","ranges":[]}}"#;
        for good in [variant, split] {
            let serve: Serve = serde_json::from_str(good).expect("a serve");
            assert_eq!(serde_json::to_string(&serve).expect("JSON"), good);
        }
        for bad in ["{}", r#"{"variant":null}"#, &format!("{},{}", &variant[..variant.len() - 1], &split[1..])] {
            let error = serde_json::from_str::<Serve>(bad).expect_err(bad);
            assert!(error.is_data() && error.to_string().starts_with("what to serve is exactly one of"), "{error}");
        }
        assert!(serde_json::from_str::<Serve>(r#"{"variant":"on","x":1}"#).expect_err("unknown").is_data());
    }
}
