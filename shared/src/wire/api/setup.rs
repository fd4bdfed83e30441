//! First run: the first person, project and environments.

use serde::{Deserialize, Serialize};

use crate::model::key::ProjectKey;
use crate::wire::api::environment::CreateEnvironment;

/// Whether first run is still possible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SetupStatus {
    /// True while no user exists.
    pub open: bool,
}

/// Makes the first admin and the first project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Setup {
    /// The one-time code that the backend prints at start.
    pub code: String,
    /// The person's name.
    pub name: String,
    /// The person's e-mail.
    pub email: String,
    /// 12 to 200 characters.
    pub password: String,
    /// The project's name.
    pub project_name: String,
    /// The project's key.
    pub project_key: ProjectKey,
    /// In promotion order.
    pub environments: Vec<CreateEnvironment>,
}
