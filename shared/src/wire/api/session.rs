//! Signing in, and who is signed in.

use serde::{Deserialize, Serialize};

use crate::model::id::UserId;

/// Starts a session; the answer sets its cookie.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SignIn {
    /// The person's e-mail, in any case.
    pub email: String,
    /// The person's password.
    pub password: String,
}

/// Who is signed in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SessionDetail {
    /// The person.
    pub user: UserSummary,
    /// May do everything everywhere.
    pub is_admin: bool,
}

/// A person, as shown beside what they did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UserSummary {
    /// The person's id.
    pub id: UserId,
    /// The person's name.
    pub name: String,
    /// The person's e-mail.
    pub email: String,
}
