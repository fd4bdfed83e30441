//! What travels to the edge: the bucket's keys, the envelope that every version can read, and the bodies inside.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use thiserror::Error;
use uuid::Uuid;

use crate::model::flag::{FlagConfig, FlagDefinition};
use crate::model::id::{EnvironmentId, FlagId, SdkKeyId, SegmentId};

/// The KV bucket that holds what edges must hold.
pub const BUCKET: &str = "fluxgate_state";
/// The format that this version writes. A reader of an older one keeps the last body it could read.
pub const FORMAT: u32 = 1;
/// The largest value put into the bucket, in bytes.
pub const VALUE_BYTES_MAX: usize = 512 * 1024;
/// The most bytes that one environment may hold in the bucket.
pub const ENVIRONMENT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// What a value in the bucket is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Entity {
    /// A flag: body is a [`FlagBody`].
    Flag(FlagId),
    /// A segment: body is a [`crate::model::segment::SegmentDefinition`].
    Segment(SegmentId),
    /// An SDK key: body is a [`crate::model::sdk_key::SdkKeyDefinition`].
    SdkKey(SdkKeyId),
    /// The environment itself: body is a [`crate::model::environment::EnvironmentDefinition`]. Its revision is the
    /// environment's, and it is always put last.
    Environment,
}

/// A key of the bucket: `<environment id>.flag.<id>`, `.segment.<id>`, `.key.<id>` or `.environment`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StateKey {
    /// Whose state it is.
    pub environment: EnvironmentId,
    /// What it is about.
    pub entity: Entity,
}

/// A text that is not a key of the bucket.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("'{0}' is not a key of the state bucket")]
pub struct StateKeyError(String);

/// The value of every key, readable by every version, past and future.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Envelope {
    /// Format of the body.
    pub format: u32,
    /// The changeset that wrote it.
    pub revision: u64,
    /// A flag that is killed answers its off variant, whatever its body says.
    #[serde(default)]
    pub killed: bool,
    /// No longer there; stays as a tombstone.
    #[serde(default)]
    pub deleted: bool,
    /// The document, absent when deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Box<RawValue>>,
}

/// A flag with its config in one environment: all that decides its answers, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlagBody {
    /// What is the same in every environment.
    pub flag: FlagDefinition,
    /// How it is set up here.
    pub config: FlagConfig,
}

impl fmt::Display for StateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let environment = self.environment;
        match self.entity {
            Entity::Flag(id) => write!(f, "{environment}.flag.{id}"),
            Entity::Segment(id) => write!(f, "{environment}.segment.{id}"),
            Entity::SdkKey(id) => write!(f, "{environment}.key.{id}"),
            Entity::Environment => write!(f, "{environment}.environment"),
        }
    }
}

impl FromStr for StateKey {
    type Err = StateKeyError;

    fn from_str(text: &str) -> Result<Self, StateKeyError> {
        let parse = || {
            let mut parts = text.split('.');
            let environment = Uuid::parse_str(parts.next()?).ok()?;
            let kind = parts.next()?;
            let mut id = || Uuid::parse_str(parts.next()?).ok();
            let entity = match kind {
                "flag" => Entity::Flag(id()?.into()),
                "segment" => Entity::Segment(id()?.into()),
                "key" => Entity::SdkKey(id()?.into()),
                "environment" => Entity::Environment,
                _ => return None,
            };
            parts.next().is_none().then(|| Self { environment: environment.into(), entity })
        };
        parse().ok_or_else(|| StateKeyError(text.chars().take(100).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_survives_a_round_trip_and_strangers_are_refused() {
        let environment = EnvironmentId::from(Uuid::from_u128(1));
        for entity in [
            Entity::Flag(Uuid::from_u128(2).into()),
            Entity::Segment(Uuid::from_u128(3).into()),
            Entity::SdkKey(Uuid::from_u128(4).into()),
            Entity::Environment,
        ] {
            let key = StateKey { environment, entity };
            assert_eq!(key.to_string().parse(), Ok(key));
        }
        for bad in ["", "x.flag.y", &format!("{environment}.flag"), &format!("{environment}.environment.x")] {
            assert!(bad.parse::<StateKey>().is_err(), "{bad}");
        }
    }
}
