//! Dry runs: everything that a save would do, but the save.

use shared::model::change::Change;
use shared::model::changeset::Note;
use shared::model::id::{EnvironmentId, UserId};
use shared::wire::api::changeset::{ApproverDetail, ApproverState, DryRun, DryRunOutcome, EnvironmentReview};

use crate::app::changeset::effect;
use crate::app::changeset::protection::Verdict;
use crate::app::changeset::submit::{digest, footprint};
use crate::app::changeset::{Protection, Write, prepare};
use crate::auth::permission::InProject;
use crate::auth::sdk_key::hex;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::environment::Environment;

/// What changes would do if somebody asked for them now; nothing is written. What is wrong with them comes back as from a
/// save.
pub async fn dry_run(state: &AppState, who: &InProject, changes: Vec<Change>, note: &Note) -> Result<DryRun, AppError> {
    let mut tx = state.pool.begin().await?;
    store::project::lock(&mut tx, who.id()).await?;
    let protection = Protection::find(&mut tx, who.id()).await?;
    let writes = changes.iter().cloned().map(Write::from).collect();
    let prepared = prepare(state, &mut tx, who.id(), &who.actor, writes, note).await?;
    let now_ms = i64::try_from(state.clock.now().unix_timestamp_nanos() / 1_000_000).unwrap_or(i64::MAX);
    let effects = effect::of_prepared(&mut tx, &prepared, now_ms).await?;
    let outcome = match protection.judge(who, &prepared, note) {
        Ok(Verdict::Free) => DryRunOutcome::Applies,
        Ok(Verdict::NeedsApproval) => DryRunOutcome::NeedsApproval,
        Err(error @ (AppError::Forbidden(_) | AppError::Refused(_))) => {
            DryRunOutcome::Forbidden { why: error.to_string() }
        }
        Err(AppError::Invalid(problems)) if problems.iter().all(|problem| problem.field == "note") => {
            let why = problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>().join("; ");
            DryRunOutcome::NeedsNote { why }
        }
        Err(error) => return Err(error),
    };
    let environments = footprint(&prepared);
    let ids: Vec<EnvironmentId> = environments.iter().map(|environment| environment.id).collect();
    let digest = hex(&digest(who.id(), &ids, &changes, note.as_str())?);
    tx.rollback().await?;
    let is_author = |person: UserId| person == who.actor.user;
    let environments = environments.iter().map(|environment| reviewed(&protection, environment, &[], is_author));
    Ok(DryRun { outcome, effects, environments: environments.collect::<Result<_, _>>()?, digest })
}

/// An environment and what its policy wants of a changeset, given whose approvals of its content there are and who wrote
/// it.
pub(super) fn reviewed(
    protection: &Protection,
    environment: &Environment,
    approved: &[UserId],
    wrote: impl Fn(UserId) -> bool,
) -> Result<EnvironmentReview, AppError> {
    let policy = protection.policy(environment.id);
    let approvers = protection.approvers(environment.id).into_iter().map(|approver| {
        let state = match () {
            () if wrote(approver.id) => ApproverState::WroteIt,
            () if approved.contains(&approver.id) => ApproverState::Approved,
            () => ApproverState::MayApprove,
        };
        ApproverDetail { id: approver.id, name: approver.name, state }
    });
    let approvers: Vec<ApproverDetail> = approvers.collect();
    let given = approvers.iter().filter(|approver| approver.state == ApproverState::Approved).count();
    Ok(EnvironmentReview {
        environment: environment.key.parse().map_err(AppError::internal)?,
        is_protected: policy.is_some(),
        needed: policy.map_or(0, |policy| policy.approvals),
        given: u32::try_from(given).unwrap_or(u32::MAX),
        note_required: policy.is_some_and(|policy| policy.note_required),
        approvers,
    })
}
