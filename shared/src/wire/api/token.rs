//! API tokens: how programs act for people.

use serde::{Deserialize, Serialize};

use crate::model::id::TokenId;
use crate::model::key::{EnvironmentKey, ProjectKey};
use crate::model::permission::PermissionSet;
use crate::model::timestamp::Timestamp;
use crate::wire::api::session::UserSummary;

/// How long a token may be valid at most, in days.
pub const TOKEN_DAYS_MAX: i64 = 366;
/// The most valid tokens of a person.
pub const TOKENS_MAX: i64 = 100;

/// Makes a token; its secret is in the answer and nowhere else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateToken {
    /// For people; 1 to 100 characters.
    pub name: String,
    /// What it may do beside reading, as far as its owner may; empty for reading alone. Programs never agree to changes,
    /// so `approve` and `break_glass` are refused.
    #[serde(default)]
    pub permissions: PermissionSet,
    /// The only project it reaches; all of its owner's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectKey>,
    /// The only environments of `project` in which it may do more than read, 1 to 50; all when absent. It then does nothing
    /// that concerns the project as a whole. Reading is of the project as a whole always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environments: Option<Vec<EnvironmentKey>>,
    /// Refused from then on; at most 366 days from now.
    pub expires_at: Timestamp,
}

/// A token without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TokenSummary {
    /// Its id.
    pub id: TokenId,
    /// For whom it acts.
    pub owner: UserSummary,
    /// For people.
    pub name: String,
    /// Beginning and end of the secret: `fg_api_…a91f`.
    pub hint: String,
    /// What it may do beside reading, as far as its owner may.
    pub permissions: PermissionSet,
    /// What it may do, in sentences.
    pub sentences: Vec<String>,
    /// The only project it reaches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectKey>,
    /// The only environments in which it may do more than read; empty once these were deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environments: Option<Vec<EnvironmentKey>>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Refused from then on.
    pub expires_at: Timestamp,
    /// Refused since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    /// When it was last used, to the minute; absent when never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Timestamp>,
    /// True while it is accepted.
    pub is_valid: bool,
}

/// A new token with its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreatedToken {
    /// The token.
    pub token: TokenSummary,
    /// What the program sends as `Authorization: Bearer …`; shown once.
    pub secret: String,
}

/// Tokens, revoked and expired ones included; at most 1,000.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TokenList {
    /// Newest first.
    pub items: Vec<TokenSummary>,
}
