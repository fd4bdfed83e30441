//! SDK keys: how an application proves which environment it may ask about.

use serde::{Deserialize, Serialize};

use crate::model::timestamp::Timestamp;

/// Who holds a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum SdkKeyKind {
    /// A server application; sees every flag.
    Server,
    /// A browser or phone, where anyone can read the key; sees flags that are `client_visible`.
    Client,
}

impl SdkKeyKind {
    /// How a key of this kind begins.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Server => "fg_srv_",
            Self::Client => "fg_cli_",
        }
    }
}

/// What an edge has to know of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SdkKeyDefinition {
    /// SHA-256 of the key in lower-case hex; the key itself is stored nowhere.
    pub hash: String,
    /// Who holds it.
    pub kind: SdkKeyKind,
    /// Web origins that a client key may be used from; empty means any.
    #[serde(default)]
    pub origins: Vec<String>,
    /// Refused from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Refused for good.
    #[serde(default)]
    pub revoked: bool,
}
