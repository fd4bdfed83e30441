//! One's own account: name, password, sessions; and the one-time link to a new password.

use serde::{Deserialize, Serialize};

use crate::model::id::SessionId;
use crate::model::timestamp::Timestamp;
use crate::wire::api::session::UserSummary;

/// Oneself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AccountDetail {
    /// Who.
    pub user: UserSummary,
    /// May do everything everywhere.
    pub is_admin: bool,
    /// Since when there is an account.
    pub created_at: Timestamp,
}

/// Changes what people call one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UpdateAccount {
    /// For people; 1 to 100 characters.
    pub name: String,
}

/// Changes one's password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChangePassword {
    /// The password until now.
    pub current: String,
    /// 12 to 200 characters.
    pub new: String,
}

/// A session of one's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SessionSummary {
    /// Its id.
    pub id: SessionId,
    /// When it began.
    pub created_at: Timestamp,
    /// When it was last used, to the minute.
    pub last_used_at: Timestamp,
    /// When it ends unless it is used.
    pub expires_at: Timestamp,
    /// The browser in a few words, as in "Firefox 141 on Linux"; empty when it did not say.
    pub agent: String,
    /// True for the one that asks.
    pub is_current: bool,
}

/// One's own sessions; at most 100.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SessionList {
    /// The one used last first.
    pub items: Vec<SessionSummary>,
}

/// How many sessions were ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EndedSessions {
    /// Others than the one that asks.
    pub ended: u64,
}

/// A link that works once; it is in this answer and nowhere else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OneTimeLink {
    /// What to send to the person. What proves them stands behind `#`, which browsers send to no server.
    pub link: String,
    /// What stands behind `#`.
    pub token: String,
    /// Refused from then on.
    pub expires_at: Timestamp,
}

/// What a one-time link holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ShowLink {
    /// What stands behind `#`.
    pub token: String,
}

/// Whose password a link sets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PasswordReset {
    /// The person's name.
    pub name: String,
    /// The person's e-mail.
    pub email: String,
    /// Refused from then on.
    pub expires_at: Timestamp,
}

/// Sets a new password by a link; all sessions of the person end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ResetPassword {
    /// What stands behind `#`.
    pub token: String,
    /// 12 to 200 characters.
    pub password: String,
}
