//! What somebody may do with a changeset, said before they try; the steps themselves check it again.

use shared::model::changeset::ChangesetState::{self, Approved, Draft, InReview, Scheduled, Suspended};
use shared::model::permission::Permission;
use shared::wire::api::changeset::{Permit, Permits};

use crate::app::changeset::Protection;
use crate::app::changeset::review::counts_in;
use crate::app::changeset::review::step::{check_approver, check_edit, check_state, check_writer};
use crate::app::changeset::submit::check_person;
use crate::auth::permission::InProject;
use crate::error::AppError;
use crate::store::changeset::Changeset;

/// Whether the reader may take each step, and why not.
pub(super) fn permits(protection: &Protection, who: &InProject, waiting: &Changeset, fits: Option<bool>) -> Permits {
    let is_in = |verb: &str, states: &[ChangesetState]| check_state(waiting, verb, states);
    let open = [InReview, Approved, Scheduled, Suspended];
    let may_edit = || match who.permissions.anywhere(Permission::Edit) {
        true => Ok(()),
        false => Err(AppError::Forbidden(format!("the permission {} in this project", Permission::Edit))),
    };
    Permits {
        approve: permit(
            is_in("approve", &[InReview])
                .and_then(|()| check_person(who, "approves"))
                .and_then(|()| check_approver(protection, who, waiting))
                .and_then(|()| check_fits(fits)),
        ),
        reject: permit(is_in("reject", &open).and_then(|()| check_person(who, "rejects")).and_then(|()| {
            match counts_in(protection, &waiting.environments, who.actor.user).is_empty() {
                true => Err(AppError::Refused("only somebody whose approval would count may reject it".into())),
                false => Ok(()),
            }
        })),
        edit: permit(is_in("edit", &[Draft, InReview, Suspended]).and_then(|()| may_edit())),
        submit: permit(is_in("submit", &[Draft]).and_then(|()| check_writer(who, waiting, "submit it"))),
        apply: permit(
            is_in("apply", &[InReview, Approved, Suspended])
                .and_then(|()| check_edit(who, waiting))
                .and_then(|()| check_fits(fits)),
        ),
        cancel: permit(
            is_in("take back", &[Draft, InReview, Approved, Scheduled, Suspended])
                .and_then(|()| check_writer(who, waiting, "take it back")),
        ),
        break_glass: permit(
            is_in("apply", &open)
                .and_then(|()| check_person(who, "passes over a policy"))
                .and_then(|()| check_edit(who, waiting))
                .and_then(|()| check_break_glass(protection, who, waiting)),
        ),
    }
}

/// Fails when the person may not pass over the policies of all that a changeset changes.
pub(super) fn check_break_glass(protection: &Protection, who: &InProject, waiting: &Changeset) -> Result<(), AppError> {
    let mut guarded = waiting.environments.iter().filter(|id| protection.policy(**id).is_some());
    if guarded.all(|id| who.permissions.in_environment(*id, Permission::BreakGlass)) {
        return Ok(());
    }
    Err(AppError::Forbidden(format!("the permission {} in every environment it changes", Permission::BreakGlass)))
}

fn check_fits(fits: Option<bool>) -> Result<(), AppError> {
    if fits == Some(false) {
        return Err(AppError::Refused("it does not fit any more; its author edits it first".into()));
    }
    Ok(())
}

fn permit(checked: Result<(), AppError>) -> Permit {
    Permit { may: checked.is_ok(), why: checked.err().map(|error| error.to_string()) }
}
