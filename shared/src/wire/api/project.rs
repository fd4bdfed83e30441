//! Projects.

use serde::{Deserialize, Serialize};

use crate::model::key::{EnvironmentKey, ProjectKey};
use crate::model::permission::PermissionSet;
use crate::wire::api::environment::{CreateEnvironment, EnvironmentSummary};

/// Makes a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateProject {
    /// Names it in addresses and answers; cannot change.
    pub key: ProjectKey,
    /// For people; 1 to 100 characters.
    pub name: String,
    /// In promotion order; 1 to 50.
    pub environments: Vec<CreateEnvironment>,
}

/// Changes a project; absent fields stay. The last write counts: neither decides what a flag answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UpdateProject {
    /// For people; 1 to 100 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// All environments in their new promotion order, each once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environments: Option<Vec<EnvironmentKey>>,
}

/// A project with its environments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProjectDetail {
    /// Names it in addresses and answers.
    pub key: ProjectKey,
    /// For people.
    pub name: String,
    /// In promotion order.
    pub environments: Vec<EnvironmentSummary>,
    /// Flags that are not archived.
    pub flags: u64,
    /// What the person asking may do in the project as a whole; see the environments for those.
    pub permissions: PermissionSet,
    /// Whether the person asking may change flags.
    pub can_edit: bool,
    /// Whether the person asking may manage environments and SDK keys.
    pub can_manage: bool,
}

/// The projects that the person asking may see; at most 1,000.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProjectList {
    /// By name.
    pub items: Vec<ProjectDetail>,
}
