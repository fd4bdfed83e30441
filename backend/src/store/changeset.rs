//! Changesets with their entries: history, audit and outbox in one, and the counter that numbers them.

use serde_json::Value;
use shared::model::id::{ChangesetId, EnvironmentId, ProjectId, UserId};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::{StoreError, signed, unsigned};

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
    /// Why.
    pub note: &'a str,
    /// Its number.
    pub revision: u64,
    /// When.
    pub applied_at: OffsetDateTime,
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

/// Writes a changeset with its entries and tells all backends once it is committed.
pub async fn insert(db: &mut PgConnection, new: &NewChangeset<'_>, entries: &[Entry]) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into changesets (id, project_id, author_id, note, revision, applied_at)
         values ($1, $2, $3, $4, $5, $6)",
        new.id.uuid(),
        new.project.map(ProjectId::uuid),
        new.author.map(UserId::uuid),
        new.note,
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
