//! What a person asks for: applied at once where nobody else has to agree, else put before those who have to.

use serde::Serialize;
use sha2::{Digest, Sha256};
use shared::model::change::Change;
use shared::model::changeset::{ChangesetState, Note, Via};
use shared::model::id::{EnvironmentId, ProjectId};
use shared::model::plan::Plan;
use shared::model::webhook::EventType;
use shared::wire::api::changeset::ChangesetDetail;
use sqlx::{Acquire, PgConnection};

use crate::app::changeset::protection::{Protection, Verdict, check_permissions};
use crate::app::changeset::review::{Told, tell};
use crate::app::changeset::{Prepared, Record, Write, note_commit, prepare};
use crate::auth::permission::InProject;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::changeset::NewWaiting;
use crate::store::environment::Environment;

/// How somebody asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// To be applied, or put before those who have to agree.
    Usual,
    /// To be kept for later; nobody is asked yet.
    Draft,
    /// To be applied whatever the policies say, for this reason.
    BreakGlass(String),
}

/// Applies changes of one person, all or nothing, and gives them a number; where a policy wants others to agree first,
/// they are put before them instead, and nothing else happens.
pub async fn submit(
    state: &AppState,
    who: &InProject,
    changes: Vec<Change>,
    note: &Note,
) -> Result<ChangesetDetail, AppError> {
    ask(state, who, changes, note, &Way::Usual).await
}

/// The same, kept for later or without waiting where that is wanted.
pub async fn ask(
    state: &AppState,
    who: &InProject,
    changes: Vec<Change>,
    note: &Note,
    way: &Way,
) -> Result<ChangesetDetail, AppError> {
    let mut tx = state.pool.begin().await?;
    let done = ask_in(state, &mut tx, who, changes, note, way).await?;
    tx.commit().await?;
    note_commit(state, &done);
    Ok(done)
}

/// The same in a transaction that began with something else; nothing but the commit may follow.
pub(in crate::app) async fn ask_in(
    state: &AppState,
    tx: &mut PgConnection,
    who: &InProject,
    changes: Vec<Change>,
    note: &Note,
    way: &Way,
) -> Result<ChangesetDetail, AppError> {
    let mut attempt = tx.begin().await?;
    // Before anything is written: policies, roles and freezes change only under those in force.
    store::project::lock(&mut attempt, who.id()).await?;
    let protection = Protection::find(&mut attempt, who.id()).await?;
    let writes = changes.iter().cloned().map(Write::from).collect();
    let prepared = prepare(state, &mut attempt, who.id(), &who.actor, writes, note).await?;
    match decide(&protection, who, &prepared, note, way)? {
        Decision::Apply { break_glass } => {
            let id = state.clock.id();
            let record = Record { id, author: Some(&who.actor), via: who.actor.via, note, break_glass };
            let done = prepared.apply(state, &mut attempt, record).await?;
            attempt.commit().await?;
            Ok(done)
        }
        Decision::Keep(kept) => {
            let environments = footprint(&prepared);
            attempt.rollback().await?;
            keep(state, tx, who, (&changes, note), &environments, kept).await
        }
    }
}

/// What is to happen with what somebody asks for.
enum Decision<'a> {
    /// It is applied, and why it did not wait.
    Apply { break_glass: Option<&'a str> },
    /// It is kept as it is.
    Keep(ChangesetState),
}

fn decide<'a>(
    protection: &Protection,
    who: &InProject,
    prepared: &Prepared,
    note: &Note,
    way: &'a Way,
) -> Result<Decision<'a>, AppError> {
    match way {
        Way::Draft => {
            check_permissions(who, prepared)?;
            Ok(Decision::Keep(ChangesetState::Draft))
        }
        Way::BreakGlass(reason) => {
            check_permissions(who, prepared)?;
            let is_broken = protection.check_break_glass(who, prepared)?;
            Ok(Decision::Apply { break_glass: is_broken.then_some(reason.as_str()) })
        }
        Way::Usual => Ok(match protection.judge(who, prepared, note)? {
            Verdict::Free => Decision::Apply { break_glass: None },
            Verdict::NeedsApproval => Decision::Keep(ChangesetState::InReview),
        }),
    }
}

/// Environments with other answers or other rules than before.
pub(in crate::app) fn footprint(prepared: &Prepared) -> Vec<Environment> {
    let (touched, governed) = (prepared.touched(), prepared.governed());
    let is_in = |e: &&Environment| touched.iter().chain(&governed).any(|known| known.id == e.id);
    prepared.draft.environments.iter().filter(is_in).cloned().collect()
}

async fn keep(
    state: &AppState,
    tx: &mut PgConnection,
    who: &InProject,
    (changes, note): (&[Change], &Note),
    environments: &[Environment],
    kept: ChangesetState,
) -> Result<ChangesetDetail, AppError> {
    let ids: Vec<EnvironmentId> = environments.iter().map(|environment| environment.id).collect();
    let new = NewWaiting {
        id: state.clock.id(),
        project: who.id(),
        author: who.actor.user,
        via: who.actor.via,
        state: kept,
        note: note.as_str(),
        changes,
        digest: &digest(who.id(), &ids, changes, note.as_str())?,
        environments: &ids,
        at: state.clock.now(),
    };
    store::changeset::insert_waiting(tx, &new).await?;
    store::review::announce(tx, who.id(), new.id, kept).await?;
    if kept == ChangesetState::InReview {
        let by = Some(who.actor.name.as_str());
        let told = Told { project: who.id(), id: new.id, environments: &ids, by, note: note.as_str(), reason: None };
        tell(state, tx, EventType::ChangesetRequested, &told).await?;
    }
    Ok(ChangesetDetail {
        id: new.id,
        state: new.state,
        revision: None,
        applied_at: None,
        environments: environments
            .iter()
            .map(|e| e.key.parse())
            .collect::<Result<_, _>>()
            .map_err(AppError::internal)?,
        requested: None,
    })
}

/// Fails when a program asks for what only people may do.
pub(super) fn check_person(who: &InProject, what: &str) -> Result<(), AppError> {
    if who.actor.via == Via::Token {
        return Err(AppError::Refused(format!(
            "a token acts for its owner and never {what}; do it yourself, signed in"
        )));
    }
    Ok(())
}

/// SHA-256 of all that an approval signs: where, on what, what, and why. The versions that the changes were written on are
/// in the changes.
pub(super) fn digest(
    project: ProjectId,
    environments: &[EnvironmentId],
    changes: &[Change],
    note: &str,
) -> Result<Vec<u8>, AppError> {
    digest_of(project, environments, changes, note, None)
}

/// The same of a plan: with its times.
pub(in crate::app) fn digest_of_plan(
    project: ProjectId,
    environments: &[EnvironmentId],
    plan: &Plan,
    note: &str,
) -> Result<Vec<u8>, AppError> {
    digest_of(project, environments, &[], note, Some(plan))
}

fn digest_of(
    project: ProjectId,
    environments: &[EnvironmentId],
    changes: &[Change],
    note: &str,
    plan: Option<&Plan>,
) -> Result<Vec<u8>, AppError> {
    #[derive(Serialize)]
    struct Signed<'a> {
        project: ProjectId,
        environments: &'a [EnvironmentId],
        changes: &'a [Change],
        note: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        plan: Option<&'a Plan>,
    }
    // Their order in the project is no part of it.
    let mut environments = environments.to_vec();
    environments.sort_unstable();
    let signed = Signed { project, environments: &environments, changes, note, plan };
    let text = serde_json::to_vec(&signed).map_err(AppError::internal)?;
    Ok(Sha256::digest(text).to_vec())
}
