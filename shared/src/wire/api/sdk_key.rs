//! SDK keys.

use serde::{Deserialize, Deserializer, Serialize};

use crate::model::id::SdkKeyId;
use crate::model::key::EnvironmentKey;
use crate::model::sdk_key::SdkKeyKind;
use crate::model::timestamp::Timestamp;
use crate::model::web_origin::WebOrigin;

/// The most web origins of a key.
pub const ORIGINS_MAX: usize = 20;
/// The longest time that an old key and the new one are valid together, in seconds.
pub const OVERLAP_SECONDS_MAX: u64 = 30 * 24 * 60 * 60;

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

/// Changes a key; absent fields stay. The last write counts: each field says what is to be, and none depends on what was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UpdateSdkKey {
    /// For people; 1 to 100 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Replaces all web origins of a client key, at most 20; any when empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origins: Option<Vec<WebOrigin>>,
    /// Refused from then on; never when null.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Timestamp>))]
    pub expires_at: Option<Option<Timestamp>>,
}

/// Makes a key that takes over from another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RotateSdkKey {
    /// How long both are valid; 0 to 2,592,000 (30 days). The old key never becomes valid for longer than it was.
    pub overlap_seconds: u64,
    /// When the new key is refused from; never when absent.
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
    /// Requests with it that edges counted in the last 5 minutes, or in the last period of counting where that is longer.
    /// The newest are some seconds late.
    #[serde(default)]
    pub recent_requests: u64,
    /// The key that it takes over from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<SdkKeyId>,
    /// The key that takes over from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<SdkKeyId>,
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

/// A field that is there, be it null.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<Timestamp>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_expiry_stays_and_null_takes_it_away() {
        let read = |text: &str| serde_json::from_str::<UpdateSdkKey>(text).expect("JSON").expires_at;
        assert_eq!(read("{}"), None);
        assert_eq!(read(r#"{"expires_at":null}"#), Some(None));
        let at = Timestamp::from_unix_ms(0).expect("a time");
        assert_eq!(read(r#"{"expires_at":"1970-01-01T00:00:00Z"}"#), Some(Some(at)));
    }
}
