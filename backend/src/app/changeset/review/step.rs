//! The steps that people take.

use serde_json::{Value, json};
use shared::model::change::Change;
use shared::model::changeset::{ChangesetState, Note, Via};
use shared::model::id::{ChangesetId, EnvironmentId};
use shared::model::permission::Permission;
use shared::model::webhook::EventType;
use sqlx::{Acquire, PgConnection, Postgres, Transaction};

use crate::app::changeset::protection::{Verdict, check_permissions};
use crate::app::changeset::review::apply::{How, apply_locked, author_of};
use crate::app::changeset::review::permit::check_break_glass;
use crate::app::changeset::review::{Outcome, Tally, Told, apply_waiting, check_text, counts_in, lock, tell};
use crate::app::changeset::submit::{check_person, digest, footprint};
use crate::app::changeset::{Protection, Write, note_commit, prepare};
use crate::auth::permission::InProject;
use crate::auth::sdk_key::hex;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::audit::NewEvent;
use crate::store::changeset::Changeset;
use crate::store::review::Replacement;

use ChangesetState::{Approved, Cancelled, Draft, InReview, Rejected, Scheduled, Suspended};

/// Agrees to a changeset as its reader saw it. With the last approval that was missing it is applied.
pub async fn approve(
    state: &AppState,
    who: &InProject,
    id: ChangesetId,
    seen: &str,
    note: &Note,
) -> Result<(), AppError> {
    check_person(who, "approves")?;
    let mut tx = state.pool.begin().await?;
    let waiting = lock(&mut tx, who.id(), id).await?;
    check_state(&waiting, "approve", &[InReview])?;
    if !seen.eq_ignore_ascii_case(&hex(&waiting.digest)) {
        let message = "it was edited since you read it; read it again, then approve what it does now";
        return Err(AppError::conflict("changed", message));
    }
    let protection = Protection::find(&mut tx, who.id()).await?;
    check_approver(&protection, who, &waiting)?;
    let now = state.clock.now();
    store::review::approve(&mut tx, id, who.actor.user, &waiting.digest, note.as_str(), now).await?;
    store::review::set_state(&mut tx, who.id(), id, InReview, None).await?;
    let detail = json!({ "digest": hex(&waiting.digest) });
    note_step(state, &mut tx, who, &waiting, "changeset.approved", detail).await?;
    tell_of(state, &mut tx, who, &waiting, EventType::ChangesetApproved, None).await?;
    let how = How { via: Via::Approval, break_glass: None };
    let outcome = apply_locked(state, &mut tx, who.id(), &waiting, how).await?;
    finish(state, tx, &outcome).await
}

/// Refuses a changeset for good, and says why.
pub async fn reject(state: &AppState, who: &InProject, id: ChangesetId, reason: &str) -> Result<(), AppError> {
    check_person(who, "rejects")?;
    let reason = check_text("reason", reason)?;
    let mut tx = state.pool.begin().await?;
    let waiting = lock(&mut tx, who.id(), id).await?;
    check_state(&waiting, "reject", &[InReview, Approved, Scheduled, Suspended])?;
    let protection = Protection::find(&mut tx, who.id()).await?;
    if counts_in(&protection, &waiting.environments, who.actor.user).is_empty() {
        return Err(AppError::Refused("only somebody whose approval would count may reject it".into()));
    }
    store::review::close(&mut tx, who.id(), id, Rejected, Some(reason), who.actor.user, state.clock.now()).await?;
    note_step(state, &mut tx, who, &waiting, "changeset.rejected", json!({ "reason": reason })).await?;
    tell_of(state, &mut tx, who, &waiting, EventType::ChangesetRejected, Some(reason)).await?;
    tx.commit().await?;
    Ok(())
}

