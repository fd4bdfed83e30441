//! Saved views: addresses of the list of flags under a name.

use serde::{Deserialize, Serialize};

use crate::model::id::ViewId;
use crate::model::timestamp::Timestamp;

/// Views of a project that somebody can use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ViewList {
    /// Their own and those that others share, by name.
    pub items: Vec<ViewDetail>,
}

/// A saved view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ViewDetail {
    /// Its id.
    pub id: ViewId,
    /// For people.
    pub name: String,
    /// Parameters of the list of flags, as in its address: `state=on:production&sort=key`.
    pub query: String,
    /// Whether everybody in the project can use it.
    pub shared: bool,
    /// Whether the list of this project begins with it, for whoever asks.
    pub default: bool,
    /// Whether it is of whoever asks, who alone may change it.
    pub mine: bool,
    /// Whose it is.
    pub owner: String,
    /// When it was last changed.
    pub changed_at: Timestamp,
}

/// Saves a view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateView {
    /// For people; 1 to 100 characters, unique among one's own.
    pub name: String,
    /// Parameters of the list of flags; at most 2,000 characters.
    pub query: String,
    /// Whether everybody in the project can use it.
    #[serde(default)]
    pub shared: bool,
    /// Whether one's list of this project begins with it.
    #[serde(default)]
    pub default: bool,
}

/// Changes a view; absent fields stay. `default` is one's own choice and may be made of views of others, too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UpdateView {
    /// For people; 1 to 100 characters, unique among one's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Parameters of the list of flags; at most 2,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// Whether everybody in the project can use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<bool>,
    /// Whether one's list of this project begins with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<bool>,
}
