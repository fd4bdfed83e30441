//! Changesets as people send them: their changes are counted, their reasons looked at, and what is wrong is named by the
//! change it is in.

use shared::model::change::{CHANGES_MAX, Change};
use shared::model::id::ChangesetId;
use shared::wire::api::changeset::{ChangesetDetail, CreateChangeset, DryRun, UpdateChangeset};

use crate::app::changeset::review::{self, check_text};
use crate::app::changeset::{Way, ask, submit::check_person};
use crate::app::plan;
use crate::auth::permission::InProject;
use crate::error::AppError;
use crate::state::AppState;

/// Applies changes, keeps them as a draft, or puts them before those who have to agree.
pub async fn create(state: &AppState, who: &InProject, body: CreateChangeset) -> Result<ChangesetDetail, AppError> {
    if let Some(plan) = body.plan {
        let other =
            [("changes", !body.changes.is_empty()), ("draft", body.draft), ("break_glass", body.break_glass.is_some())];
        if let Some((field, _)) = other.into_iter().find(|(_, is_there)| *is_there) {
            let message =
                "a plan has its changes in its steps, and is neither a draft nor applied at once; leave this out";
            return Err(AppError::field(field, message));
        }
        let made = plan::submit(state, who, plan, &body.note).await?;
        return Ok(ChangesetDetail {
            id: made.id,
            state: made.state,
            revision: None,
            applied_at: None,
            environments: made.environments,
            requested: None,
        });
    }
    check_count(&body.changes)?;
    let way = match (body.draft, body.break_glass) {
        (true, Some(_)) => {
            let message = "a draft is not applied, so nothing is passed over; leave one of the two out";
            return Err(AppError::field("break_glass", message));
        }
        (true, None) => Way::Draft,
        (false, Some(reason)) => {
            check_person(who, "passes over a policy")?;
            Way::BreakGlass(check_text("break_glass", &reason)?.to_owned())
        }
        (false, None) => Way::Usual,
    };
    let count = body.changes.len();
    ask(state, who, body.changes, &body.note, &way).await.map_err(|error| located(error, count))
}

/// What would become of changes if somebody sent them; nothing is written.
pub async fn dry_run(state: &AppState, who: &InProject, body: UpdateChangeset) -> Result<DryRun, AppError> {
    check_count(&body.changes)?;
    let count = body.changes.len();
    review::dry_run(state, who, body.changes, &body.note).await.map_err(|error| located(error, count))
}

/// Gives a changeset that waits another content.
pub async fn update(
    state: &AppState,
    who: &InProject,
    id: ChangesetId,
    version: u64,
    body: UpdateChangeset,
) -> Result<(), AppError> {
    check_count(&body.changes)?;
    let count = body.changes.len();
    review::edit(state, who, id, version, body.changes, &body.note).await.map_err(|error| located(error, count))
}

fn check_count(changes: &[Change]) -> Result<(), AppError> {
    let count = changes.len();
    if (1..=CHANGES_MAX).contains(&count) {
        return Ok(());
    }
    Err(AppError::field("changes", format!("{count} changes; a changeset has 1 to {CHANGES_MAX}")))
}

/// Of several changes each is named where it is written; the only one is not.
fn located(error: AppError, count: usize) -> AppError {
    let is_elsewhere = |field: &str| field.starts_with("changes") || field.starts_with("flags[") || field == "note";
    match error {
        AppError::Invalid(mut problems) if count == 1 => {
            for problem in problems.iter_mut().filter(|problem| !is_elsewhere(&problem.field)) {
                problem.field = format!("changes[0].{}", problem.field);
            }
            AppError::Invalid(problems)
        }
        other => other,
    }
}
