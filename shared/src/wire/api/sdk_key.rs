//! SDK keys.

use serde::{Deserialize, Serialize};

use crate::model::id::SdkKeyId;
use crate::model::key::EnvironmentKey;
use crate::model::sdk_key::SdkKeyKind;
use crate::model::timestamp::Timestamp;
use crate::model::web_origin::WebOrigin;

/// The most web origins of a key.
pub const ORIGINS_MAX: usize = 20;

/// Makes a key; its secret is in the answer and nowhere else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateSdkKey {
    /// Where it is valid.
    pub environment: EnvironmentKey,
    /// For people; 1 to 100 characters.
    pub name: String,
    /// Who holds it.
    pub kind: SdkKeyKind,
    /// Where the web pages that may use a client key come from, at most 20; any when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<WebOrigin>,
    /// Refused from then on; never when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// A key without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SdkKeySummary {
    /// Its id.
    pub id: SdkKeyId,
    /// Where it is valid.
    pub environment: EnvironmentKey,
    /// For people.
    pub name: String,
    /// Who holds it.
    pub kind: SdkKeyKind,
    /// Where the web pages that may use it come from; empty means any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<WebOrigin>,
    /// Beginning and end of the secret: `fg_srv_…a91f`.
    pub hint: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it.
    pub created_by: String,
    /// Refused from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Refused since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    /// The last minute in which an edge counted a request with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Timestamp>,
}

/// A new key with its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreatedSdkKey {
    /// The key.
    pub key: SdkKeySummary,
    /// What the application sends; shown once.
    pub secret: String,
}

/// The keys of a project, revoked ones included; at most 1,000.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SdkKeyList {
    /// Newest first.
    pub items: Vec<SdkKeySummary>,
}
