//! Environments: where flags run.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::model::key::{EnvironmentKey, ProjectKey};

/// How many environments a project may have.
pub const ENVIRONMENTS_MAX: usize = 50;
/// How many hues there are to tell environments apart.
pub const HUES: u8 = 8;

/// What an edge has to know of an environment itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentDefinition {
    /// Its project.
    pub project: ProjectKey,
    /// Its own key; answers carry `project/key` as `flagSetId`.
    pub key: EnvironmentKey,
    /// Random; the hashes that stand for users in exposures and events are keyed by it, so that they mean nothing
    /// elsewhere. Absent in environments that were published by an older version and not changed since; without it
    /// nothing of experiments is gathered there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit_key: Option<Uuid>,
}
