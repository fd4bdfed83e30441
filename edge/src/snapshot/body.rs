//! Bodies of the bucket, byte for byte, and what can be told of one that cannot be read.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use shared::model::environment::EnvironmentDefinition;
use shared::model::key::{EnvironmentKey, FlagKey, ProjectKey, SegmentKey};
use shared::model::sdk_key::SdkKeyDefinition;
use shared::model::segment::SegmentDefinition;
use shared::wire::state::{Entity, FORMAT, FlagBody};

use crate::snapshot::{Entry, KeyHash};

/// A body as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// Format it says it has.
    pub format: u32,
    /// Its JSON.
    pub json: Arc<str>,
}

impl Body {
    pub(super) fn new(format: u32, json: &RawValue) -> Self {
        Self { format, json: json.get().into() }
    }

    /// The document, unless it is of a newer format or this version does not understand it.
    pub(super) fn parse<T: for<'de> Deserialize<'de>>(&self) -> Result<T, String> {
        if self.format > FORMAT {
            return Err(format!("its format {} is newer than {FORMAT}", self.format));
        }
        serde_json::from_str(&self.json).map_err(|error| error.to_string())
    }
}

/// Whether this version can make answers from a body.
pub(super) fn is_readable(entity: Entity, body: &Body) -> bool {
    match entity {
        Entity::Flag(_) => body.parse::<FlagBody>().is_ok(),
        Entity::Segment(_) => body.parse::<SegmentDefinition>().is_ok(),
        Entity::SdkKey(_) => {
            body.parse::<SdkKeyDefinition>().is_ok_and(|definition| hash_from_hex(&definition.hash).is_some())
        }
        Entity::Environment => body.parse::<EnvironmentDefinition>().is_ok(),
    }
}

/// The little that can be told of a body that cannot be read.
pub(super) fn lenient<T: for<'de> Deserialize<'de>>(entry: &Entry) -> Option<T> {
    [&entry.unreadable, &entry.body].into_iter().flatten().find_map(|body| serde_json::from_str(&body.json).ok())
}

/// A newer body that cannot be read may still say that the key is revoked, and is obeyed in that.
pub(super) fn is_said_revoked(entry: &Entry) -> bool {
    #[derive(Deserialize)]
    struct LenientKey {
        #[serde(default)]
        revoked: bool,
    }
    let newest = entry.unreadable.as_ref().and_then(|body| serde_json::from_str::<LenientKey>(&body.json).ok());
    newest.is_some_and(|key| key.revoked)
}

#[derive(Deserialize)]
pub(super) struct LenientFlag {
    pub(super) flag: LenientDefinition,
}

#[derive(Deserialize)]
pub(super) struct LenientDefinition {
    pub(super) key: FlagKey,
    #[serde(default)]
    pub(super) client_visible: bool,
}

#[derive(Deserialize)]
pub(super) struct LenientSegment {
    pub(super) key: SegmentKey,
}

#[derive(Deserialize)]
pub(super) struct LenientEnvironment {
    pub(super) project: ProjectKey,
    pub(super) key: EnvironmentKey,
}

/// SHA-256 from its 64 hex digits.
pub(super) fn hash_from_hex(hex: &str) -> Option<KeyHash> {
    let mut hash = KeyHash::default();
    let digits = hex.as_bytes().as_chunks::<2>().0;
    if hex.len() != 2 * hash.len() {
        return None;
    }
    for (byte, pair) in hash.iter_mut().zip(digits) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *byte = u8::try_from(digit(0)? * 16 + digit(1)?).ok()?;
    }
    Some(hash)
}
