//! Letting people in: an admin of the installation makes a link, and who has it chooses a name and a password.

mod accept;

use std::collections::{BTreeSet, HashMap};

pub use accept::{Accepted, accept, finish};
use serde_json::json;
use shared::model::id::{InviteId, ProjectId};
use shared::wire::api::user::{
    CreateInvite, CreatedInvite, Invitation, InviteDetail, InviteList, InviteOutcome, InviteState, InvitedProject,
    ProjectRole,
};
use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

use crate::app::noted::note;
use crate::app::reset::{one_time_link, unusable};
use crate::app::setup::check_email;
use crate::auth::permission::Actor;
use crate::auth::secret::{self, Kind};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::invite::{Invite, Which};

/// How long an invite works.
const VALID_FOR: Duration = Duration::days(7);
/// The most projects of an invite.
const PROJECTS_MAX: usize = 50;
/// The longest name, in characters.
const NAME_CHARS_MAX: usize = 100;

/// Makes an invite. Its link is in the answer and nowhere else; links to the same address work no more.
pub async fn create(state: &AppState, actor: &Actor, body: CreateInvite) -> Result<CreatedInvite, AppError> {
    let email = body.email.trim().to_lowercase();
    check_email(&email)?;
    let name = body.name.trim().to_owned();
    if name.chars().count() > NAME_CHARS_MAX || name.contains('\0') {
        return Err(AppError::field("name", format!("a name has at most {NAME_CHARS_MAX} characters")));
    }
    let now = state.clock.now();
    let new = secret::generate(Kind::Invite);
    let mut tx = state.pool.begin().await?;
    if store::user::find_any_by_email(&mut tx, &email).await? {
        let message = format!("'{email}' has an account already; make them a member of projects instead");
        return Err(AppError::field("email", message));
    }
    let projects = check_projects(&mut tx, &body.projects).await?;
    let invite = Invite {
        id: state.clock.id(),
        email,
        name,
        is_admin: body.is_admin,
        created_at: now,
        created_by: actor.user,
        created_by_name: actor.name.clone(),
        is_backed: true,
        expires_at: now + VALID_FOR,
        accepted_at: None,
        revoked_at: None,
    };
    store::invite::insert(&mut tx, &invite, &new.hash, &projects).await?;
    let detail = json!({ "is_admin": invite.is_admin, "projects": body.projects });
    note(state, &mut tx, actor, "invite.created", &invite.email, detail).await?;
    let made = details(&mut tx, vec![invite.clone()], now).await?.pop();
    tx.commit().await?;
    let link = one_time_link(state, "invite", new.secret, invite.expires_at);
    Ok(CreatedInvite { invite: made.ok_or_else(|| AppError::not_found("invite", invite.id))?, link })
}

/// All invites.
pub async fn list(state: &AppState) -> Result<InviteList, AppError> {
    let mut db = state.pool.acquire().await?;
    let invites = store::invite::list(&mut db, Which::All).await?;
    Ok(InviteList { items: details(&mut db, invites, state.clock.now()).await? })
}

