//! What a person asks for: applied at once where nobody else has to agree, else put before those who have to.

use serde::Serialize;
use sha2::{Digest, Sha256};
use shared::model::change::Change;
use shared::model::changeset::{ChangesetState, Note};
use shared::model::id::{EnvironmentId, ProjectId};
use shared::model::plan::Plan;
use shared::wire::api::changeset::ChangesetDetail;
use sqlx::{Acquire, PgConnection};

use crate::app::changeset::protection::{Protection, Verdict};
use crate::app::changeset::{Prepared, Record, Write, note_commit, prepare};
use crate::auth::permission::InProject;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::changeset::NewWaiting;
use crate::store::environment::Environment;

/// Applies changes of one person, all or nothing, and gives them a number; where a policy wants others to agree first,
/// they are put before them instead, and nothing else happens.
pub async fn submit(
    state: &AppState,
    who: &InProject,
    changes: Vec<Change>,
    note: &Note,
) -> Result<ChangesetDetail, AppError> {
    let mut tx = state.pool.begin().await?;
    let done = submit_in(state, &mut tx, who, changes, note).await?;
    tx.commit().await?;
    note_commit(state, &done);
    Ok(done)
}

/// The same in a transaction that began with something else; nothing but the commit may follow.
pub(in crate::app) async fn submit_in(
    state: &AppState,
    tx: &mut PgConnection,
    who: &InProject,
    changes: Vec<Change>,
    note: &Note,
) -> Result<ChangesetDetail, AppError> {
    let mut attempt = tx.begin().await?;
    let writes = changes.iter().cloned().map(Write::from).collect();
    // What protects is read before the changes are written: what ends a policy or a freeze is judged by it.
    store::project::lock(&mut attempt, who.id()).await?;
    let protection = Protection::find(&mut attempt, who.id()).await?;
    let prepared = prepare(state, &mut attempt, who.id(), &who.actor, writes, note).await?;
    match protection.judge(who, &prepared, note)? {
        Verdict::Free => {
            let record =
                Record { id: state.clock.id(), author: Some(&who.actor), via: who.actor.via, note, break_glass: None };
            let done = prepared.apply(state, &mut attempt, record).await?;
            attempt.commit().await?;
            Ok(done)
        }
        Verdict::NeedsApproval => {
            let environments = footprint(&prepared);
            attempt.rollback().await?;
            request(state, tx, who, &changes, note, &environments).await
        }
    }
}

/// Environments with other answers or other rules than before.
pub(in crate::app) fn footprint(prepared: &Prepared) -> Vec<Environment> {
    let (touched, governed) = (prepared.touched(), prepared.governed());
    let is_in = |e: &&Environment| touched.iter().chain(&governed).any(|known| known.id == e.id);
    prepared.draft.environments.iter().filter(is_in).cloned().collect()
}

async fn request(
    state: &AppState,
    tx: &mut PgConnection,
    who: &InProject,
    changes: &[Change],
    note: &Note,
    environments: &[Environment],
) -> Result<ChangesetDetail, AppError> {
    let ids: Vec<EnvironmentId> = environments.iter().map(|environment| environment.id).collect();
    let new = NewWaiting {
        id: state.clock.id(),
        project: who.id(),
        author: who.actor.user,
        via: who.actor.via,
        state: ChangesetState::InReview,
        note: note.as_str(),
        changes,
        digest: &digest(who.id(), &ids, changes, None)?,
        environments: &ids,
        at: state.clock.now(),
    };
    store::changeset::insert_waiting(tx, &new).await?;
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

/// SHA-256 of all that an approval signs: where, on what, and what. The versions that the changes were written on are in
/// the changes and in the steps of the plan.
pub(in crate::app) fn digest(
    project: ProjectId,
    environments: &[EnvironmentId],
    changes: &[Change],
    plan: Option<&Plan>,
) -> Result<Vec<u8>, AppError> {
    #[derive(Serialize)]
    struct Signed<'a> {
        project: ProjectId,
        environments: &'a [EnvironmentId],
        changes: &'a [Change],
        #[serde(skip_serializing_if = "Option::is_none")]
        plan: Option<&'a Plan>,
    }
    let signed = Signed { project, environments, changes, plan };
    let text = serde_json::to_vec(&signed).map_err(AppError::internal)?;
    Ok(Sha256::digest(text).to_vec())
}
