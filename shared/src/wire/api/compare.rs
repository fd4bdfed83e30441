//! Two environments side by side, and bringing flags from one to the other.

use serde::{Deserialize, Serialize};

use crate::model::changeset::Note;
use crate::model::key::{EnvironmentKey, FlagKey, SegmentKey};
use crate::wire::api::flag::StateShape;

/// A page of flags in two environments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ComparisonPage {
    /// By key.
    pub items: Vec<FlagComparison>,
    /// Where the next page begins; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// All flags that match.
    pub matching: u64,
}

/// A flag in two environments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FlagComparison {
    /// Which.
    pub key: FlagKey,
    /// For people.
    pub name: String,
    /// Whether it is set up otherwise in the two; kills, which nobody promotes, make no difference.
    pub differs: bool,
    /// How it stands where it would come from; absent where it has no config.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<ComparedState>,
    /// How it stands where it would go; absent where it has no config.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<ComparedState>,
    /// What promoting it would change, one line each; `+` added, `−` removed, `~` changed. Empty when it changes nothing.
    pub changes: Vec<String>,
    /// Segments that no flag reaches there yet: they would be published with it.
    pub segments: Vec<SegmentKey>,
    /// Flags that it needs and that have no config there: promote them with it or before.
    pub missing: Vec<FlagKey>,
}

/// How a flag stands in one of the two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ComparedState {
    /// What most users get, as a shape.
    pub shape: StateShape,
    /// The same in at most 18 characters.
    pub brief: String,
    /// The same as a sentence.
    pub sentence: String,
    /// Version of the config.
    pub version: u64,
}

/// Sets flags up in one environment as they are in another: seeds stay, so the same users get the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Promote {
    /// From where.
    pub from: EnvironmentKey,
    /// To where.
    pub to: EnvironmentKey,
    /// Which; 1 to 1,000, each once.
    pub flags: Vec<PromotedFlag>,
    /// Why; may be empty.
    #[serde(default)]
    pub note: Note,
}

/// A flag as whoever promotes it saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PromotedFlag {
    /// Which.
    pub key: FlagKey,
    /// Version of its config where it goes; 0 where there is none.
    pub version: u64,
    /// Version of its config where it comes from; when absent that may have changed meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_version: Option<u64>,
}
