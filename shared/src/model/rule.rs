//! Rules: who gets what.

use serde::{Deserialize, Serialize};

use crate::model::condition::Condition;
use crate::model::id::RuleId;
use crate::model::key::VariantKey;
use crate::model::split::Split;

/// What to answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Serve {
    /// One variant for everybody.
    Variant(VariantKey),
    /// Shares of users.
    Split(Split),
}

/// A rule of a flag config; the first one that applies answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Rule {
    /// Stays the same while the rule is edited, so that its counts go on.
    pub id: RuleId,
    /// For people; at most 100 characters.
    #[serde(default)]
    pub name: String,
    /// Skipped while true.
    #[serde(default)]
    pub paused: bool,
    /// Who it is for; without conditions it is everyone.
    #[serde(default)]
    pub conditions: Condition,
    /// What they get.
    pub serve: Serve,
}
