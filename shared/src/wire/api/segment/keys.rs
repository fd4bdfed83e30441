//! The keys that are in a segment by name, or never in it.

use serde::{Deserialize, Serialize};

use crate::model::changeset::Note;
use crate::model::key::SegmentKey;
use crate::wire::api::changeset::ChangesetDetail;

/// One of the two lists of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum KeyList {
    /// In the segment unless excluded.
    Included,
    /// Never in it.
    Excluded,
}

impl KeyList {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Included => "included",
            Self::Excluded => "excluded",
        }
    }
}

/// Adds keys to a list of a segment and removes others. `If-Match` carries the segment's version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EditKeys {
    /// Which list.
    pub list: KeyList,
    /// To be in the list; at most 10,000. A key that is there already stays where it is.
    #[serde(default)]
    pub add: Vec<String>,
    /// Not to be in the list any more; at most 10,000. A key that is added and removed is wrong.
    #[serde(default)]
    pub remove: Vec<String>,
    /// Why; may be empty.
    #[serde(default)]
    pub note: Note,
}

/// What became of a change of a list of keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EditedKeys {
    /// What became of the write; absent when there was nothing to change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changeset: Option<ChangesetDetail>,
    /// Keys that were not in the list before.
    pub added: u64,
    /// Keys to be added that were in the list already, or were named twice.
    pub already_there: u64,
    /// Keys that are no more in the list.
    pub removed: u64,
    /// Keys to be removed that were not in the list.
    pub not_there: u64,
    /// Keys in the list afterwards; at most 10,000.
    pub total: u64,
    /// Keys that are in both lists afterwards; they are excluded.
    pub in_both: u64,
}

/// A list of keys of a segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SegmentKeys {
    /// The segment.
    pub segment: SegmentKey,
    /// Which list.
    pub list: KeyList,
    /// Of the segment, for `If-Match`.
    pub version: u64,
    /// All keys of the list.
    pub total: u64,
    /// Those that match, in the order of the list; at most 10,000.
    pub keys: Vec<String>,
}

/// Whether somebody is in a segment, as far as the key alone tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Membership {
    /// Never in it.
    Excluded,
    /// In it, by name.
    Included,
    /// The key is in no list, and conditions decide by what else is known of the person.
    Depends,
    /// Not in it: the key is in no list and there are no conditions.
    Outside,
}

/// Whether the person of a key is in a segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SegmentMembership {
    /// The key that was asked for.
    pub key: String,
    /// What it means.
    pub membership: Membership,
    /// The same in words.
    pub sentence: String,
}
