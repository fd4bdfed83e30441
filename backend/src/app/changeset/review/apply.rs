//! Applying what waited: everything that was true when it was asked for is looked at again.

use std::collections::BTreeSet;

use shared::model::changeset::{ChangesetState, Note, Via};
use shared::model::id::{ChangesetId, EnvironmentId, ProjectId};
use shared::model::webhook::EventType;
use shared::wire::api::changeset::ChangesetDetail;
use sqlx::{Connection, PgConnection};

use crate::app::changeset::protection::{Verdict, check_permissions};
use crate::app::changeset::review::{Tally, Told, lock, tell};
use crate::app::changeset::submit::{digest, footprint};
use crate::app::changeset::{Prepared, Protection, Record, Write, prepare};
use crate::app::plan;
use crate::auth::permission::{Actor, InProject};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::changeset::Changeset;

/// What became of a changeset that waited.
pub(in crate::app) enum Outcome {
    /// It is applied, or its plan runs from now on; commit, then `note_commit`.
    Applied(ChangesetDetail),
    /// Approvals are missing; nothing is written.
    Waits(Vec<Tally>),
    /// It cannot be applied as it is; nothing is written but that, and why.
    Suspended(String),
}

/// How a changeset is applied that waited.
#[derive(Clone, Copy)]
pub(in crate::app) struct How<'a> {
    pub(super) via: Via,
    /// Who passes over the policies, and why.
    pub(super) break_glass: Option<(&'a InProject, &'a str)>,
}

/// Applies a changeset that waited, with its own id and as its author, when all of this holds at this moment: its changes
/// still fit and are valid; its author still may make them; they touch exactly the environments that were signed; and each
/// of these that is protected has the approvals that its policy wants, of this very content, by people who still may give
/// them and wrote no part of it. When approvals alone are missing, nothing happens. When anything else is wrong, the
/// changeset is suspended and says what to do.
pub(in crate::app) async fn apply_waiting(
    state: &AppState,
    tx: &mut PgConnection,
    project: ProjectId,
    id: ChangesetId,
    via: Via,
) -> Result<Outcome, AppError> {
    let waiting = lock(tx, project, id).await?;
    apply_locked(state, tx, project, &waiting, How { via, break_glass: None }).await
}

/// The same for rows that are held already.
pub(super) async fn apply_locked(
    state: &AppState,
    tx: &mut PgConnection,
    project: ProjectId,
    waiting: &Changeset,
    how: How<'_>,
) -> Result<Outcome, AppError> {
    let plan = store::plan::find_for_update(tx, project, waiting.id).await?;
    let tried = match author_of(tx, project, waiting).await? {
        Some(author) => {
            let mut attempt = tx.begin().await?;
            let tried = match (&plan, how.break_glass) {
                (None, _) => attempt_to(state, &mut attempt, &author, waiting, how).await,
                (Some(plan), None) => plan::begin(state, &mut attempt, &author, waiting, &plan.plan).await,
                (Some(_), Some(_)) => {
                    let problem = "what happens step by step needs its approvals; apply a step of it by itself instead";
                    Ok(Outcome::Suspended(problem.into()))
                }
            };
            if matches!(tried, Ok(Outcome::Applied(_))) {
                attempt.commit().await?
            } else {
                attempt.rollback().await?
            }
            tried
        }
        None => Ok(Outcome::Suspended(format!(
            "{} is no member any more, and nothing is applied for somebody who could not do it now; reject it, and \
             somebody else asks anew",
            waiting.author_name
        ))),
    };
    let outcome = match tried {
        Ok(outcome) => outcome,
        Err(error) => Outcome::Suspended(problem_of(waiting, error)?),
    };
    match &outcome {
        Outcome::Applied(done) => store::review::announce(tx, project, waiting.id, done.state).await?,
        Outcome::Waits(_) => {}
        Outcome::Suspended(problem) => {
            store::review::set_state(tx, project, waiting.id, ChangesetState::Suspended, Some(problem)).await?;
            let told = Told {
                project,
                id: waiting.id,
                environments: &waiting.environments,
                by: None,
                note: &waiting.note,
                reason: Some(problem),
            };
            tell(state, tx, EventType::ChangesetSuspended, &told).await?;
        }
    }
    Ok(outcome)
}

