//! Invites: links by which people come in, stored as hashes.

use shared::model::id::{ChangesetId, InviteId, ProjectId, UserId};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::StoreError;

/// The most invites that one answer lists.
pub const LIST_MAX: i64 = 500;

/// An invite.
#[derive(Clone, Debug)]
pub struct Invite {
    /// Its id.
    pub id: InviteId,
    /// What the person will sign in with, in lower case.
    pub email: String,
    /// What who invites them calls them.
    pub name: String,
    /// Whether they may do everything everywhere.
    pub is_admin: bool,
    /// When it was made.
    pub created_at: OffsetDateTime,
    /// Who made it.
    pub created_by: UserId,
    /// Their name.
    pub created_by_name: String,
    /// Whether they still may invite people.
    pub is_backed: bool,
    /// Refused from then on.
    pub expires_at: OffsetDateTime,
    /// When somebody came in by it.
    pub accepted_at: Option<OffsetDateTime>,
    /// When it was taken back.
    pub revoked_at: Option<OffsetDateTime>,
}

/// A project that an invite is for.
#[derive(Clone, Debug)]
pub struct InvitedProject {
    /// The invite.
    pub invite_id: InviteId,
    /// The project.
    pub project_id: ProjectId,
    /// Its key.
    pub project: String,
    /// Its name.
    pub project_name: String,
    /// The role's key.
    pub role: String,
    /// `applied`, `waiting` or `refused`; absent until it is accepted.
    pub outcome: Option<String>,
    /// The changeset that made, or will make, them a member.
    pub changeset_id: Option<Uuid>,
    /// Why it was refused.
    pub problem: Option<String>,
}

/// What became of a membership.
#[derive(Debug)]
pub struct Outcome<'a> {
    /// `applied`, `waiting` or `refused`.
    pub outcome: &'static str,
    /// The changeset, unless it was refused.
    pub changeset: Option<ChangesetId>,
    /// Why it was refused.
    pub problem: Option<&'a str>,
}

/// How to look for invites.
#[derive(Clone, Copy, Debug)]
pub enum Which<'a> {
    /// All.
    All,
    /// The one of an id.
    Id(InviteId),
    /// The one of a hash.
    Hash(&'a [u8]),
    /// The one by which somebody came in.
    AcceptedBy(UserId),
}

/// Invites, newest first.
pub async fn list(db: &mut PgConnection, which: Which<'_>) -> Result<Vec<Invite>, StoreError> {
    let (id, hash, user) = match which {
        Which::All => (None, None, None),
        Which::Id(id) => (Some(id.uuid()), None, None),
        Which::Hash(hash) => (None, Some(hash), None),
        Which::AcceptedBy(user) => (None, None, Some(user.uuid())),
    };
    let invites = sqlx::query_as!(
        Invite,
        r#"select invites.id, invites.email, invites.name, invites.is_admin, invites.created_at, invites.created_by,
                  users.name as created_by_name, (users.is_admin and users.disabled_at is null) as "is_backed!",
                  invites.expires_at, invites.accepted_at, invites.revoked_at
           from invites
           join users on users.id = invites.created_by
           where ($1::uuid is null or invites.id = $1) and ($2::bytea is null or invites.hash = $2)
             and ($3::uuid is null or invites.accepted_by = $3)
           order by invites.created_at desc, invites.id desc
           limit $4"#,
        id,
        hash,
        user,
        LIST_MAX,
    )
    .fetch_all(db)
    .await?;
    Ok(invites)
}

/// The projects that these invites are for, by name.
pub async fn list_projects(db: &mut PgConnection, invites: &[InviteId]) -> Result<Vec<InvitedProject>, StoreError> {
    let ids: Vec<Uuid> = invites.iter().map(|id| id.uuid()).collect();
    let projects = sqlx::query_as!(
        InvitedProject,
        "select invite_projects.invite_id, invite_projects.project_id, projects.key as project,
                projects.name as project_name, invite_projects.role, invite_projects.outcome,
                invite_projects.changeset_id, invite_projects.problem
         from invite_projects
         join projects on projects.id = invite_projects.project_id
         where invite_projects.invite_id = any ($1)
         order by projects.name, projects.id",
        &ids,
    )
    .fetch_all(db)
    .await?;
    Ok(projects)
}

/// Adds an invite, and takes back those before it to the same address: the newest link is the one that works.
pub async fn insert(
    db: &mut PgConnection,
    invite: &Invite,
    hash: &[u8],
    projects: &[(ProjectId, String)],
) -> Result<(), StoreError> {
    sqlx::query!(
        "update invites set revoked_at = $2 where email = $1 and accepted_at is null and revoked_at is null",
        invite.email,
        invite.created_at,
    )
    .execute(&mut *db)
    .await?;
    sqlx::query!(
        "insert into invites (id, hash, email, name, is_admin, created_at, created_by, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        invite.id.uuid(),
        hash,
        invite.email,
        invite.name,
        invite.is_admin,
        invite.created_at,
        invite.created_by.uuid(),
        invite.expires_at,
    )
    .execute(&mut *db)
    .await?;
    let ids: Vec<Uuid> = projects.iter().map(|(id, _)| id.uuid()).collect();
    let roles: Vec<String> = projects.iter().map(|(_, role)| role.clone()).collect();
    sqlx::query!(
        "insert into invite_projects (invite_id, project_id, role)
         select $1, * from unnest($2::uuid[], $3::text[])",
        invite.id.uuid(),
        &ids,
        &roles,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Marks an invite as accepted; false when somebody was faster, took it back, or it is too late.
pub async fn accept(
    db: &mut PgConnection,
    id: InviteId,
    user: UserId,
    now: OffsetDateTime,
) -> Result<bool, StoreError> {
    let done = sqlx::query!(
        "update invites set accepted_at = $3, accepted_by = $2
         where id = $1 and accepted_at is null and revoked_at is null and expires_at > $3",
        id.uuid(),
        user.uuid(),
        now,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Takes an invite back; false when it was accepted or taken back before.
pub async fn revoke(db: &mut PgConnection, id: InviteId, now: OffsetDateTime) -> Result<bool, StoreError> {
    let done = sqlx::query!(
        "update invites set revoked_at = $2 where id = $1 and accepted_at is null and revoked_at is null",
        id.uuid(),
        now,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Writes down what became of a membership.
pub async fn save_outcome(
    db: &mut PgConnection,
    invite: InviteId,
    project: ProjectId,
    outcome: &Outcome<'_>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "update invite_projects set outcome = $3, changeset_id = $4, problem = $5
         where invite_id = $1 and project_id = $2",
        invite.uuid(),
        project.uuid(),
        outcome.outcome,
        outcome.changeset.map(ChangesetId::uuid),
        outcome.problem,
    )
    .execute(db)
    .await?;
    Ok(())
}
