//! What people do with a changeset that waits: they approve it, edit it, talk about it, end it.

mod list;

pub use list::{Counts, ListFilter, Listed, count, list};
use serde_json::Value;
use shared::model::change::Change;
use shared::model::changeset::ChangesetState;
use shared::model::id::{ChangesetId, EnvironmentId, FlagId, ProjectId, UserId};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::{DOCUMENT_FORMAT, StoreError, signed, unsigned, write_document};

/// The channel that tells all backends that a changeset moved on; its payload is JSON.
pub const CHANNEL: &str = "fluxgate_changeset";
/// The most comments of a changeset.
pub const COMMENTS_MAX: i64 = 500;

/// Somebody's approval of one content of a changeset.
#[derive(Clone, Debug)]
pub struct Approval {
    /// Of which.
    pub changeset: ChangesetId,
    /// Who.
    pub user: UserId,
    /// Their name.
    pub name: String,
    /// Of exactly this content.
    pub digest: Vec<u8>,
    /// What they said.
    pub note: String,
    /// When.
    pub at: OffsetDateTime,
}

/// What somebody said about a changeset.
#[derive(Clone, Debug)]
pub struct Comment {
    /// Its id.
    pub id: Uuid,
    /// Whose.
    pub user: UserId,
    /// Their name.
    pub name: String,
    /// When.
    pub at: OffsetDateTime,
    /// What.
    pub text: String,
}

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

/// The approvals of changesets, the oldest first.
pub async fn list_approvals(db: &mut PgConnection, changesets: &[ChangesetId]) -> Result<Vec<Approval>, StoreError> {
    let ids: Vec<Uuid> = changesets.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query!(
        "select approvals.changeset_id, approvals.user_id, users.name, approvals.digest, approvals.note, approvals.at
         from approvals
         join users on users.id = approvals.user_id
         where approvals.changeset_id = any ($1)
         order by approvals.at, approvals.user_id",
        &ids,
    )
    .fetch_all(db)
    .await?;
    let approvals = rows.into_iter().map(|row| Approval {
        changeset: row.changeset_id.into(),
        user: row.user_id.into(),
        name: row.name,
        digest: row.digest,
        note: row.note,
        at: row.at,
    });
    Ok(approvals.collect())
}

/// Notes an approval; a second one of the same content changes nothing.
pub async fn approve(
    db: &mut PgConnection,
    changeset: ChangesetId,
    user: UserId,
    digest: &[u8],
    note: &str,
    at: OffsetDateTime,
) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into approvals (changeset_id, user_id, digest, note, at) values ($1, $2, $3, $4, $5)
         on conflict (changeset_id, user_id, digest) do nothing",
        changeset.uuid(),
        user.uuid(),
        digest,
        note,
        at,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Takes all approvals away, because the content became another one; answers whose they were.
pub async fn void_approvals(db: &mut PgConnection, changeset: ChangesetId) -> Result<Vec<UserId>, StoreError> {
    let users =
        sqlx::query_scalar!("delete from approvals where changeset_id = $1 returning user_id", changeset.uuid())
            .fetch_all(db)
            .await?;
    Ok(users.into_iter().map(UserId::from).collect())
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

/// Adds a comment; false when there are too many already.
pub async fn insert_comment(
    db: &mut PgConnection,
    changeset: ChangesetId,
    id: Uuid,
    user: UserId,
    text: &str,
    at: OffsetDateTime,
) -> Result<bool, StoreError> {
    let added = sqlx::query!(
        "insert into changeset_comments (id, changeset_id, user_id, at, text)
         select $1, $2, $3, $4, $5
         where (select count(*) from changeset_comments where changeset_id = $2) < $6",
        id,
        changeset.uuid(),
        user.uuid(),
        at,
        text,
        COMMENTS_MAX,
    )
    .execute(db)
    .await?;
    Ok(added.rows_affected() == 1)
}

/// The comments of a changeset, the oldest first.
pub async fn list_comments(db: &mut PgConnection, changeset: ChangesetId) -> Result<Vec<Comment>, StoreError> {
    let rows = sqlx::query!(
        "select changeset_comments.id, changeset_comments.user_id, users.name, changeset_comments.at,
                changeset_comments.text
         from changeset_comments
         join users on users.id = changeset_comments.user_id
         where changeset_comments.changeset_id = $1
         order by changeset_comments.at, changeset_comments.id
         limit $2",
        changeset.uuid(),
        COMMENTS_MAX,
    )
    .fetch_all(db)
    .await?;
    let comments = rows.into_iter().map(|row| Comment {
        id: row.id,
        user: row.user_id.into(),
        name: row.name,
        at: row.at,
        text: row.text,
    });
    Ok(comments.collect())
}

/// The newest revision that wrote the config of a flag in an environment; `None` when none did.
pub async fn config_revision(
    db: &mut PgConnection,
    environment: EnvironmentId,
    flag: FlagId,
) -> Result<Option<u64>, StoreError> {
    let found = sqlx::query_scalar!(
        "select revision from revision_entries
         where entity = 'config' and environment_id = $1 and entity_id = $2
         order by revision desc
         limit 1",
        environment.uuid(),
        flag.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(found.map(unsigned))
}

/// The config of a flag in an environment at its `version`-th save, as history has it.
pub async fn config_at(
    db: &mut PgConnection,
    environment: EnvironmentId,
    flag: FlagId,
    version: u64,
) -> Result<Option<Value>, StoreError> {
    if version == 0 {
        return Ok(None);
    }
    let found = sqlx::query_scalar!(
        "select after from revision_entries
         where entity = 'config' and environment_id = $1 and entity_id = $2
         order by revision, ordinal
         offset $3 limit 1",
        environment.uuid(),
        flag.uuid(),
        signed(version - 1),
    )
    .fetch_optional(db)
    .await?;
    Ok(found.flatten())
}

/// One touched thing of an applied changeset, as history has it.
#[derive(Clone, Debug)]
pub struct PastEntry {
    /// Where; absent for what is the same everywhere.
    pub environment: Option<EnvironmentId>,
    /// What kind of thing.
    pub entity: String,
    /// Its key, for people.
    pub entity_key: String,
    /// Before; absent when it is new.
    pub before: Option<Value>,
    /// After; absent when it is gone.
    pub after: Option<Value>,
}

/// What an applied changeset touched, in order; at most 1,000 things.
pub async fn list_entries(db: &mut PgConnection, revision: u64) -> Result<Vec<PastEntry>, StoreError> {
    let rows = sqlx::query!(
        "select environment_id, entity, entity_key, before, after
         from revision_entries
         where revision = $1
         order by ordinal
         limit 1000",
        signed(revision),
    )
    .fetch_all(db)
    .await?;
    let entries = rows.into_iter().map(|row| PastEntry {
        environment: row.environment_id.map(EnvironmentId::from),
        entity: row.entity,
        entity_key: row.entity_key,
        before: row.before,
        after: row.after,
    });
    Ok(entries.collect())
}
