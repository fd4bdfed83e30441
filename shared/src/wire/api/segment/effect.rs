//! Who uses a segment, and what a change of it would do.

use serde::{Deserialize, Serialize};

use crate::model::id::RuleId;
use crate::model::key::{EnvironmentKey, FlagKey, SegmentKey};

/// Who uses a segment, by name or through other segments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SegmentUses {
    /// By flag and environment: those of at most 200 flags.
    pub items: Vec<SegmentUse>,
    /// Where the next page begins; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<FlagKey>,
    /// All flags that use it somewhere.
    pub flags: u64,
    /// Segments that use it, by name or through others; by key.
    pub segments: Vec<SegmentKey>,
    /// How many flags use it where; in promotion order, without environments where none does.
    pub environments: Vec<SegmentEnvironment>,
}

/// How many flags use a segment in one environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SegmentEnvironment {
    /// Where.
    pub environment: EnvironmentKey,
    /// How many flags.
    pub flags: u64,
    /// Whether others have to agree before the segment may change.
    pub is_protected: bool,
}

/// A flag that uses a segment in one environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SegmentUse {
    /// The flag.
    pub flag: FlagKey,
    /// Its name.
    pub name: String,
    /// Where.
    pub environment: EnvironmentKey,
    /// Whether the flag is on there; while it is off, nobody notices.
    pub enabled: bool,
    /// Whether it is killed there.
    pub is_killed: bool,
    /// The rules that ask for it, in their order.
    pub rules: Vec<SegmentRule>,
    /// The same in words: `rule 2 Beta, through vip`.
    pub sentence: String,
}

/// A rule that asks for a segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SegmentRule {
    /// The rule.
    pub id: RuleId,
    /// Its place among the rules, from 1.
    pub number: u64,
    /// Its name; may be empty.
    pub name: String,
    /// Whether it is paused, and so asks nobody.
    pub paused: bool,
    /// The segment that the rule names, where that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<SegmentKey>,
}

/// What a change of a segment would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SegmentEffect {
    /// What changes, a sentence each; empty when nothing does.
    pub changes: Vec<String>,
    /// Keys that will be in the list of included ones and are not now.
    pub included_added: u64,
    /// Keys that are in the list of included ones now and will not be.
    pub included_removed: u64,
    /// Keys that will be in the list of excluded ones and are not now.
    pub excluded_added: u64,
    /// Keys that are in the list of excluded ones now and will not be.
    pub excluded_removed: u64,
    /// Where people notice; a change of the name alone is noticed nowhere.
    pub uses: SegmentUses,
    /// Version of the segment that the change was compared with, for `If-Match`.
    pub version: u64,
}
