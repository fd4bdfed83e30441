//! Flag by flag: how often, and with which errors.

use serde::{Deserialize, Serialize};

use crate::model::id::FlagId;
use crate::model::key::FlagKey;
use crate::model::timestamp::Timestamp;
use crate::wire::api::count::CountGap;

/// The flags evaluated most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TopFlags {
    /// First moment.
    pub from: Timestamp,
    /// One past the last.
    pub to: Timestamp,
    /// The biggest first.
    pub flags: Vec<TopFlag>,
    /// How many flags were evaluated in all.
    pub evaluated: u64,
    /// Evaluations of all of them.
    pub total: u64,
    /// What may be missing.
    pub gaps: Vec<CountGap>,
}

/// How often a flag was evaluated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TopFlag {
    /// Its id.
    pub id: FlagId,
    /// Its key; absent when it exists no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flag: Option<FlagKey>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// All evaluations.
    pub total: u64,
    /// Alone.
    pub single: u64,
    /// With all others.
    pub bulk: u64,
    /// With an error.
    pub errors: u64,
    /// The last minute in which it was evaluated alone, whenever that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_evaluated_at: Option<Timestamp>,
}

/// Evaluations that could not be answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CountErrors {
    /// First moment.
    pub from: Timestamp,
    /// One past the last.
    pub to: Timestamp,
    /// The most frequent first, at most 200.
    pub errors: Vec<FlagErrors>,
    /// All of them, those not listed included.
    pub total: u64,
    /// What may be missing.
    pub gaps: Vec<CountGap>,
}

/// One kind of error of one flag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FlagErrors {
    /// The flag.
    pub id: FlagId,
    /// Its key; absent when it exists no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flag: Option<FlagKey>,
    /// OpenFeature's error code.
    pub code: String,
    /// How often.
    pub count: u64,
    /// The first minute in which it was ever counted.
    pub first_at: Timestamp,
    /// The last.
    pub last_at: Timestamp,
}
