//! Changesets that people look at, as a list with its tabs.

use shared::model::changeset::ChangesetState;
use shared::model::id::{ChangesetId, EnvironmentId};
use shared::model::key::EnvironmentKey;
use shared::wire::api::changeset::{
    ChangesetCounts, ChangesetPage, ChangesetSummary, EnvironmentApprovals, PersonName,
};

use crate::app::changeset::Protection;
use crate::app::changeset::review::counts_in;
use crate::app::changeset::review::subject::subject;
use crate::auth::permission::InProject;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::environment::Environment;
use crate::store::review::{Approval, ListFilter, Listed};

/// Which changesets to list.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// In one of these states; in any when empty.
    pub states: Vec<ChangesetState>,
    /// Only those that the reader wrote a part of.
    pub mine: bool,
    /// Only those that wait for the reader's approval.
    pub waiting: bool,
    /// Only those that change something there.
    pub environment: Option<EnvironmentKey>,
    /// Only older ones.
    pub after: Option<ChangesetId>,
}

/// A page of changesets, the newest first, with how many there are by tab.
pub async fn list(state: &AppState, who: &InProject, wanted: Wanted, limit: usize) -> Result<ChangesetPage, AppError> {
    let mut db = store::begin_bounded(&state.pool).await?;
    let environments = store::environment::list(&mut db, who.id()).await?;
    let protection = Protection::find(&mut db, who.id()).await?;
    let all: Vec<EnvironmentId> = environments.iter().map(|environment| environment.id).collect();
    let me = who.actor.user;
    let environment = match &wanted.environment {
        Some(key) => {
            let found = environments.iter().find(|environment| environment.key == key.as_str());
            Some(found.ok_or_else(|| AppError::not_found("environment", key))?.id)
        }
        None => None,
    };
    let filter = ListFilter {
        me,
        approves_in: counts_in(&protection, &all, me),
        states: wanted.states.iter().map(ToString::to_string).collect(),
        is_mine: wanted.mine,
        is_waiting: wanted.waiting,
        environment,
        after: wanted.after,
    };
    let count = i64::try_from(limit).unwrap_or(50);
    let mut rows = store::review::list(&mut db, who.id(), &filter, count + 1).await?;
    let next = (rows.len() > limit).then(|| rows.get(limit.saturating_sub(1)).map(|row| row.id)).flatten();
    rows.truncate(limit);
    let ids: Vec<ChangesetId> = rows.iter().map(|row| row.id).collect();
    let approvals = store::review::list_approvals(&mut db, &ids).await?;
    let counts = store::review::count(&mut db, who.id(), &filter).await?;
    let items = rows.into_iter().map(|row| summary(row, &environments, &protection, &approvals));
    Ok(ChangesetPage {
        items: items.collect::<Result<_, _>>()?,
        next,
        counts: ChangesetCounts { waiting: counts.waiting, mine: counts.mine, open: counts.open, done: counts.done },
    })
}

fn summary(
    row: Listed,
    environments: &[Environment],
    protection: &Protection,
    approvals: &[Approval],
) -> Result<ChangesetSummary, AppError> {
    let state: ChangesetState = row.state.parse().map_err(AppError::internal)?;
    let touched: Vec<&Environment> = environments.iter().filter(|known| row.environments.contains(&known.id)).collect();
    let keys = touched.iter().map(|known| known.key.parse().map_err(AppError::internal));
    let mut far = Vec::new();
    for known in touched.iter().filter(|_| !state.is_final()) {
        let Some(policy) = protection.policy(known.id) else { continue };
        let approvers = protection.approvers(known.id);
        let counts = |approval: &&Approval| {
            let user = approval.user;
            approval.changeset == row.id
                && approval.digest == row.digest
                && !row.editors.contains(&user)
                && approvers.iter().any(|approver| approver.id == user)
        };
        far.push(EnvironmentApprovals {
            environment: known.key.parse().map_err(AppError::internal)?,
            needed: policy.approvals,
            given: u32::try_from(approvals.iter().filter(counts).count()).unwrap_or(u32::MAX),
        });
    }
    Ok(ChangesetSummary {
        id: row.id,
        state,
        subjects: row.first.iter().map(subject).collect(),
        changes: row.changes,
        environments: keys.collect::<Result<_, _>>()?,
        author: PersonName { id: row.author, name: row.author_name },
        note: row.note,
        created_at: row.created_at.into(),
        approvals: far,
        waits_for_me: row.waits_for_me,
        revision: row.revision,
        applied_at: row.applied_at.map(Into::into),
        problem: row.problem,
        break_glass: row.break_glass,
    })
}
