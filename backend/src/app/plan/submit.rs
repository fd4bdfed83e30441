//! Asking for a plan: every step is checked now, so that what is wrong is refused now and not when it is due.

use std::collections::{BTreeSet, HashMap};

use shared::model::change::Change;
use shared::model::changeset::{ChangesetState, Note};
use shared::model::id::{ChangesetId, EnvironmentId};
use shared::model::key::{EnvironmentKey, FlagKey};
use shared::model::plan::{Plan, Step, When};
use shared::model::problem::FieldProblem;
use shared::model::timestamp::Timestamp;
use shared::wire::api::changeset::{ChangeEffect, ChangesetDetail};
use shared::wire::api::plan::PlanDetail;
use sqlx::{Acquire, PgConnection};
use time::{Duration, OffsetDateTime};

use crate::app::changeset::effect;
use crate::app::changeset::review::Outcome;
use crate::app::changeset::{Protection, Verdict, Write, digest_of_plan, footprint, invalid_at, prepare};
use crate::app::plan::{list, when};
use crate::auth::permission::InProject;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::changeset::{Changeset, NewWaiting};
use crate::store::environment::Environment;

/// What a plan would do.
struct Rehearsal {
    verdict: Verdict,
    /// Environments with other answers or rules after any of its steps, in promotion order.
    environments: Vec<Environment>,
    /// What each step does to each thing, where that was asked for.
    effects: Vec<ChangeEffect>,
}

/// Makes a plan. It runs from now on where nobody else has to agree; else it is put before those who have to.
pub async fn submit(state: &AppState, who: &InProject, plan: Plan, note: &Note) -> Result<PlanDetail, AppError> {
    plan.validate().map_err(|problems| invalid_at("plan", problems))?;
    let now = state.clock.now();
    let due = when::due(&plan, now)?;
    let mut plan = plan;
    let mut tx = state.pool.begin().await?;
    let rehearsal = rehearse(state, &mut tx, who, &mut plan, note, false).await?;
    let ids: Vec<EnvironmentId> = rehearsal.environments.iter().map(|environment| environment.id).collect();
    let new = NewWaiting {
        id: state.clock.id(),
        project: who.id(),
        author: who.actor.user,
        via: who.actor.via,
        state: ChangesetState::InReview,
        note: note.as_str(),
        changes: &[],
        digest: &digest_of_plan(who.id(), &ids, &plan, note.as_str())?,
        environments: &ids,
        at: now,
    };
    store::changeset::insert_waiting(&mut tx, &new).await?;
    let environments = store::environment::list(&mut tx, who.id()).await?;
    store::plan::save(&mut tx, who.id(), new.id, &plan, &due, &flags_of(&plan, &environments)).await?;
    if rehearsal.verdict == Verdict::Free {
        start(&mut tx, new.id, &plan, now).await?;
    }
    tx.commit().await?;
    list::detail(state, who, new.id).await
}

/// Sets a plan going that nobody has to agree to any more: its first step is due now, at its time, or after its hold.
pub async fn start(tx: &mut PgConnection, id: ChangesetId, plan: &Plan, now: OffsetDateTime) -> Result<(), AppError> {
    store::plan::set_state(tx, id, ChangesetState::Scheduled, None).await?;
    store::plan::unblock(tx, id).await?;
    let due = match plan.steps.first().map(|step| &step.when) {
        Some(When::Now) => Some(now),
        Some(When::After { seconds }) => Some(now + Duration::seconds(i64::from(*seconds))),
        Some(When::Local { .. } | When::Moment { .. }) | None => None,
    };
    if let Some(due) = due {
        store::plan::set_due(tx, id, 0, due).await?;
    }
    Ok(())
}

/// Sets a plan going that waited for people to agree, when everything that an approval signs still holds; see
/// `changeset::review`.
pub(in crate::app) async fn begin(
    state: &AppState,
    tx: &mut PgConnection,
    author: &InProject,
    waiting: &Changeset,
    plan: &Plan,
) -> Result<Outcome, AppError> {
    if digest_of_plan(author.id(), &waiting.environments, plan, &waiting.note)? != waiting.digest {
        return Ok(Outcome::Suspended("its content is not what was signed; take it back and ask anew".into()));
    }
    let rehearsal = match try_out(state, tx, author, waiting, plan, false).await? {
        Ok((verdict, _)) => verdict,
        Err(problem) => return Ok(Outcome::Suspended(problem)),
    };
    if rehearsal == Verdict::NeedsApproval {
        let protection = Protection::find(tx, author.id()).await?;
        let approvals = store::review::list_approvals(tx, &[waiting.id]).await?;
        let tallies = protection.tally(&waiting.environments, waiting, &approvals);
        if tallies.iter().any(|tally| tally.missing() > 0) {
            return Ok(Outcome::Waits(tallies));
        }
    }
    start(tx, waiting.id, plan, state.clock.now()).await?;
    let environments = store::environment::list(tx, author.id()).await?;
    let keys = environments.iter().filter(|known| waiting.environments.contains(&known.id));
    Ok(Outcome::Applied(ChangesetDetail {
        id: waiting.id,
        state: ChangesetState::Scheduled,
        revision: None,
        applied_at: None,
        environments: keys.map(|known| known.key.parse()).collect::<Result<_, _>>().map_err(AppError::internal)?,
        requested: None,
    }))
}

