//! Changesets with their entries: history, audit and outbox in one, and the counter that numbers them.

use serde_json::Value;
use shared::model::change::Change;
use shared::model::changeset::{ChangesetState, Via};
use shared::model::id::{ChangesetId, EnvironmentId, ProjectId, UserId};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::{DOCUMENT_FORMAT, StoreError, read_document, signed, unsigned, write_document};

/// The channel that tells all backends of a new revision; its payload is the number.
pub const CHANNEL: &str = "fluxgate_state";

/// A changeset to be written.
#[derive(Debug)]
pub struct NewChangeset<'a> {
    /// Its id.
    pub id: ChangesetId,
    /// Where; absent for what concerns everything.
    pub project: Option<ProjectId>,
    /// Who; absent when the product itself acted.
    pub author: Option<UserId>,
    /// Through what.
    pub via: Via,
    /// Why.
    pub note: &'a str,
    /// Why the policy was passed over, when it was.
    pub break_glass: Option<&'a str>,
    /// Its number.
    pub revision: u64,
    /// When.
    pub applied_at: OffsetDateTime,
}

/// A changeset that people look at before it is applied, or that was looked at.
#[derive(Clone, Debug)]
pub struct Changeset {
    /// Its id.
    pub id: ChangesetId,
    /// Who began it.
    pub author: UserId,
    /// Their name.
    pub author_name: String,
    /// Where it stands.
    pub state: ChangesetState,
    /// Counts up with every edit and every step of its life.
    pub version: u64,
    /// Why.
    pub note: String,
    /// What it does.
    pub changes: Vec<Change>,
    /// Of all that an approval signs.
    pub digest: Vec<u8>,
    /// When it was begun.
    pub created_at: OffsetDateTime,
    /// Its number, once it is applied.
    pub revision: Option<u64>,
    /// When it was applied.
    pub applied_at: Option<OffsetDateTime>,
    /// Why the policy was passed over, when it was.
    pub break_glass: Option<String>,
    /// Why it is suspended or was rejected.
    pub problem: Option<String>,
    /// Environments that it will touch, in promotion order.
    pub environments: Vec<EnvironmentId>,
    /// Who wrote any part of it.
    pub editors: Vec<UserId>,
}

/// A changeset to be written that waits.
#[derive(Debug)]
pub struct NewWaiting<'a> {
    /// Its id.
    pub id: ChangesetId,
    /// Where.
    pub project: ProjectId,
    /// Who.
    pub author: UserId,
    /// Through what.
    pub via: Via,
    /// Where it stands.
    pub state: ChangesetState,
    /// Why.
    pub note: &'a str,
    /// What it does.
    pub changes: &'a [Change],
    /// Of all that an approval signs.
    pub digest: &'a [u8],
    /// Environments that it will touch.
    pub environments: &'a [EnvironmentId],
    /// When.
    pub at: OffsetDateTime,
}

/// One touched thing, before and after.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Where; absent for what is the same everywhere.
    pub environment: Option<EnvironmentId>,
    /// What kind of thing: `flag`, `config`, `kill`, `segment`, `sdk_key`, `environment`, `restored`.
    pub entity: &'static str,
    /// Its id.
    pub entity_id: Option<Uuid>,
    /// Its key, for people.
    pub entity_key: String,
    /// Before; absent when it is new.
    pub before: Option<Value>,
    /// After; absent when it is gone.
    pub after: Option<Value>,
}

/// Takes the next number. The counter's row is held until the transaction ends, so this comes last.
pub async fn take_revision(db: &mut PgConnection) -> Result<u64, StoreError> {
    let revision =
        sqlx::query_scalar!("update counter set revision = revision + 1 returning revision").fetch_one(db).await?;
    Ok(unsigned(revision))
}

/// The newest number.
pub async fn current_revision(db: &mut PgConnection) -> Result<u64, StoreError> {
    let revision = sqlx::query_scalar!("select revision from counter").fetch_one(db).await?;
    Ok(unsigned(revision))
}

/// Raises the counter above itself and a number seen outside; returns the new number.
pub async fn raise_revision(db: &mut PgConnection, seen: u64) -> Result<u64, StoreError> {
    let raised = sqlx::query_scalar!(
        "update counter set revision = greatest(revision, $1) + 1 returning revision",
        signed(seen),
    )
    .fetch_one(db)
    .await?;
    Ok(unsigned(raised))
}