/// Takes an invite back.
pub async fn revoke(state: &AppState, actor: &Actor, id: InviteId) -> Result<(), AppError> {
    let mut tx = state.pool.begin().await?;
    let found = store::invite::list(&mut tx, Which::Id(id)).await?.pop();
    let found = found.ok_or_else(|| AppError::not_found("invite", id))?;
    if found.accepted_at.is_some() {
        let message = format!("{} has come in by it already; disable them instead", found.email);
        return Err(AppError::conflict("invite_accepted", message));
    }
    if store::invite::revoke(&mut tx, id, state.clock.now()).await? {
        note(state, &mut tx, actor, "invite.revoked", &found.email, json!({})).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// What the person sees who was invited.
pub async fn show(state: &AppState, token: &str) -> Result<Invitation, AppError> {
    let mut db = state.pool.acquire().await?;
    let (invite, _) = open(state, &mut db, token).await?;
    let projects = store::invite::list_projects(&mut db, &[invite.id]).await?;
    Ok(Invitation {
        email: invite.email,
        name: invite.name,
        invited_by: invite.created_by_name,
        projects: projects.into_iter().map(|project| project.project_name).collect(),
        expires_at: invite.expires_at.into(),
    })
}

/// The invite of a token that works, and its hash.
async fn open(state: &AppState, db: &mut PgConnection, token: &str) -> Result<(Invite, Vec<u8>), AppError> {
    let hash = secret::hash_of(Kind::Invite, token.as_bytes()).ok_or_else(unusable)?;
    let found = store::invite::list(db, Which::Hash(&hash)).await?.pop();
    let found = found.filter(|invite| state_of(invite, state.clock.now()) == InviteState::Open);
    Ok((found.ok_or_else(unusable)?, hash))
}

/// An invite stands and falls with who made it: one that is no admin any more lets nobody in.
fn state_of(invite: &Invite, now: OffsetDateTime) -> InviteState {
    match invite {
        Invite { accepted_at: Some(_), .. } => InviteState::Accepted,
        Invite { revoked_at: Some(_), .. } | Invite { is_backed: false, .. } => InviteState::Revoked,
        _ if invite.expires_at <= now => InviteState::Expired,
        _ => InviteState::Open,
    }
}

async fn check_projects(db: &mut PgConnection, asked: &[ProjectRole]) -> Result<Vec<(ProjectId, String)>, AppError> {
    if asked.len() > PROJECTS_MAX {
        let message = format!("{} projects; an invite is for at most {PROJECTS_MAX}", asked.len());
        return Err(AppError::field("projects", message));
    }
    let mut seen = BTreeSet::new();
    let mut projects = Vec::with_capacity(asked.len());
    for (at, ProjectRole { project, role }) in asked.iter().enumerate() {
        let Some(found) = store::project::find(db, project.as_str()).await? else {
            return Err(AppError::field(format!("projects.{at}.project"), format!("'{project}' is no project")));
        };
        if store::role::permissions(db, role).await?.is_none() {
            let message = format!("'{role}' is not a role; see the list of roles");
            return Err(AppError::field(format!("projects.{at}.role"), message));
        }
        if !seen.insert(found.id) {
            return Err(AppError::field(format!("projects.{at}.project"), format!("'{project}' is there twice")));
        }
        projects.push((found.id, role.to_string()));
    }
    Ok(projects)
}

async fn details(
    db: &mut PgConnection,
    invites: Vec<Invite>,
    now: OffsetDateTime,
) -> Result<Vec<InviteDetail>, AppError> {
    let ids: Vec<InviteId> = invites.iter().map(|invite| invite.id).collect();
    let mut projects: HashMap<InviteId, Vec<InvitedProject>> = HashMap::new();
    for project in store::invite::list_projects(db, &ids).await? {
        projects.entry(project.invite_id).or_default().push(invited_project(project)?);
    }
    let detail = |invite: Invite| InviteDetail {
        id: invite.id,
        state: state_of(&invite, now),
        projects: projects.remove(&invite.id).unwrap_or_default(),
        email: invite.email,
        name: invite.name,
        is_admin: invite.is_admin,
        created_at: invite.created_at.into(),
        created_by: invite.created_by_name,
        expires_at: invite.expires_at.into(),
    };
    Ok(invites.into_iter().map(detail).collect())
}

fn invited_project(project: store::invite::InvitedProject) -> Result<InvitedProject, AppError> {
    let outcome = match project.outcome.as_deref() {
        None => None,
        Some("applied") => Some(InviteOutcome::Applied),
        Some("waiting") => Some(InviteOutcome::Waiting),
        Some(_) => Some(InviteOutcome::Refused),
    };
    Ok(InvitedProject {
        project: project.project.parse().map_err(AppError::internal)?,
        name: project.project_name,
        role: project.role.parse().map_err(AppError::internal)?,
        outcome,
        changeset: project.changeset_id.map(Into::into),
        problem: project.problem,
    })
}
