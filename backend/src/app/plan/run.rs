//! How a step of a plan happens: once, whoever tries it and whatever crashes, because its row is moved from waiting to
//! applied in the transaction that applies it.

use shared::model::changeset::{ChangesetState, Note, Via};
use shared::model::id::{ChangesetId, ProjectId};
use shared::model::plan::When;
use shared::wire::api::changeset::ChangesetDetail;
use sqlx::{Acquire, PgConnection};
use time::Duration;

use crate::app::changeset::{Protection, Record, Write, note_commit, prepare};
use crate::app::plan::{steer, wrong_state};
use crate::auth::permission::{Actor, InProject};
use crate::error::{AppError, chain};
use crate::state::AppState;
use crate::store;
use crate::store::plan::{Due, NextStep, StoredPlan};

/// A step that a freeze holds back is tried again so often, since somebody may end the freeze.
const FROZEN_RETRY: Duration = Duration::seconds(10);
/// A step that failed for a fault of ours is tried again after this.
const FAILED_RETRY: Duration = Duration::MINUTE;

/// What came of trying a step.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It is done.
    Applied,
    /// It is not due, it is paused, or somebody else did it.
    Nothing,
    /// It waits for a reason that passes.
    HeldBack(AppError),
    /// It cannot be applied, so that the plan was suspended.
    Suspended(AppError),
}

/// Applies all steps that are due, of all plans. A step that is late is applied at once, and its followers in order.
pub async fn run_due(state: &AppState) -> Result<(), AppError> {
    let due = store::plan::list_due(&mut *state.pool.acquire().await?, state.clock.now()).await?;
    for Due { changeset_id, project_id } in due {
        loop {
            match step(state, project_id, changeset_id, None).await {
                Ok(Outcome::Applied) => {}
                Ok(_) => break,
                Err(error @ AppError::Unavailable(_)) => return Err(error),
                Err(error) => {
                    tracing::error!(changeset.id = %changeset_id, error = %chain(&error), "a step of a plan failed");
                    retry_later(state, changeset_id).await?;
                    break;
                }
            }
        }
    }
    Ok(())
}

/// Tries the next step of a plan: when it is due, or now when somebody brings it forward.
pub(super) async fn step(
    state: &AppState,
    project: ProjectId,
    id: ChangesetId,
    brought_forward: Option<(&InProject, &Note)>,
) -> Result<Outcome, AppError> {
    let mut tx = state.pool.begin().await?;
    // The project first, as everywhere, and only then the plan.
    store::project::lock(&mut tx, project).await?;
    let found = store::plan::find_for_update(&mut tx, project, id).await?;
    let Some(plan) = found.filter(|plan| plan.state == ChangesetState::Scheduled) else {
        return Ok(Outcome::Nothing);
    };
    let now = state.clock.now();
    let Some(next) = store::plan::next_step(&mut tx, id).await? else { return Ok(Outcome::Nothing) };
    let is_due = next.due_at.is_some_and(|at| at <= now) && next.retry_at.is_none_or(|at| at <= now);
    if !(is_due || brought_forward.is_some()) || store::plan::is_paused(&mut tx, id).await? {
        return Ok(Outcome::Nothing);
    }
    if store::plan::is_killed(&mut tx, id).await? {
        store::plan::insert_pause(&mut tx, id, None, "a flag of the plan is killed", now).await?;
        tx.commit().await?;
        return Ok(Outcome::Nothing);
    }
    let mut attempt = tx.begin().await?;
    if let Some((who, note)) = brought_forward {
        steer::record(state, &mut attempt, who, "plan.step_brought_forward", id, note).await?;
    }
    match apply(state, &mut attempt, project, &plan, next).await {
        Ok(done) => {
            // The counter is held now. A kill that got its number before is seen here; one that comes later comes after
            // this step in every history.
            if store::plan::is_paused(&mut attempt, id).await? || store::plan::is_killed(&mut attempt, id).await? {
                return Ok(Outcome::Nothing);
            }
            attempt.commit().await?;
            tx.commit().await?;
            note_commit(state, &done);
            tracing::info!(changeset.id = %id, step = next.ordinal, revision = done.revision, "a step was applied");
            Ok(Outcome::Applied)
        }
        Err(error @ (AppError::Unavailable(_) | AppError::Internal(_))) => Err(error),
        Err(error @ AppError::Frozen { until_at, .. }) => {
            attempt.rollback().await?;
            let retry_at = until_at.min(now + FROZEN_RETRY);
            store::plan::hold_back(&mut tx, id, next.ordinal, &error.to_string(), retry_at).await?;
            tx.commit().await?;
            Ok(Outcome::HeldBack(error))
        }
        Err(error) => {
            attempt.rollback().await?;
            let problem = error.to_string();
            store::plan::block(&mut tx, id, next.ordinal, &problem).await?;
            let problem = format!("step {} could not be applied: {problem}", next.ordinal + 1);
            store::plan::set_state(&mut tx, id, ChangesetState::Suspended, Some(&problem)).await?;
            tx.commit().await?;
            tracing::warn!(changeset.id = %id, problem, "a plan is suspended");
            Ok(Outcome::Suspended(error))
        }
    }
}

