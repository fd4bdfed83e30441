//! What a flag needs, and what needs it.

use serde::{Deserialize, Serialize};

use crate::model::key::{EnvironmentKey, FlagKey, SegmentKey};
use crate::model::prerequisite::Prerequisite;
use crate::wire::api::flag::StateShape;

/// A flag among the flags it needs and those that need it, in one environment. Nothing can need itself, so both ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PrerequisiteGraph {
    /// Where.
    pub environment: EnvironmentKey,
    /// The flag itself, with the flags it needs below it; at most 64 in all, each once and as near as it is needed.
    pub needs: GraphFlag,
    /// Flags that need it, each with those that need that one below it; at most 64 in all, each once.
    pub needed_by: Vec<GraphFlag>,
    /// How many flags need it, directly or through others.
    pub needed_by_total: u64,
    /// Segments that it reaches, by its own rules or through what it needs; at most 64, by key.
    pub segments: Vec<GraphSegment>,
}

/// A flag in a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GraphFlag {
    /// The flag.
    pub flag: FlagKey,
    /// Its name.
    pub name: String,
    /// What most users get, as a shape.
    pub shape: StateShape,
    /// What it answers now, as a sentence.
    pub answer: String,
    /// All flags that it needs directly and the answers it needs them to give, also those that stand elsewhere.
    pub prerequisites: Vec<Prerequisite>,
    /// The flags below it.
    #[cfg_attr(feature = "openapi", schema(no_recursion))]
    pub flags: Vec<GraphFlag>,
}

/// A segment that a flag reaches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GraphSegment {
    /// The segment.
    pub segment: SegmentKey,
    /// Its name.
    pub name: String,
    /// How many flags name it, in any environment.
    pub flags: u64,
    /// The first 20 of them by key.
    pub used_by: Vec<FlagKey>,
    /// Segments that name it.
    pub used_by_segments: Vec<SegmentKey>,
}
