//! Plans, as the API answers them.

use serde::{Deserialize, Serialize};

use crate::model::change::Change;
use crate::model::changeset::{ChangesetState, Note};
use crate::model::id::ChangesetId;
use crate::model::key::{EnvironmentKey, FlagKey};
use crate::model::plan::{Plan, StepState, When};
use crate::model::timestamp::Timestamp;
use crate::wire::api::changeset::ChangesetDetail;

/// A plan to be followed, once everybody who has to agree does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreatePlan {
    /// What happens, and when.
    pub plan: Plan,
    /// Why; may be empty where no policy wants it.
    #[serde(default)]
    pub note: Note,
}

/// How to end a plan before its last step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StopPlan {
    /// Whether what its steps did is taken back, which is a change like others: where a policy protects an environment,
    /// others have to agree. What they did stays when false.
    pub go_back: bool,
    /// Why; may be empty where no policy wants it.
    #[serde(default)]
    pub note: Note,
}

/// Plans, the newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PlanPage {
    /// At most 50.
    pub items: Vec<PlanDetail>,
    /// Send it as `after` for the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<ChangesetId>,
}

/// A changeset that happens step by step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PlanDetail {
    /// The changeset's id.
    pub id: ChangesetId,
    /// `scheduled` while it runs; `in_review` before, `applied` after its last step, `cancelled` when somebody stopped it,
    /// `suspended` when a step could not be applied.
    pub state: ChangesetState,
    /// Who made it.
    pub author: String,
    /// Why.
    pub note: Note,
    /// When it was made.
    pub created_at: Timestamp,
    /// Environments whose answers or rules it changes, in promotion order.
    pub environments: Vec<EnvironmentKey>,
    /// Flags that it is about.
    pub flags: Vec<PlannedFlag>,
    /// In order.
    pub steps: Vec<StepDetail>,
    /// The step that is next, counted from 0; absent when none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<u32>,
    /// Who keeps it from going on; absent when nobody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<PauseDetail>,
    /// Why it is suspended, or who stopped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// What takes its steps back, when somebody just asked for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub went_back: Option<ChangesetDetail>,
}

/// A flag that a plan is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PlannedFlag {
    /// Which.
    pub flag: FlagKey,
    /// Where; everywhere when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<EnvironmentKey>,
}

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StepDetail {
    /// When it happens, as its author said.
    pub when: When,
    /// What happens.
    pub changes: Vec<Change>,
    /// Why.
    pub note: Note,
    /// Where it stands.
    pub state: StepState,
    /// When that is; absent while it waits for the step before it, or for people to agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
    /// That the time was moved, because clocks skip it; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<String>,
    /// The number it was applied by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
    /// When it was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_at: Option<Timestamp>,
    /// What holds it back, or why it could not be applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Why a plan does not go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PauseDetail {
    /// Since when.
    pub at: Timestamp,
    /// Who did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Why, in a sentence.
    pub reason: String,
}