/// Takes a changeset back; its author and who edited it may.
pub async fn cancel(state: &AppState, who: &InProject, id: ChangesetId) -> Result<(), AppError> {
    let mut tx = state.pool.begin().await?;
    let waiting = lock(&mut tx, who.id(), id).await?;
    check_state(&waiting, "take back", &[Draft, InReview, Approved, Scheduled, Suspended])?;
    check_writer(who, &waiting, "take it back")?;
    store::review::close(&mut tx, who.id(), id, Cancelled, None, who.actor.user, state.clock.now()).await?;
    note_step(state, &mut tx, who, &waiting, "changeset.cancelled", json!({})).await?;
    tx.commit().await?;
    Ok(())
}

/// Replaces what a changeset does and why. All approvals are void, and who edits it cannot approve it any more.
pub async fn edit(
    state: &AppState,
    who: &InProject,
    id: ChangesetId,
    version: u64,
    changes: Vec<Change>,
    note: &Note,
) -> Result<(), AppError> {
    let mut tx = state.pool.begin().await?;
    let waiting = lock(&mut tx, who.id(), id).await?;
    check_state(&waiting, "edit", &[Draft, InReview, Suspended])?;
    if store::plan::lock(&mut tx, who.id(), id).await? {
        let message = "what happens step by step is not edited; take it back and ask anew";
        return Err(AppError::conflict("wrong_state", message));
    }
    if waiting.version != version {
        return Err(AppError::Stale { noun: "changeset", expected: version, actual: waiting.version });
    }
    let author = author_of(&mut tx, who.id(), &waiting).await?.ok_or_else(|| gone(&waiting))?;
    let protection = Protection::find(&mut tx, who.id()).await?;
    let mut attempt = tx.begin().await?;
    let writes = changes.iter().cloned().map(Write::from).collect();
    let prepared = prepare(state, &mut attempt, who.id(), &author.actor, writes, note).await?;
    // It is applied as its author, and nobody can slip in what they may not do themselves.
    check_permissions(who, &prepared)?;
    match waiting.state {
        Draft => check_permissions(&author, &prepared)?,
        _ => {
            protection.judge(&author, &prepared, note)?;
        }
    }
    let environments: Vec<EnvironmentId> = footprint(&prepared).iter().map(|environment| environment.id).collect();
    attempt.rollback().await?;
    let new = Replacement {
        state: if waiting.state == Draft { Draft } else { InReview },
        note: note.as_str(),
        changes: &changes,
        digest: &digest(who.id(), &environments, &changes, note.as_str())?,
        environments: &environments,
        editor: who.actor.user,
    };
    let voided = store::review::void_approvals(&mut tx, id).await?;
    store::review::replace(&mut tx, who.id(), id, &new).await?;
    let detail = json!({ "from": hex(&waiting.digest), "to": hex(new.digest), "voided": voided });
    note_step(state, &mut tx, who, &waiting, "changeset.edited", detail).await?;
    tx.commit().await?;
    Ok(())
}

