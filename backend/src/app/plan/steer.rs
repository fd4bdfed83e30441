//! What people do with a plan that runs: pause it, let it go on, bring its next step forward, stop it.

use serde_json::json;
use shared::model::changeset::{ChangesetState, Note, Via};
use shared::model::id::{ChangesetId, UserId};
use shared::model::permission::Permission;
use shared::wire::api::plan::{PlanDetail, StopPlan};
use sqlx::{PgConnection, Postgres, Transaction};

use crate::app::changeset::{Protection, Way, ask_in, note_commit};
use crate::app::plan::run::{self, Outcome};
use crate::app::plan::wrong_state;
use crate::app::plan::{inverse, list};
use crate::auth::permission::InProject;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::audit::NewEvent;
use crate::store::plan::StoredPlan;

/// Keeps a plan from going on.
pub async fn pause(state: &AppState, who: &InProject, id: ChangesetId, note: &Note) -> Result<PlanDetail, AppError> {
    let (mut tx, plan) = begin(state, who, id).await?;
    if plan.state != ChangesetState::Scheduled {
        return Err(not_running(&plan));
    }
    if !store::plan::is_paused(&mut tx, id).await? {
        let said = note.as_str().trim();
        let why = if said.is_empty() { String::new() } else { format!(": {said}") };
        let reason = format!("{} paused it{why}", who.actor.name);
        store::plan::insert_pause(&mut tx, id, Some(who.actor.user), &reason, state.clock.now()).await?;
        record(state, &mut tx, who, "plan.paused", id, note).await?;
    }
    tx.commit().await?;
    list::detail(state, who, id).await
}

/// Lets a plan go on that was paused or suspended. A step whose time has passed happens at once.
pub async fn resume(state: &AppState, who: &InProject, id: ChangesetId, note: &Note) -> Result<PlanDetail, AppError> {
    let (mut tx, plan) = begin(state, who, id).await?;
    match plan.state {
        ChangesetState::Scheduled => {}
        ChangesetState::Suspended => store::plan::set_state(&mut tx, id, ChangesetState::Scheduled, None).await?,
        _ => return Err(not_running(&plan)),
    }
    if store::plan::is_killed(&mut tx, id).await? {
        let message = "a flag of this plan is killed; restore the flag first, then let the plan go on";
        return Err(wrong_state(message));
    }
    store::plan::delete_pauses(&mut tx, id).await?;
    store::plan::unblock(&mut tx, id).await?;
    record(state, &mut tx, who, "plan.resumed", id, note).await?;
    tx.commit().await?;
    list::detail(state, who, id).await
}

/// Applies the next step of a plan before its time.
pub async fn next(state: &AppState, who: &InProject, id: ChangesetId, note: &Note) -> Result<PlanDetail, AppError> {
    let (mut tx, plan) = begin(state, who, id).await?;
    if plan.state != ChangesetState::Scheduled {
        return Err(not_running(&plan));
    }
    check_agrees(&mut tx, who, &plan).await?;
    tx.commit().await?;
    match run::step(state, who.id(), id, Some((who, note))).await? {
        Outcome::Applied => list::detail(state, who, id).await,
        Outcome::Nothing => Err(wrong_state("the plan is paused; let it go on first")),
        Outcome::HeldBack(error) | Outcome::Suspended(error) => Err(error),
    }
}

/// Ends a plan before its last step, and keeps what its steps did or takes it back; all or nothing.
pub async fn stop(state: &AppState, who: &InProject, id: ChangesetId, body: StopPlan) -> Result<PlanDetail, AppError> {
    let (mut tx, plan) = begin(state, who, id).await?;
    if !matches!(plan.state, ChangesetState::Scheduled | ChangesetState::Suspended) {
        return Err(not_running(&plan));
    }
    let effects = store::plan::effects(&mut tx, id).await?;
    let inverse = if body.go_back { inverse::of(&mut tx, who.id(), &effects).await? } else { Vec::new() };
    store::plan::skip(&mut tx, id).await?;
    store::plan::delete_pauses(&mut tx, id).await?;
    let kept = if body.go_back { "and went back" } else { "and kept what it did" };
    let problem = format!("{} stopped it {kept}", who.actor.name);
    store::plan::set_state(&mut tx, id, ChangesetState::Cancelled, Some(&problem)).await?;
    record(state, &mut tx, who, "plan.stopped", id, &body.note).await?;
    let went_back = if inverse.is_empty() {
        None
    } else {
        Some(ask_in(state, &mut tx, who, inverse, &body.note, &Way::Usual).await?)
    };
    tx.commit().await?;
    if let Some(done) = &went_back {
        note_commit(state, done);
    }
    Ok(PlanDetail { went_back, ..list::detail(state, who, id).await? })
}

/// Holds the project and the plan, for somebody who may edit wherever it does something.
async fn begin(
    state: &AppState,
    who: &InProject,
    id: ChangesetId,
) -> Result<(Transaction<'static, Postgres>, StoredPlan), AppError> {
    let mut tx = state.pool.begin().await?;
    store::project::lock(&mut tx, who.id()).await?;
    let found = store::plan::find_for_update(&mut tx, who.id(), id).await?;
    let plan = found.ok_or_else(|| AppError::not_found("plan", id))?;
    for environment in &plan.environments {
        if !who.permissions.in_environment(*environment, Permission::Edit) {
            let message = format!("the permission {} wherever the plan does something", Permission::Edit);
            return Err(AppError::Forbidden(message));
        }
    }
    Ok((tx, plan))
}

/// Fails where people agreed to times that this person may not change: their own approval has to count there.
async fn check_agrees(db: &mut PgConnection, who: &InProject, plan: &StoredPlan) -> Result<(), AppError> {
    let protection = Protection::find(db, who.id()).await?;
    let person: UserId = who.actor.user;
    for environment in plan.environments.iter().filter(|id| protection.policy(**id).is_some()) {
        if who.actor.via == Via::Token {
            let message =
                "a token acts for its owner and never brings an agreed step forward; do it yourself, signed in";
            return Err(AppError::Refused(message.into()));
        }
        let counts = protection.approvers(*environment).iter().any(|approver| approver.id == person);
        if !counts || plan.editors.contains(&person) {
            let message = "somebody whose approval of this plan counts: people agreed to its times, too";
            return Err(AppError::Forbidden(message.into()));
        }
    }
    Ok(())
}

fn not_running(plan: &StoredPlan) -> AppError {
    wrong_state(format!("the plan is {}; only one that runs can be steered", plan.state))
}

/// Writes down what somebody did with a plan.
pub(super) async fn record(
    state: &AppState,
    db: &mut PgConnection,
    who: &InProject,
    kind: &'static str,
    id: ChangesetId,
    note: &Note,
) -> Result<(), AppError> {
    let event = NewEvent {
        at: state.clock.now(),
        actor: Some(who.actor.user),
        via: who.actor.via,
        project: Some(who.id()),
        kind,
        subject: &id.to_string(),
        detail: json!({ "note": note }),
    };
    Ok(store::audit::insert(db, &event).await?)
}
