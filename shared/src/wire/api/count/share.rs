//! Shares of a flag's answers.

use serde::{Deserialize, Serialize};

use crate::model::id::RuleId;
use crate::model::timestamp::Timestamp;
use crate::wire::api::count::CountGap;

/// What each place of a flag answered, beside what it is set up to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FlagShares {
    /// First moment.
    pub from: Timestamp,
    /// One past the last.
    pub to: Timestamp,
    /// In words.
    pub sentence: String,
    /// Evaluations of the flag alone.
    pub total: u64,
    /// Variants over all places, the most frequent first.
    pub variants: Vec<VariantShare>,
    /// The places of the present config in the order in which they are looked at, then others that answered.
    pub places: Vec<PlaceShares>,
    /// What may be missing.
    pub gaps: Vec<CountGap>,
}

/// What one place answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PlaceShares {
    /// As it is counted: `off`, `killed`, `blocked`, `target`, `rule <id>`, `default` or `error <code>`.
    pub place: String,
    /// Of a rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleId>,
    /// The rule's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// False for a rule that is not in the present config any more.
    pub is_current: bool,
    /// True when it is a split now; then only answers of a split are counted here.
    pub is_split: bool,
    /// Evaluations of the flag alone.
    pub total: u64,
    /// What it answered, and what its split says.
    pub variants: Vec<VariantShare>,
}

/// How often a variant was answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VariantShare {
    /// Its key; absent when none was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Evaluations.
    pub count: u64,
    /// Their part of the place, 0 to 1; absent without evaluations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// The part of its users that the split gives it, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configured: Option<f64>,
}