/// Asks for what was a draft: it is applied at once where nobody else has to agree.
pub async fn start(state: &AppState, who: &InProject, id: ChangesetId) -> Result<(), AppError> {
    let mut tx = state.pool.begin().await?;
    let waiting = lock(&mut tx, who.id(), id).await?;
    check_state(&waiting, "submit", &[Draft])?;
    check_writer(who, &waiting, "submit it")?;
    let author = author_of(&mut tx, who.id(), &waiting).await?.ok_or_else(|| gone(&waiting))?;
    let note = Note::try_from(waiting.note.clone()).map_err(AppError::internal)?;
    let protection = Protection::find(&mut tx, who.id()).await?;
    let mut attempt = tx.begin().await?;
    let writes = waiting.changes.iter().cloned().map(Write::from).collect();
    let prepared = prepare(state, &mut attempt, who.id(), &author.actor, writes, &note).await?;
    let verdict = protection.judge(&author, &prepared, &note)?;
    let environments: Vec<EnvironmentId> = footprint(&prepared).iter().map(|environment| environment.id).collect();
    attempt.rollback().await?;
    // What it touches may have changed since the draft was saved.
    let new = Replacement {
        state: InReview,
        note: &waiting.note,
        changes: &waiting.changes,
        digest: &digest(who.id(), &environments, &waiting.changes, &waiting.note)?,
        environments: &environments,
        editor: who.actor.user,
    };
    store::review::replace(&mut tx, who.id(), id, &new).await?;
    note_step(state, &mut tx, who, &waiting, "changeset.submitted", json!({ "digest": hex(new.digest) })).await?;
    if verdict == Verdict::NeedsApproval {
        let waiting = Changeset { environments, ..waiting };
        tell_of(state, &mut tx, who, &waiting, EventType::ChangesetRequested, None).await?;
        tx.commit().await?;
        return Ok(());
    }
    let waiting = lock(&mut tx, who.id(), id).await?;
    let how = How { via: who.actor.via, break_glass: None };
    let outcome = apply_locked(state, &mut tx, who.id(), &waiting, how).await?;
    finish(state, tx, &outcome).await
}

/// Tries again what was suspended, or what has enough approvals since a policy asks for fewer.
pub async fn apply(state: &AppState, who: &InProject, id: ChangesetId) -> Result<(), AppError> {
    let mut tx = state.pool.begin().await?;
    let waiting = lock(&mut tx, who.id(), id).await?;
    check_state(&waiting, "apply", &[InReview, Approved, Suspended])?;
    check_edit(who, &waiting)?;
    let outcome = apply_waiting(state, &mut tx, who.id(), id, Via::Approval).await?;
    match outcome {
        Outcome::Waits(tallies) if waiting.state == InReview => Err(waits(&tallies)),
        Outcome::Waits(_) => {
            store::review::set_state(&mut tx, who.id(), id, InReview, None).await?;
            tx.commit().await?;
            Ok(())
        }
        outcome => finish(state, tx, &outcome).await,
    }
}

/// Applies a changeset whatever the policies say; the reason stays in history.
pub async fn break_glass(state: &AppState, who: &InProject, id: ChangesetId, reason: &str) -> Result<(), AppError> {
    check_person(who, "passes over a policy")?;
    let reason = check_text("reason", reason)?;
    let mut tx = state.pool.begin().await?;
    let waiting = lock(&mut tx, who.id(), id).await?;
    check_state(&waiting, "apply", &[InReview, Approved, Scheduled, Suspended])?;
    let protection = Protection::find(&mut tx, who.id()).await?;
    check_break_glass(&protection, who, &waiting)?;
    check_edit(who, &waiting)?;
    if who.actor.user != waiting.author {
        store::review::set_break_glass_by(&mut tx, id, who.actor.user).await?;
    }
    note_step(state, &mut tx, who, &waiting, "changeset.glass_broken", json!({ "reason": reason })).await?;
    let how = How { via: who.actor.via, break_glass: Some((who, reason)) };
    let outcome = apply_locked(state, &mut tx, who.id(), &waiting, how).await?;
    match outcome {
        // Nothing was passed over, so nothing says so.
        Outcome::Suspended(problem) => {
            tx.rollback().await?;
            Err(AppError::conflict("does_not_fit", problem))
        }
        outcome => finish(state, tx, &outcome).await,
    }
}

/// Says something about a changeset.
pub async fn comment(state: &AppState, who: &InProject, id: ChangesetId, text: &str) -> Result<(), AppError> {
    let text = check_text("text", text)?;
    let mut tx = state.pool.begin().await?;
    let waiting = super::find(&mut tx, who.id(), id).await?;
    let now = state.clock.now();
    if !store::review::insert_comment(&mut tx, id, state.clock.id(), who.actor.user, text, now).await? {
        let message = format!("a changeset has at most {} comments", store::review::COMMENTS_MAX);
        return Err(AppError::field("text", message));
    }
    store::review::announce(&mut tx, who.id(), id, waiting.state).await?;
    tx.commit().await?;
    Ok(())
}

