//! What people do with a changeset that waits: they approve it, edit it, talk about it, end it.

mod approval;
mod comment;
mod list;
mod past;

pub use approval::{Approval, approve, list_approvals, void_approvals};
pub use comment::{COMMENTS_MAX, Comment, insert_comment, list_comments};
pub use list::{Counts, ListFilter, Listed, count, list};
pub use past::{PastEntry, config_at, config_revision, list_entries};
use shared::model::change::Change;
use shared::model::changeset::ChangesetState;
use shared::model::id::{ChangesetId, EnvironmentId, ProjectId, UserId};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::{DOCUMENT_FORMAT, StoreError, write_document};

/// The channel that tells all backends that a changeset moved on; its payload is JSON.
pub const CHANNEL: &str = "fluxgate_changeset";

/// How a changeset ended, and who is behind it.
#[derive(Clone, Debug)]
pub struct Ending {
    /// Through what it came to be, or was applied.
    pub via: String,
    /// When it was rejected or taken back.
    pub closed_at: Option<OffsetDateTime>,
    /// By whom.
    pub closed_by: Option<String>,
    /// Who passed over the policy; its author when absent.
    pub break_glass_by: Option<String>,
    /// Names of all who wrote any part of it, with their ids.
    pub editors: Vec<(UserId, String)>,
}

/// Another content of a changeset.
#[derive(Debug)]
pub struct Replacement<'a> {
    /// Where it stands then.
    pub state: ChangesetState,
    /// Why.
    pub note: &'a str,
    /// What it does.
    pub changes: &'a [Change],
    /// Of all that an approval signs.
    pub digest: &'a [u8],
    /// Environments that it will touch.
    pub environments: &'a [EnvironmentId],
    /// Who wrote it.
    pub editor: UserId,
}

/// Moves a changeset on, and tells all backends once that is committed.
pub async fn set_state(
    db: &mut PgConnection,
    project: ProjectId,
    id: ChangesetId,
    state: ChangesetState,
    problem: Option<&str>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "update changesets set state = $3, problem = $4, version = version + 1 where project_id = $1 and id = $2",
        project.uuid(),
        id.uuid(),
        state.as_str(),
        problem,
    )
    .execute(&mut *db)
    .await?;
    announce(db, project, id, state).await
}

/// Ends a changeset that was not applied.
pub async fn close(
    db: &mut PgConnection,
    project: ProjectId,
    id: ChangesetId,
    state: ChangesetState,
    reason: Option<&str>,
    by: UserId,
    at: OffsetDateTime,
) -> Result<(), StoreError> {
    sqlx::query!(
        "update changesets set closed_at = $3, closed_by = $4 where project_id = $1 and id = $2",
        project.uuid(),
        id.uuid(),
        at,
        by.uuid(),
    )
    .execute(&mut *db)
    .await?;
    set_state(db, project, id, state, reason).await
}

/// Gives a changeset another content, and notes who wrote it.
pub async fn replace(
    db: &mut PgConnection,
    project: ProjectId,
    id: ChangesetId,
    new: &Replacement<'_>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "update changesets set note = $3, format = $4, changes = $5, digest = $6 where project_id = $1 and id = $2",
        project.uuid(),
        id.uuid(),
        new.note,
        DOCUMENT_FORMAT,
        write_document(&new.changes)?,
        new.digest,
    )
    .execute(&mut *db)
    .await?;
    let environments: Vec<Uuid> = new.environments.iter().map(|id| id.uuid()).collect();
    sqlx::query!("delete from changeset_environments where changeset_id = $1", id.uuid()).execute(&mut *db).await?;
    sqlx::query!(
        "insert into changeset_environments (changeset_id, environment_id) select $1, * from unnest($2::uuid[])",
        id.uuid(),
        &environments,
    )
    .execute(&mut *db)
    .await?;
    sqlx::query!(
        "insert into changeset_editors (changeset_id, user_id) values ($1, $2)
         on conflict (changeset_id, user_id) do nothing",
        id.uuid(),
        new.editor.uuid(),
    )
    .execute(&mut *db)
    .await?;
    set_state(db, project, id, new.state, None).await
}

/// Notes who passed over the policy of a changeset that somebody else wrote.
pub async fn set_break_glass_by(db: &mut PgConnection, id: ChangesetId, by: UserId) -> Result<(), StoreError> {
    sqlx::query!("update changesets set break_glass_by = $2 where id = $1", id.uuid(), by.uuid()).execute(db).await?;
    Ok(())
}

/// Tells all backends where a changeset stands, once that is committed.
pub async fn announce(
    db: &mut PgConnection,
    project: ProjectId,
    id: ChangesetId,
    state: ChangesetState,
) -> Result<(), StoreError> {
    sqlx::query!(
        "select pg_notify($1, json_build_object('id', $3::text, 'state', $4::text, 'project', projects.key,
                                                'project_id', projects.id)::text)
         from projects where id = $2",
        CHANNEL,
        project.uuid(),
        id.to_string(),
        state.as_str(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// How a changeset ended, and who is behind it.
pub async fn ending(db: &mut PgConnection, id: ChangesetId) -> Result<Ending, StoreError> {
    let row = sqlx::query!(
        r#"select changesets.via, changesets.closed_at, closers.name as "closed_by?", breakers.name as "break_glass_by?"
           from changesets
           left join users closers on closers.id = changesets.closed_by
           left join users breakers on breakers.id = changesets.break_glass_by
           where changesets.id = $1"#,
        id.uuid(),
    )
    .fetch_one(&mut *db)
    .await?;
    let editors = sqlx::query!(
        "select users.id, users.name from changeset_editors
         join users on users.id = changeset_editors.user_id
         where changeset_editors.changeset_id = $1
         order by users.name, users.id",
        id.uuid(),
    )
    .fetch_all(db)
    .await?;
    Ok(Ending {
        via: row.via,
        closed_at: row.closed_at,
        closed_by: row.closed_by,
        break_glass_by: row.break_glass_by,
        editors: editors.into_iter().map(|editor| (editor.id.into(), editor.name)).collect(),
    })
}