async fn apply(
    state: &AppState,
    tx: &mut PgConnection,
    project: ProjectId,
    plan: &StoredPlan,
    next: NextStep,
) -> Result<ChangesetDetail, AppError> {
    let ordinal = usize::try_from(next.ordinal).map_err(AppError::internal)?;
    let steps = &plan.plan.steps;
    let step = steps.get(ordinal).ok_or_else(|| AppError::internal("a row of a step that the plan has not"))?;
    let author = author(tx, project, plan).await?;
    let note = if step.note.as_str().is_empty() { Note::try_from(plan.note.clone()) } else { Ok(step.note.clone()) };
    let note = note.map_err(AppError::internal)?;
    let protection = Protection::find(tx, project).await?;
    let writes = step.changes.iter().cloned().map(Write::from).collect();
    let prepared = prepare(state, tx, project, &author.actor, writes, &note).await?;
    protection.check_agreed(&author, &prepared, &plan.approvals, &plan.editors)?;
    protection.check_freezes(&prepared)?;

    // The last step gives the plan itself its number; the others are changesets of their own.
    let id = if ordinal + 1 == steps.len() { plan.id } else { state.clock.id() };
    if !store::plan::advance(tx, plan.id, next.ordinal, id).await? {
        return Err(AppError::internal("a step whose row is held is not waiting"));
    }
    if let Some(When::After { seconds }) = steps.get(ordinal + 1).map(|step| &step.when) {
        let due_at = state.clock.now() + Duration::seconds(i64::from(*seconds));
        store::plan::set_due(tx, plan.id, next.ordinal + 1, due_at).await?;
    }
    let record = Record { id, author: Some(&author.actor), via: Via::Schedule, note: &note, break_glass: None };
    prepared.apply(state, tx, record).await
}

/// Who made the plan, with what they may do now.
async fn author(db: &mut PgConnection, project: ProjectId, plan: &StoredPlan) -> Result<InProject, AppError> {
    let gone = || wrong_state(format!("{} is no member any more; somebody else has to ask", plan.author_name));
    let user = store::user::find(db, plan.author).await?.ok_or_else(gone)?;
    let actor = Actor { user: user.id, name: user.name, via: Via::Schedule };
    let key = store::project::key(db, project).await?;
    InProject::find(db, &key, actor, user.is_admin).await?.ok_or_else(gone)
}

async fn retry_later(state: &AppState, id: ChangesetId) -> Result<(), AppError> {
    let mut tx = state.pool.begin().await?;
    if let Some(next) = store::plan::next_step(&mut tx, id).await? {
        let problem = "something went wrong on our side; it is tried again every minute";
        let retry_at = state.clock.now() + FAILED_RETRY;
        store::plan::hold_back(&mut tx, id, next.ordinal, problem, retry_at).await?;
    }
    tx.commit().await?;
    Ok(())
}