/// The author as they stand now; `None` when they are disabled or no member.
pub(in crate::app) async fn author_of(
    db: &mut PgConnection,
    project: ProjectId,
    waiting: &Changeset,
) -> Result<Option<InProject>, AppError> {
    let Some(user) = store::user::find(db, waiting.author).await? else { return Ok(None) };
    let key = store::project::key(db, project).await?;
    InProject::find(db, &key, Actor::person(user.id, user.name), user.is_admin).await
}

async fn attempt_to(
    state: &AppState,
    attempt: &mut PgConnection,
    author: &InProject,
    waiting: &Changeset,
    how: How<'_>,
) -> Result<Outcome, AppError> {
    let note = Note::try_from(waiting.note.clone()).map_err(AppError::internal)?;
    let signed = digest(author.id(), &waiting.environments, &waiting.changes, &waiting.note)?;
    if signed != waiting.digest {
        return Ok(Outcome::Suspended("its content is not what was signed; edit it, which asks everybody anew".into()));
    }
    let protection = Protection::find(attempt, author.id()).await?;
    let writes = waiting.changes.iter().cloned().map(Write::from).collect();
    let prepared = prepare(state, attempt, author.id(), &author.actor, writes, &note).await?;
    if let Some(problem) = check_footprint(&prepared, waiting) {
        return Ok(Outcome::Suspended(problem));
    }
    let break_glass = match how.break_glass {
        Some((who, reason)) => {
            check_permissions(author, &prepared)?;
            protection.check_break_glass(who, &prepared)?.then_some(reason)
        }
        None => {
            if protection.judge(author, &prepared, &note)? == Verdict::NeedsApproval {
                let approvals = store::review::list_approvals(attempt, &[waiting.id]).await?;
                let tallies = protection.tally(&waiting.environments, waiting, &approvals);
                if tallies.iter().any(|tally| tally.missing() > 0) {
                    return Ok(Outcome::Waits(tallies));
                }
            }
            None
        }
    };
    let record = Record { id: waiting.id, author: Some(&author.actor), via: how.via, note: &note, break_glass };
    prepared.apply(state, attempt, record).await.map(Outcome::Applied)
}

/// What is wrong when a changeset changes other environments than those that were signed.
pub(super) fn check_footprint(prepared: &Prepared, waiting: &Changeset) -> Option<String> {
    let touched = footprint(prepared);
    let now: BTreeSet<EnvironmentId> = touched.iter().map(|environment| environment.id).collect();
    if now == waiting.environments.iter().copied().collect() {
        return None;
    }
    let names: Vec<&str> = touched.iter().map(|environment| environment.key.as_str()).collect();
    let now = if names.is_empty() { "no environment".to_owned() } else { names.join(", ") };
    Some(format!(
        "it would now change answers or rules in {now}, which is not what was asked for; edit it, so that people see what \
         it does now"
    ))
}

/// Why a changeset cannot be applied as it is, and the way out; faults of ours and of the database are none of its own.
pub(in crate::app) fn problem_of(waiting: &Changeset, error: AppError) -> Result<String, AppError> {
    let author = &waiting.author_name;
    match error {
        // A freeze passes: whoever wanted to apply it now hears until when it holds.
        AppError::Unavailable(_) | AppError::Internal(_) | AppError::Frozen { .. } => Err(error),
        AppError::Stale { noun, expected, actual } => Ok(format!(
            "the {noun} was changed meanwhile: this was written on version {expected}, now it is {actual}; edit it on top \
             of what stands there now"
        )),
        AppError::Forbidden(_) | AppError::Refused(_) => Ok(format!(
            "{author} may no longer do this: {error}; once {author} may again, apply it again, or somebody else asks anew"
        )),
        error => Ok(format!("it does not fit any more: {error}; edit it")),
    }
}
