//! What has happened and was not made into deliveries yet: the history above a cursor, and notes of what is no changeset.

use serde_json::Value;
use shared::model::id::{EnvironmentId, ProjectId, WebhookId};
use shared::model::webhook::EventType;
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::{StoreError, signed, unsigned};

/// Entries of one changeset that are read; more than that are told as one event.
pub const ENTRIES_MAX: i64 = 100;
/// The most webhooks that are looked at.
const WEBHOOKS_MAX: i64 = 10_000;

/// Something that webhooks are to tell and that is no changeset.
#[derive(Debug)]
pub struct NewNote<'a> {
    /// When.
    pub at: OffsetDateTime,
    /// Whose; absent for what concerns all projects.
    pub project: Option<ProjectId>,
    /// What happened.
    pub kind: EventType,
    /// Where; empty for everywhere.
    pub environments: &'a [EnvironmentId],
    /// What there is to know: an object, never with a secret or anything of a user's context. `project` and
    /// `environments` are added by whoever sends it.
    pub data: Value,
}

/// Has every webhook told, once the transaction that does the thing commits: approvals, rejections, suspensions, edges.
/// Each note is one event, so the caller notes it once.
pub async fn note(db: &mut PgConnection, new: &NewNote<'_>) -> Result<(), StoreError> {
    let environments: Vec<Uuid> = new.environments.iter().map(|id| id.uuid()).collect();
    sqlx::query!(
        "insert into webhook_events (project_id, at, type, environment_ids, data) values ($1, $2, $3, $4, $5)",
        new.project.map(ProjectId::uuid),
        new.at,
        new.kind.as_str(),
        &environments,
        new.data,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// A note as stored.
#[derive(Debug)]
pub struct Note {
    /// In the order of writing.
    pub number: i64,
    /// Whose.
    pub project_id: Option<Uuid>,
    /// When.
    pub at: OffsetDateTime,
    /// What happened.
    pub kind: String,
    /// Where; empty for everywhere.
    pub environment_ids: Vec<Uuid>,
    /// What there is to know.
    pub data: Value,
}

/// Takes the oldest notes away; they are told in the same transaction.
pub async fn take_notes(db: &mut PgConnection, limit: i64) -> Result<Vec<Note>, StoreError> {
    let mut notes = sqlx::query_as!(
        Note,
        "delete from webhook_events
         where number in (select number from webhook_events order by number limit $1)
         returning number, project_id, at, type as kind, environment_ids, data",
        limit,
    )
    .fetch_all(db)
    .await?;
    notes.sort_by_key(|note| note.number);
    Ok(notes)
}

/// Whether anything happened since the cursor was moved last; needs no lock.
pub async fn is_due(db: &mut PgConnection) -> Result<bool, StoreError> {
    let is_due = sqlx::query_scalar!(
        r#"select exists (select from webhook_cursor, counter where counter.revision > webhook_cursor.revision)
               or exists (select from webhook_events) as "is_due!""#,
    )
    .fetch_one(db)
    .await?;
    Ok(is_due)
}

/// The last revision that was told. Held until the transaction ends, so two leaders cannot tell the same.
pub async fn cursor(db: &mut PgConnection) -> Result<u64, StoreError> {
    let revision = sqlx::query_scalar!("select revision from webhook_cursor for update").fetch_one(db).await?;
    Ok(unsigned(revision))
}

/// Moves the cursor; what is up to there is told in the same transaction.
pub async fn move_cursor(db: &mut PgConnection, revision: u64) -> Result<(), StoreError> {
    sqlx::query!("update webhook_cursor set revision = $1", signed(revision)).execute(db).await?;
    Ok(())
}

/// A changeset that was applied.
#[derive(Debug)]
pub struct Applied {
    /// Its number.
    pub revision: i64,
    /// Its id.
    pub id: Uuid,
    /// Whose; absent for what the product did everywhere.
    pub project_id: Option<Uuid>,
    /// Who; absent when the product itself acted.
    pub author: Option<String>,
    /// Through what.
    pub via: String,
    /// Why.
    pub note: String,
    /// Why the policy was passed over, when it was.
    pub break_glass: Option<String>,
    /// When.
    pub applied_at: OffsetDateTime,
    /// How many things it touched.
    pub entries: i64,
}

/// Changesets above a revision, oldest first. They commit in the order of their numbers, so none comes later.
pub async fn list_applied(db: &mut PgConnection, above: u64, limit: i64) -> Result<Vec<Applied>, StoreError> {
    let changesets = sqlx::query_as!(
        Applied,
        r#"select changesets.revision as "revision!", changesets.id, changesets.project_id, users.name as "author?",
                  changesets.via, changesets.note, changesets.break_glass, changesets.applied_at as "applied_at!",
                  (select count(*) from revision_entries where revision_entries.revision = changesets.revision)
                      as "entries!"
           from changesets
           left join users on users.id = changesets.author_id
           where changesets.revision > $1
           order by changesets.revision
           limit $2"#,
        signed(above),
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(changesets)
}

/// One thing that a changeset touched, as far as it is told: not its values, which may name users.
#[derive(Debug)]
pub struct Touched {
    /// Of the changeset.
    pub revision: i64,
    /// Where; absent for what is the same everywhere.
    pub environment_id: Option<Uuid>,
    /// What kind of thing.
    pub entity: String,
    /// Its id.
    pub entity_id: Option<Uuid>,
    /// Its key, for people.
    pub entity_key: String,
    /// It was not there before.
    pub is_new: bool,
    /// It is not there any more.
    pub is_gone: bool,
    /// An SDK key is revoked now, a flag archived.
    pub is_ended: bool,
    /// The parts of its document that differ.
    pub parts: Vec<String>,
    /// Whether it is on now, of a config.
    pub is_enabled: Option<bool>,
}

/// The first entries of each changeset after one revision up to another.
pub async fn list_touched(db: &mut PgConnection, above: u64, until: u64) -> Result<Vec<Touched>, StoreError> {
    let touched = sqlx::query_as!(
        Touched,
        r#"select entry.revision, entry.environment_id, entry.entity, entry.entity_id, entry.entity_key,
                  entry.before is null as "is_new!", entry.after is null as "is_gone!",
                  (coalesce(entry.after ->> 'revoked', 'false') = 'true'
                      or coalesce(entry.after ->> 'archived', 'false') = 'true'
                      or entry.after ->> 'archived_at' is not null) as "is_ended!",
                  array(select part from jsonb_object_keys(old.document || new.document) part
                        where old.document -> part is distinct from new.document -> part
                        order by part collate "C") as "parts!",
                  case when entry.entity = 'config' then (entry.after ->> 'enabled')::boolean end as is_enabled
           from revision_entries entry
           cross join lateral (select case when jsonb_typeof(entry.before) = 'object' then entry.before
                                           else '{}' end as document) old
           cross join lateral (select case when jsonb_typeof(entry.after) = 'object' then entry.after
                                           else '{}' end as document) new
           where entry.revision > $1 and entry.revision <= $2 and entry.ordinal < $3
           order by entry.revision, entry.ordinal"#,
        signed(above),
        signed(until),
        i32::try_from(ENTRIES_MAX).unwrap_or(i32::MAX),
    )
    .fetch_all(db)
    .await?;
    Ok(touched)
}

/// A webhook that may hear of something.
#[derive(Debug)]
pub struct Listener {
    /// Its id.
    pub id: WebhookId,
    /// Whose.
    pub project_id: ProjectId,
    /// The project's key.
    pub project: String,
    /// What it sends; empty means everything.
    pub event_types: Vec<String>,
    /// Where it has to happen; empty means everywhere.
    pub environment_ids: Vec<Uuid>,
    /// Only revisions above this.
    pub from_revision: i64,
    /// Only notes of later than this.
    pub created_at: OffsetDateTime,
}

/// All webhooks that are on.
pub async fn list_listeners(db: &mut PgConnection) -> Result<Vec<Listener>, StoreError> {
    let listeners = sqlx::query_as!(
        Listener,
        "select webhooks.id, webhooks.project_id, projects.key as project, webhooks.event_types,
                webhooks.environment_ids, webhooks.from_revision, webhooks.created_at
         from webhooks
         join projects on projects.id = webhooks.project_id
         where webhooks.is_enabled
         order by webhooks.created_at, webhooks.id
         limit $1",
        WEBHOOKS_MAX,
    )
    .fetch_all(db)
    .await?;
    Ok(listeners)
}

/// Keys of environments, by id.
pub async fn environment_keys(db: &mut PgConnection, ids: &[Uuid]) -> Result<Vec<(Uuid, String)>, StoreError> {
    let rows = sqlx::query!("select id, key from environments where id = any($1) order by position", ids)
        .fetch_all(db)
        .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.key)).collect())
}
