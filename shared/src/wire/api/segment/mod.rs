//! Segments: who is in them, who uses them, and what a change of one would do.

mod effect;
mod keys;

pub use effect::{SegmentEffect, SegmentEnvironment, SegmentRule, SegmentUse, SegmentUses};
pub use keys::{EditKeys, EditedKeys, KeyList, Membership, SegmentKeys, SegmentMembership};
use serde::{Deserialize, Serialize};

use crate::model::changeset::Note;
use crate::model::condition::Condition;
use crate::model::key::{FlagKey, SegmentKey};
use crate::model::segment::SegmentDefinition;
use crate::model::timestamp::Timestamp;

/// Makes a segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateSegment {
    /// Who is in it.
    pub definition: SegmentDefinition,
    /// For people; 1 to 100 characters.
    pub name: String,
    /// Why; may be empty.
    #[serde(default)]
    pub note: Note,
}

/// Replaces who is in a segment. `If-Match` carries its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UpdateSegment {
    /// For people; 1 to 100 characters.
    pub name: String,
    /// Never in it; at most 10,000.
    #[serde(default)]
    pub excluded: Vec<String>,
    /// In it unless excluded; at most 10,000.
    #[serde(default)]
    pub included: Vec<String>,
    /// Who else is in it.
    #[serde(default)]
    pub conditions: Condition,
    /// Why; may be empty.
    #[serde(default)]
    pub note: Note,
}

/// Gives a segment another name; who is in it stays, so no answer changes. `If-Match` carries its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RenameSegment {
    /// For people; 1 to 100 characters.
    pub name: String,
    /// Why; may be empty.
    #[serde(default)]
    pub note: Note,
}

/// A segment with who is in it and who uses it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SegmentDetail {
    /// Who is in it.
    pub definition: SegmentDefinition,
    /// For people.
    pub name: String,
    /// For `If-Match`.
    pub version: u64,
    /// Last change.
    pub changed_at: Timestamp,
    /// Who made it.
    pub changed_by: String,
    /// Flags with a rule that names it, in any environment.
    pub used_by: Vec<FlagKey>,
    /// Segments with a condition that names it.
    #[serde(default)]
    pub used_by_segments: Vec<SegmentKey>,
}

/// A segment in a list, without its keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SegmentSummary {
    /// Named by rules.
    pub key: SegmentKey,
    /// For people.
    pub name: String,
    /// For `If-Match`.
    pub version: u64,
    /// Keys that are never in it.
    pub excluded: u64,
    /// Keys that are in it.
    pub included: u64,
    /// Who else is in it, in words; empty when only the included keys are.
    #[serde(default)]
    pub conditions: String,
    /// Last change.
    pub changed_at: Timestamp,
    /// Who made it.
    pub changed_by: String,
    /// Flags with a rule that names it, in any environment.
    pub used_by: Vec<FlagKey>,
    /// Segments with a condition that names it.
    #[serde(default)]
    pub used_by_segments: Vec<SegmentKey>,
}

/// A page of segments; a project has at most 1,000.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SegmentList {
    /// By key.
    pub items: Vec<SegmentSummary>,
    /// Where the next page begins; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<SegmentKey>,
    /// All segments that match.
    #[serde(default)]
    pub matching: u64,
}