/// What a plan that waits would do now, or why it does not fit any more.
pub(in crate::app) async fn try_out(
    state: &AppState,
    tx: &mut PgConnection,
    author: &InProject,
    waiting: &Changeset,
    plan: &Plan,
    with_effects: bool,
) -> Result<Result<(Verdict, Vec<ChangeEffect>), String>, AppError> {
    let note = Note::try_from(waiting.note.clone()).map_err(AppError::internal)?;
    let mut plan = plan.clone();
    let rehearsal = match rehearse(state, tx, author, &mut plan, &note, with_effects).await {
        Ok(rehearsal) => rehearsal,
        Err(error @ (AppError::Unavailable(_) | AppError::Internal(_))) => return Err(error),
        Err(error) => return Ok(Err(format!("a step does not fit any more: {error}; take it back and ask anew"))),
    };
    let now: BTreeSet<EnvironmentId> = rehearsal.environments.iter().map(|known| known.id).collect();
    if now != waiting.environments.iter().copied().collect() {
        let problem = "it would now change answers or rules elsewhere than was asked for; take it back and ask anew";
        return Ok(Err(problem.into()));
    }
    Ok(Ok((rehearsal.verdict, rehearsal.effects)))
}

/// Writes all steps, one after another, checks what each does, and takes everything back. Changes of shares without a
/// version get the one they find, so that what people agree to says what it was written on.
async fn rehearse(
    state: &AppState,
    tx: &mut PgConnection,
    who: &InProject,
    plan: &mut Plan,
    note: &Note,
    with_effects: bool,
) -> Result<Rehearsal, AppError> {
    let mut attempt = tx.begin().await?;
    store::project::lock(&mut attempt, who.id()).await?;
    let protection = Protection::find(&mut attempt, who.id()).await?;
    let mut verdict = Verdict::Free;
    let mut effects = Vec::new();
    let mut touched: BTreeSet<EnvironmentId> = BTreeSet::new();
    for (index, step) in plan.steps.iter_mut().enumerate() {
        fill_versions(&mut attempt, who, step).await?;
        let writes = step.changes.iter().cloned().map(Write::from).collect();
        let prepared = prepare(state, &mut attempt, who.id(), &who.actor, writes, &step.note).await;
        let prepared = prepared.map_err(|error| in_step(index, error))?;
        if protection.judge_ahead(who, &prepared, note)? == Verdict::NeedsApproval {
            verdict = Verdict::NeedsApproval;
        }
        if with_effects {
            effects.extend(
                effect::of_prepared(&mut attempt, &prepared, Timestamp::from(state.clock.now()).unix_ms()).await?,
            );
        }
        touched.extend(footprint(&prepared).iter().map(|environment| environment.id));
    }
    let environments = store::environment::list(&mut attempt, who.id()).await?;
    attempt.rollback().await?;
    let environments = environments.into_iter().filter(|environment| touched.contains(&environment.id)).collect();
    Ok(Rehearsal { verdict, environments, effects })
}

async fn fill_versions(db: &mut PgConnection, who: &InProject, step: &mut Step) -> Result<(), AppError> {
    let mut known: HashMap<(FlagKey, EnvironmentKey), u64> = HashMap::new();
    for change in &mut step.changes {
        match change {
            Change::SetShare { flag, environment, version, .. } => {
                let place = (flag.clone(), environment.clone());
                let found = match (*version, known.get(&place)) {
                    (Some(version), _) => version,
                    (None, Some(version)) => *version,
                    (None, None) => {
                        store::plan::config_version(db, who.id(), flag.as_str(), environment.as_str()).await?
                    }
                };
                *version = Some(found);
                known.insert(place, found + 1);
            }
            Change::SaveConfig { flag, environment, version, .. } => {
                known.insert((flag.clone(), environment.clone()), *version + 1);
            }
            _ => {}
        }
    }
    Ok(())
}

/// What is wrong, seen from the body's root.
fn in_step(index: usize, error: AppError) -> AppError {
    let AppError::Invalid(problems) = error else { return error };
    let place = |p: FieldProblem| FieldProblem { field: format!("plan.steps[{index}].{}", p.field), ..p };
    AppError::Invalid(problems.into_iter().map(place).collect())
}

/// The flags that a plan is about, and where.
fn flags_of(plan: &Plan, environments: &[Environment]) -> Vec<(String, Option<EnvironmentId>)> {
    let id = |key: &EnvironmentKey| environments.iter().find(|e| e.key == key.as_str()).map(|e| e.id);
    let flag_of = |change: &Change| match change {
        Change::SaveConfig { flag, environment, .. } | Change::SetShare { flag, environment, .. } => {
            Some((flag.to_string(), id(environment)))
        }
        Change::UpdateFlag { flag, .. } => Some((flag.to_string(), None)),
        Change::CreateFlag(new) => Some((new.definition.key.to_string(), None)),
        _ => None,
    };
    let flags: BTreeSet<_> = plan.steps.iter().flat_map(|step| &step.changes).filter_map(flag_of).collect();
    flags.into_iter().collect()
}