/// Writes a changeset that waits.
pub async fn insert_waiting(db: &mut PgConnection, new: &NewWaiting<'_>) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into changesets (id, project_id, author_id, state, via, note, format, changes, digest, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        new.id.uuid(),
        new.project.uuid(),
        new.author.uuid(),
        new.state.as_str(),
        new.via.as_str(),
        new.note,
        DOCUMENT_FORMAT,
        write_document(&new.changes)?,
        new.digest,
        new.at,
    )
    .execute(&mut *db)
    .await?;
    let environments: Vec<Uuid> = new.environments.iter().map(|id| id.uuid()).collect();
    sqlx::query!(
        "insert into changeset_environments (changeset_id, environment_id) select $1, * from unnest($2::uuid[])",
        new.id.uuid(),
        &environments,
    )
    .execute(&mut *db)
    .await?;
    sqlx::query!(
        "insert into changeset_editors (changeset_id, user_id) values ($1, $2)",
        new.id.uuid(),
        new.author.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Finds a changeset that was ever looked at, and holds its row until the transaction ends.
pub async fn find_for_update(
    db: &mut PgConnection,
    project: ProjectId,
    id: ChangesetId,
) -> Result<Option<Changeset>, StoreError> {
    let row = sqlx::query!(
        r#"select changesets.author_id as "author_id!", users.name as author_name, changesets.state,
                  changesets.version, changesets.note, changesets.format as "format!",
                  changesets.changes as "changes!", changesets.digest as "digest!",
                  changesets.created_at as "created_at!", changesets.revision, changesets.applied_at,
                  changesets.break_glass, changesets.problem,
                  array(select environments.id from changeset_environments
                        join environments on environments.id = changeset_environments.environment_id
                        where changeset_environments.changeset_id = changesets.id
                        order by environments.position) as "environments!",
                  array(select user_id from changeset_editors
                        where changeset_editors.changeset_id = changesets.id) as "editors!"
           from changesets
           join users on users.id = changesets.author_id
           where changesets.id = $1 and changesets.project_id = $2 and changesets.changes is not null
           for update of changesets"#,
        id.uuid(),
        project.uuid(),
    )
    .fetch_optional(db)
    .await?;
    row.map(|row| {
        let state = row.state.parse().map_err(|_| StoreError::Corrupt {
            table: "changesets",
            id: id.to_string(),
            format: row.format,
            source: None,
        })?;
        Ok(Changeset {
            id,
            author: row.author_id.into(),
            author_name: row.author_name,
            state,
            version: unsigned(row.version),
            note: row.note,
            changes: read_document("changesets", id, row.format, row.changes)?,
            digest: row.digest,
            created_at: row.created_at,
            revision: row.revision.map(unsigned),
            applied_at: row.applied_at,
            break_glass: row.break_glass,
            problem: row.problem,
            environments: row.environments.into_iter().map(EnvironmentId::from).collect(),
            editors: row.editors.into_iter().map(UserId::from).collect(),
        })
    })
    .transpose()
}

/// Writes a changeset with its entries, or gives one that waited its number, and tells all backends once it is
/// committed.
pub async fn insert(db: &mut PgConnection, new: &NewChangeset<'_>, entries: &[Entry]) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into changesets (id, project_id, author_id, via, note, break_glass, revision, created_at, applied_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $8)
         on conflict (id) do update
         set state = 'applied', version = changesets.version + 1, via = excluded.via,
             break_glass = excluded.break_glass, revision = excluded.revision, applied_at = excluded.applied_at,
             problem = null",
        new.id.uuid(),
        new.project.map(ProjectId::uuid),
        new.author.map(UserId::uuid),
        new.via.as_str(),
        new.note,
        new.break_glass,
        signed(new.revision),
        new.applied_at,
    )
    .execute(&mut *db)
    .await?;
    let environments: Vec<Option<Uuid>> = entries.iter().map(|e| e.environment.map(EnvironmentId::uuid)).collect();
    let entities: Vec<String> = entries.iter().map(|e| e.entity.to_owned()).collect();
    let ids: Vec<Option<Uuid>> = entries.iter().map(|e| e.entity_id).collect();
    let keys: Vec<String> = entries.iter().map(|e| e.entity_key.clone()).collect();
    let befores: Vec<Option<Value>> = entries.iter().map(|e| e.before.clone()).collect();
    let afters: Vec<Option<Value>> = entries.iter().map(|e| e.after.clone()).collect();
    sqlx::query!(
        "insert into revision_entries (revision, ordinal, environment_id, entity, entity_id, entity_key, before, after)
         select $1, row_number() over () - 1, *
         from unnest($2::uuid[], $3::text[], $4::uuid[], $5::text[], $6::jsonb[], $7::jsonb[])",
        signed(new.revision),
        &environments as &[Option<Uuid>],
        &entities,
        &ids as &[Option<Uuid>],
        &keys,
        &befores as &[Option<Value>],
        &afters as &[Option<Value>],
    )
    .execute(&mut *db)
    .await?;
    sqlx::query!("select pg_notify($1, $2)", CHANNEL, new.revision.to_string()).execute(db).await?;
    Ok(())
}

/// What other backends tell their viewers of a changeset.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Where.
    pub project_id: Option<ProjectId>,
    /// The project's key.
    pub project: Option<String>,
    /// Who.
    pub author: Option<String>,
    /// Environments whose answers changed.
    pub environments: Vec<EnvironmentId>,
    /// Flags it touched, at most 50.
    pub flags: Vec<String>,
}

/// Finds what a changeset touched.
pub async fn summary(db: &mut PgConnection, revision: u64) -> Result<Option<Summary>, StoreError> {
    let row = sqlx::query!(
        r#"select changesets.project_id, projects.key as "project?", users.name as "author?",
                  array(select environments.id from environments
                        join state on state.environment_id = environments.id
                             and state.key = environments.id || '.environment'
                        where environments.project_id = changesets.project_id and state.revision = $1)
                      as "environments!",
                  array(select distinct entity_key from revision_entries
                        where revision = $1 and entity in ('flag', 'config', 'kill') limit 50) as "flags!"
           from changesets
           left join projects on projects.id = changesets.project_id
           left join users on users.id = changesets.author_id
           where changesets.revision = $1"#,
        signed(revision),
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| Summary {
        project_id: row.project_id.map(ProjectId::from),
        project: row.project,
        author: row.author,
        environments: row.environments.into_iter().map(EnvironmentId::from).collect(),
        flags: row.flags,
    }))
}
