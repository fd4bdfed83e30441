//! One changeset with all that its page shows.

use std::collections::HashMap;

use shared::model::changeset::{ChangesetState, Note};
use shared::model::id::{ChangesetId, UserId};
use shared::wire::api::changeset::{
    ApprovalDetail, ChangeEffect, ChangesetReview, CommentDetail, EnvironmentReview, PersonName,
};
use sqlx::{Connection, PgConnection};

use crate::app::changeset::effect::{self, Touched};
use crate::app::changeset::review::apply::{author_of, check_footprint, problem_of};
use crate::app::changeset::review::dry_run::reviewed;
use crate::app::changeset::review::find;
use crate::app::changeset::review::permit::permits;
use crate::app::changeset::review::subject::subject;
use crate::app::changeset::{Protection, Write, prepare};
use crate::app::plan;
use crate::auth::permission::InProject;
use crate::auth::sdk_key::hex;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::changeset::Changeset;
use crate::store::environment::Environment;
use crate::store::review::Approval;

/// A changeset as its reader may see and act on it. One that is not ended is tried against how things stand now.
pub async fn detail(state: &AppState, who: &InProject, id: ChangesetId) -> Result<ChangesetReview, AppError> {
    let mut db = state.pool.acquire().await?;
    let found = find(&mut db, who.id(), id).await?;
    let environments = store::environment::list(&mut db, who.id()).await?;
    let (effects, problem, fits) = if found.state.is_final() {
        (past(&mut db, &found, &environments).await?, found.problem.clone(), None)
    } else {
        let mut tx = db.begin().await?;
        let tried = tried(state, &mut tx, who, &found).await?;
        tx.rollback().await?;
        match tried {
            Ok(effects) => (effects, found.problem.clone(), Some(true)),
            Err(problem) => (Vec::new(), Some(problem), Some(false)),
        }
    };
    let plan = plan::find(&mut db, who, id).await?;
    let protection = Protection::find(&mut db, who.id()).await?;
    let approvals = store::review::list_approvals(&mut db, &[id]).await?;
    let comments = store::review::list_comments(&mut db, id).await?;
    let ending = store::review::ending(&mut db, id).await?;
    let policies = policies(&protection, &found, &environments, &approvals)?;
    let subjects = found.changes.iter().map(|change| Ok(subject(&serde_json::to_value(change)?)));
    Ok(ChangesetReview {
        id,
        state: found.state,
        version: found.version,
        digest: hex(&found.digest),
        author: PersonName { id: found.author, name: found.author_name.clone() },
        editors: ending.editors.into_iter().map(|(id, name)| PersonName { id, name }).collect(),
        via: ending.via.parse().map_err(AppError::internal)?,
        created_at: found.created_at.into(),
        note: found.note.clone(),
        subjects: subjects.collect::<Result<_, serde_json::Error>>().map_err(AppError::internal)?,
        effects,
        fits,
        problem,
        environments: policies.iter().map(|policy| policy.environment.clone()).collect(),
        can: permits(&protection, who, &found, fits),
        policies: if found.state.is_final() { Vec::new() } else { policies },
        approvals: approvals
            .into_iter()
            .filter(|approval| approval.digest == found.digest)
            .map(|approval| ApprovalDetail {
                by: PersonName { id: approval.user, name: approval.name },
                at: approval.at.into(),
                note: approval.note,
            })
            .collect(),
        comments: comments
            .into_iter()
            .map(|comment| CommentDetail {
                by: PersonName { id: comment.user, name: comment.name },
                at: comment.at.into(),
                text: comment.text,
            })
            .collect(),
        revision: found.revision,
        applied_at: found.applied_at.map(Into::into),
        closed_at: ending.closed_at.map(Into::into),
        closed_by: ending.closed_by,
        break_glass: found.break_glass,
        break_glass_by: ending.break_glass_by,
        changes: found.changes,
        plan,
    })
}

fn policies(
    protection: &Protection,
    found: &Changeset,
    environments: &[Environment],
    approvals: &[Approval],
) -> Result<Vec<EnvironmentReview>, AppError> {
    let is_of_this = |approval: &&Approval| approval.digest == found.digest;
    let approved: Vec<UserId> = approvals.iter().filter(is_of_this).map(|approval| approval.user).collect();
    let touched = environments.iter().filter(|environment| found.environments.contains(&environment.id));
    touched.map(|known| reviewed(protection, known, &approved, |person| found.is_written_by(person))).collect()
}

/// What it would do now, or why it does not fit.
async fn tried(
    state: &AppState,
    db: &mut PgConnection,
    who: &InProject,
    found: &Changeset,
) -> Result<Result<Vec<ChangeEffect>, String>, AppError> {
    store::project::lock(db, who.id()).await?;
    let Some(author) = author_of(db, who.id(), found).await? else {
        return Ok(Err(format!("{} is no member any more; reject it, and somebody else asks anew", found.author_name)));
    };
    let protection = Protection::find(db, who.id()).await?;
    let note = Note::try_from(found.note.clone()).map_err(AppError::internal)?;
    if let Some(stored) = store::plan::find_for_update(db, who.id(), found.id).await? {
        // One that runs is looked at step by step, when each is due.
        if found.state != ChangesetState::InReview {
            return Ok(Ok(Vec::new()));
        }
        let tried = plan::try_out(state, db, &author, found, &stored.plan, true).await?;
        return Ok(tried.map(|(_, effects)| effects));
    }
    let writes = found.changes.iter().cloned().map(Write::from).collect();
    let prepared = match prepare(state, db, who.id(), &author.actor, writes, &note).await {
        Ok(prepared) => prepared,
        Err(error) => return Ok(Err(problem_of(found, error)?)),
    };
    if let Some(problem) = check_footprint(&prepared, found) {
        return Ok(Err(problem));
    }
    // A draft needs no note yet.
    let judged = protection.judge_ahead(&author, &prepared, &note);
    if let Err(error) = judged
        && found.state != ChangesetState::Draft
    {
        return Ok(Err(problem_of(found, error)?));
    }
    let now_ms = i64::try_from(state.clock.now().unix_timestamp_nanos() / 1_000_000).unwrap_or(i64::MAX);
    Ok(Ok(effect::of_prepared(db, &prepared, now_ms).await?))
}

/// What it did, as history has it.
async fn past(
    db: &mut PgConnection,
    found: &Changeset,
    environments: &[Environment],
) -> Result<Vec<ChangeEffect>, AppError> {
    let Some(revision) = found.revision else { return Ok(Vec::new()) };
    let entries = store::review::list_entries(db, revision).await?;
    let touched = |entry: &store::review::PastEntry| {
        let touched = Touched {
            entity: &entry.entity,
            key: &entry.entity_key,
            environment: entry.environment,
            before: entry.before.as_ref(),
            after: entry.after.as_ref(),
        };
        effect::of_touched(touched, environments, &HashMap::new())
    };
    entries.iter().map(touched).collect()
}
