//! Coming in by an invite.
//!
//! The person is there, and the invite used, in one transaction. Each membership is a changeset of its own after that, by
//! who invited them: where others have to agree it waits for them. What is left over when the process ends in between is
//! done when the person signs in next.

use std::collections::BTreeMap;

use serde_json::json;
use shared::model::change::Change;
use shared::model::changeset::{ChangesetState, Note};
use shared::model::id::UserId;
use shared::wire::api::user::{AcceptInvite, AcceptedInvite};

use crate::app::changeset::{self, check_name};
use crate::app::invite::{invited_project, open};
use crate::app::noted::note;
use crate::app::reset::{begin_try, unusable};
use crate::app::session;
use crate::auth::password;
use crate::auth::permission::{Actor, InProject};
use crate::error::{AppError, chain};
use crate::state::AppState;
use crate::store;
use crate::store::invite::{Invite, InvitedProject, Outcome, Which};
use crate::store::user::User;

/// Somebody who came in, with the cookie's value of their first session.
#[derive(Debug)]
pub struct Accepted {
    /// Who, and what they belong to.
    pub detail: AcceptedInvite,
    /// The cookie's value.
    pub token: String,
}

/// Makes an account by an invite, and signs the person in.
pub async fn accept(state: &AppState, body: AcceptInvite, agent: &str) -> Result<Accepted, AppError> {
    check_name(&body.name)?;
    password::check("password", &body.password)?;
    let (invite, hash) = open(state, &mut *state.pool.acquire().await?, &body.token).await?;
    begin_try(state, &hash)?;
    let user = User {
        id: state.clock.id(),
        email: invite.email.clone(),
        name: body.name.trim().to_owned(),
        password_hash: password::hash(body.password).await?,
        is_admin: invite.is_admin,
    };
    insert(state, &invite, &user).await?;
    let started = session::start(state, &user, agent).await?;
    finish(state, user.id).await;
    let projects = store::invite::list_projects(&mut *state.pool.acquire().await?, &[invite.id]).await?;
    let projects = projects.into_iter().map(invited_project).collect::<Result<_, _>>()?;
    let detail = AcceptedInvite { user: started.detail.user, is_admin: user.is_admin, projects };
    Ok(Accepted { detail, token: started.token })
}

async fn insert(state: &AppState, invite: &Invite, user: &User) -> Result<(), AppError> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    // Who made it may have been put out since it was looked at; an invite of theirs lets nobody in.
    let admins = store::user::lock_admins(&mut tx).await?;
    if !admins.contains(&invite.created_by) {
        return Err(unusable());
    }
    store::user::insert(&mut tx, user, now).await.map_err(|error| {
        if error.is_conflict("users_email_unique") {
            AppError::conflict("account_exists", format!("'{}' has an account already; sign in", user.email))
        } else {
            error.into()
        }
    })?;
    if !store::invite::accept(&mut tx, invite.id, user.id, now).await? {
        return Err(unusable());
    }
    let actor = Actor::person(user.id, user.name.clone());
    let detail = json!({ "invited_by": invite.created_by_name, "is_admin": user.is_admin });
    note(state, &mut tx, &actor, "invite.accepted", &user.email, detail).await?;
    tx.commit().await?;
    Ok(())
}

/// Makes somebody a member of what their invite is for, as far as that was not done yet. What cannot be done now is done
/// when they sign in next; it keeps nobody out.
pub async fn finish(state: &AppState, person: UserId) {
    if let Err(error) = join_all(state, person).await {
        tracing::warn!(error = %chain(&error), user.id = %person, "memberships of an invite wait for the next sign-in");
    }
}

async fn join_all(state: &AppState, person: UserId) -> Result<(), AppError> {
    let invites = store::invite::list(&mut *state.pool.acquire().await?, Which::AcceptedBy(person)).await?;
    for invite in invites {
        let projects = store::invite::list_projects(&mut *state.pool.acquire().await?, &[invite.id]).await?;
        for project in projects.into_iter().filter(|project| project.outcome.is_none()) {
            let done = join(state, &invite, &project, person).await;
            let problem = done.as_ref().err().map(ToString::to_string);
            let outcome = match &done {
                Ok(outcome) => Outcome { outcome: outcome.outcome, changeset: outcome.changeset, problem: None },
                Err(AppError::Unavailable(_) | AppError::Internal(_)) => return done.map(drop),
                // Somebody else made them a member meanwhile, or this did before it could be written down.
                Err(AppError::Stale { .. }) => Outcome { outcome: "applied", changeset: None, problem: None },
                Err(_) => Outcome { outcome: "refused", changeset: None, problem: problem.as_deref() },
            };
            let mut db = state.pool.acquire().await?;
            store::invite::save_outcome(&mut db, invite.id, project.project_id, &outcome).await?;
        }
    }
    Ok(())
}

/// Asks for a membership as who invited the person, with what they may do at this moment.
async fn join(
    state: &AppState,
    invite: &Invite,
    project: &InvitedProject,
    person: UserId,
) -> Result<Outcome<'static>, AppError> {
    let refused = || {
        let name = &invite.created_by_name;
        AppError::conflict("inviter_gone", format!("{name}, who invited them, may not make anybody a member any more"))
    };
    let mut db = state.pool.acquire().await?;
    let inviter = store::user::find(&mut db, invite.created_by).await?.ok_or_else(refused)?;
    let actor = Actor::person(inviter.id, inviter.name.clone());
    let who = InProject::find(&mut db, &project.project, actor, inviter.is_admin).await?.ok_or_else(refused)?;
    drop(db);
    let role = project.role.parse().map_err(AppError::internal)?;
    let change = Change::SetMember { person, version: 0, role: Some(role), environments: BTreeMap::new() };
    let note = Note::try_from(format!("Invited by {}", inviter.name)).unwrap_or_default();
    let done = changeset::submit(state, &who, vec![change], &note).await?;
    let outcome = if done.state == ChangesetState::Applied { "applied" } else { "waiting" };
    Ok(Outcome { outcome, changeset: Some(done.id), problem: None })
}
