//! Plans as people see them.

use std::collections::HashMap;

use shared::model::changeset::{ChangesetState, Note};
use shared::model::id::{ChangesetId, EnvironmentId};
use shared::model::key::{EnvironmentKey, FlagKey};
use shared::model::plan::StepState;
use shared::wire::api::plan::{PauseDetail, PlanDetail, PlanPage, PlannedFlag, StepDetail};
use sqlx::PgConnection;

use crate::app::plan::when;
use crate::auth::permission::InProject;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::plan::{PAGE_MAX, PlanFilter, PlanFlag, PlanPause, StoredPlan, StoredStep};

/// What is shown without a state being asked for: what may still do something.
const OPEN: [ChangesetState; 3] = [ChangesetState::Scheduled, ChangesetState::Suspended, ChangesetState::InReview];

/// The plans of a project, the newest first.
pub async fn list(
    state: &AppState,
    who: &InProject,
    flag: Option<FlagKey>,
    environment: Option<EnvironmentKey>,
    stands: Option<ChangesetState>,
    after: Option<ChangesetId>,
) -> Result<PlanPage, AppError> {
    let mut db = state.pool.acquire().await?;
    let environment = match environment {
        None => None,
        Some(key) => {
            let known = store::environment::list(&mut db, who.id()).await?;
            let found = known.into_iter().find(|known| known.key == key.as_str());
            Some(found.ok_or_else(|| AppError::not_found("environment", &key))?.id)
        }
    };
    let filter = PlanFilter {
        id: None,
        states: Some(stands.map_or_else(|| OPEN.to_vec(), |state| vec![state])),
        flag: flag.map(String::from),
        environment,
        after,
    };
    let mut plans = store::plan::list(&mut db, who.id(), &filter).await?;
    let page = usize::try_from(PAGE_MAX).unwrap_or(usize::MAX);
    let has_more = plans.len() > page;
    plans.truncate(page);
    let next = if has_more { plans.last().map(|plan| plan.id) } else { None };
    Ok(PlanPage { items: details(&mut db, who, plans).await?, next })
}

/// One plan.
pub async fn detail(state: &AppState, who: &InProject, id: ChangesetId) -> Result<PlanDetail, AppError> {
    let found = find(&mut *state.pool.acquire().await?, who, id).await?;
    found.ok_or_else(|| AppError::not_found("plan", id))
}

/// What a changeset does step by step; `None` when it does all at once.
pub(in crate::app) async fn find(
    db: &mut PgConnection,
    who: &InProject,
    id: ChangesetId,
) -> Result<Option<PlanDetail>, AppError> {
    let filter = PlanFilter { id: Some(id), ..PlanFilter::default() };
    let plans = store::plan::list(db, who.id(), &filter).await?;
    Ok(details(db, who, plans).await?.pop())
}

async fn details(db: &mut PgConnection, who: &InProject, plans: Vec<StoredPlan>) -> Result<Vec<PlanDetail>, AppError> {
    let ids: Vec<ChangesetId> = plans.iter().map(|plan| plan.id).collect();
    let mut keys: HashMap<EnvironmentId, EnvironmentKey> = HashMap::new();
    for environment in store::environment::list(db, who.id()).await? {
        keys.insert(environment.id, environment.key.parse().map_err(AppError::internal)?);
    }
    let steps = store::plan::list_steps(db, &ids).await?;
    let flags = store::plan::list_flags(db, &ids).await?;
    let pauses = store::plan::list_pauses(db, &ids).await?;
    let details = plans.into_iter().map(|plan| {
        let id = plan.id;
        let steps = steps.iter().filter(|step| step.changeset_id == id);
        let flags = flags.iter().filter(|flag| flag.changeset_id == id);
        detail_of(plan, &keys, steps, flags, pauses.iter().find(|pause| pause.changeset_id == id))
    });
    details.collect()
}

fn detail_of<'a>(
    plan: StoredPlan,
    keys: &HashMap<EnvironmentId, EnvironmentKey>,
    rows: impl Iterator<Item = &'a StoredStep>,
    flags: impl Iterator<Item = &'a PlanFlag>,
    pause: Option<&PlanPause>,
) -> Result<PlanDetail, AppError> {
    let steps: Vec<StepDetail> = plan
        .plan
        .steps
        .into_iter()
        .zip(rows)
        .map(|(step, row)| StepDetail {
            moved: when::moved(&step.when),
            when: step.when,
            changes: step.changes,
            note: step.note,
            state: row.state,
            due_at: row.due_at.map(Into::into),
            revision: row.revision,
            applied_at: row.applied_at.map(Into::into),
            problem: row.problem.clone(),
        })
        .collect();
    let is_open = !plan.state.is_final();
    let is_next = |step: &StepDetail| matches!(step.state, StepState::Waiting | StepState::Blocked);
    let current = steps.iter().position(is_next).filter(|_| is_open);
    let mut flags = flags
        .map(|flag| {
            let environment = flag.environment_id.and_then(|id| keys.get(&id).cloned());
            Ok(PlannedFlag { flag: flag.flag_key.parse().map_err(AppError::internal)?, environment })
        })
        .collect::<Result<Vec<_>, AppError>>()?;
    flags.sort();
    Ok(PlanDetail {
        id: plan.id,
        state: plan.state,
        author: plan.author_name,
        note: Note::try_from(plan.note).map_err(AppError::internal)?,
        created_at: plan.created_at.into(),
        environments: plan.environments.iter().filter_map(|id| keys.get(id).cloned()).collect(),
        flags,
        steps,
        current: current.and_then(|index| u32::try_from(index).ok()),
        pause: pause.map(|pause| PauseDetail {
            at: pause.at.into(),
            by: pause.user_name.clone(),
            reason: pause.reason.clone(),
        }),
        problem: plan.problem,
        went_back: None,
    })
}
