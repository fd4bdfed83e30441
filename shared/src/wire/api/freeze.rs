//! Freezes, as the API answers them.

use serde::{Deserialize, Serialize};

use crate::model::changeset::Note;
use crate::model::freeze::Freeze;
use crate::model::id::FreezeId;
use crate::model::key::EnvironmentKey;
use crate::model::timestamp::Timestamp;

/// A freeze to be made, or all of one that is changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SaveFreeze {
    /// The freeze.
    pub freeze: Freeze,
    /// Why; may be empty.
    #[serde(default)]
    pub note: Note,
}

/// The freezes of a project, and when they hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FreezeList {
    /// By name; at most 100.
    pub items: Vec<FreezeDetail>,
    /// The first moment of `environments`.
    pub from: Timestamp,
    /// One past their last.
    pub to: Timestamp,
    /// When each environment is frozen in that time, in promotion order.
    pub environments: Vec<FrozenEnvironment>,
}

/// A freeze.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FreezeDetail {
    /// Its id.
    pub id: FreezeId,
    /// What it says.
    pub freeze: Freeze,
    /// Counts up with every change.
    pub version: u64,
    /// When it was last changed.
    pub changed_at: Timestamp,
    /// Who did that.
    pub changed_by: String,
    /// When it holds now, or next; absent when it never will within a year.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Span>,
    /// Whether it holds now.
    pub is_active: bool,
}

/// When an environment is frozen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FrozenEnvironment {
    /// Which.
    pub environment: EnvironmentKey,
    /// In order of their beginning; those of different freezes may overlap.
    pub spans: Vec<FreezeSpan>,
}

/// A time in which one freeze holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FreezeSpan {
    /// Which.
    pub freeze: FreezeId,
    /// The first moment, within the time asked for.
    pub from: Timestamp,
    /// One past the last, within the time asked for.
    pub to: Timestamp,
}

/// From a moment to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Span {
    /// The first moment.
    pub from: Timestamp,
    /// One past the last.
    pub to: Timestamp,
}