/// Has webhooks told of a step of somebody's.
async fn tell_of(
    state: &AppState,
    tx: &mut PgConnection,
    who: &InProject,
    waiting: &Changeset,
    kind: EventType,
    reason: Option<&str>,
) -> Result<(), AppError> {
    let told = Told {
        project: who.id(),
        id: waiting.id,
        environments: &waiting.environments,
        by: Some(&who.actor.name),
        note: &waiting.note,
        reason,
    };
    tell(state, tx, kind, &told).await
}

async fn finish(state: &AppState, tx: Transaction<'_, Postgres>, outcome: &Outcome) -> Result<(), AppError> {
    tx.commit().await?;
    if let Outcome::Applied(done) = outcome {
        note_commit(state, done);
    }
    Ok(())
}

pub(super) fn check_state(waiting: &Changeset, verb: &str, from: &[ChangesetState]) -> Result<(), AppError> {
    if from.contains(&waiting.state) {
        return Ok(());
    }
    let stands = waiting.state.as_str().replace('_', " ");
    let message = format!("nobody can {verb} a changeset that is {stands}; read it again");
    Err(AppError::conflict("wrong_state", message))
}

/// Fails when this person's approval would not count.
pub(super) fn check_approver(protection: &Protection, who: &InProject, waiting: &Changeset) -> Result<(), AppError> {
    if waiting.is_written_by(who.actor.user) {
        let message = "nobody approves what they wrote a part of; ask somebody who did not";
        return Err(AppError::Refused(message.into()));
    }
    if counts_in(protection, &waiting.environments, who.actor.user).is_empty() {
        let message =
            "your approval counts in none of the environments that this changes; ask somebody who may approve";
        return Err(AppError::Refused(message.into()));
    }
    Ok(())
}

pub(super) fn check_writer(who: &InProject, waiting: &Changeset, what: &str) -> Result<(), AppError> {
    if waiting.is_written_by(who.actor.user) {
        return Ok(());
    }
    Err(AppError::Refused(format!("only {} and who else edited it may {what}", waiting.author_name)))
}

/// Fails when it is not theirs and they may not edit where it changes something.
pub(super) fn check_edit(who: &InProject, waiting: &Changeset) -> Result<(), AppError> {
    let may = |id: &EnvironmentId| who.permissions.in_environment(*id, Permission::Edit);
    if waiting.is_written_by(who.actor.user) || waiting.environments.iter().all(may) {
        return Ok(());
    }
    Err(AppError::Forbidden(format!("the permission {} in every environment it changes", Permission::Edit)))
}

fn gone(waiting: &Changeset) -> AppError {
    let message = format!("{} is no member any more; reject it, and ask anew yourself", waiting.author_name);
    AppError::conflict("does_not_fit", message)
}

fn waits(tallies: &[Tally]) -> AppError {
    let message = match tallies.iter().map(Tally::missing).max().unwrap_or(0) {
        1 => "one more approval is needed; ask somebody who may approve".to_owned(),
        missing => format!("{missing} more approvals are needed; ask people who may approve"),
    };
    AppError::conflict("needs_approval", message)
}

async fn note_step(
    state: &AppState,
    db: &mut PgConnection,
    who: &InProject,
    waiting: &Changeset,
    kind: &'static str,
    detail: Value,
) -> Result<(), AppError> {
    let mut detail = detail;
    detail["changeset"] = json!(waiting.id);
    let subject = format!("changeset of {}", waiting.author_name);
    let event = NewEvent {
        at: state.clock.now(),
        actor: Some(who.actor.user),
        via: who.actor.via,
        project: Some(who.id()),
        kind,
        subject: &subject,
        detail,
    };
    store::audit::insert(db, &event).await?;
    Ok(())
}
