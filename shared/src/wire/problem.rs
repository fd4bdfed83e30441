//! The one error body of the admin API (RFC 9457).

use serde::{Deserialize, Serialize};

use crate::model::problem::FieldProblem;
use crate::wire::api::flag::ConfigMerge;

/// Content type of a [`Problem`].
pub const CONTENT_TYPE: &str = "application/problem+json";

/// What went wrong and the way out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// Always `about:blank`; `code` tells problems apart.
    pub r#type: String,
    /// The status in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// Stable, in snake case: `not_found`, `stale`, `invalid` …
    pub code: String,
    /// A sentence for people.
    pub detail: String,
    /// What is wrong with which field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldProblem>,
    /// With code `stale` of a flag's config: what is needed to put both edits together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<Box<ConfigMerge>>,
}
