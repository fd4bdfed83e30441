//! Environments of a project.

use serde::{Deserialize, Serialize};

use crate::model::id::EnvironmentId;
use crate::model::key::EnvironmentKey;
use crate::model::permission::PermissionSet;

/// Adds an environment at the end of the promotion order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateEnvironment {
    /// Names it in addresses and answers; cannot change.
    pub key: EnvironmentKey,
    /// For people; 1 to 100 characters.
    pub name: String,
    /// One of eight hues, 1 to 8; the next free one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hue: Option<u8>,
}

/// Changes how an environment is shown; absent fields stay. The last write counts: neither decides what a flag answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UpdateEnvironment {
    /// For people; 1 to 100 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// One of eight hues, 1 to 8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hue: Option<u8>,
}

/// An environment, as shown everywhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EnvironmentSummary {
    /// Its id, as in receipts and counts.
    pub id: EnvironmentId,
    /// Names it in addresses and answers.
    pub key: EnvironmentKey,
    /// For people.
    pub name: String,
    /// One of eight hues, 1 to 8.
    pub hue: u8,
    /// The last changeset that touched it.
    pub revision: u64,
    /// Whether others have to agree before a change touches it.
    pub is_protected: bool,
    /// What the person asking may do there.
    pub permissions: PermissionSet,
}
