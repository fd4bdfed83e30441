//! Reading what happened: applied changesets with their entries. They are written in `store::changeset` alone.

mod then;

use serde_json::Value;
use shared::model::changeset::Via;
use shared::model::id::{ChangesetId, ProjectId, UserId};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

pub use then::{Later, ThenRow, entries_at, find_moment, list_later, revision_at};

use crate::store::{StoreError, signed, unsigned};

/// An applied changeset, without entries.
#[derive(Clone, Debug)]
pub struct Revision {
    /// Its number.
    pub revision: u64,
    /// When it was applied.
    pub at: OffsetDateTime,
    /// Who asked for it.
    pub who: Option<String>,
    /// The same person's id.
    pub who_id: Option<UserId>,
    /// Through what.
    pub via: Via,
    /// Why.
    pub note: String,
    /// Why the policy was passed over, when it was.
    pub break_glass: Option<String>,
    /// The changeset that people looked at before; absent when nobody did.
    pub reviewed: Option<ChangesetId>,
}

struct RevisionRow {
    id: Uuid,
    revision: i64,
    applied_at: OffsetDateTime,
    who: Option<String>,
    author_id: Option<Uuid>,
    via: String,
    note: String,
    break_glass: Option<String>,
    is_reviewed: bool,
}

impl From<RevisionRow> for Revision {
    fn from(row: RevisionRow) -> Self {
        Self {
            revision: unsigned(row.revision),
            at: row.applied_at,
            who: row.who,
            who_id: row.author_id.map(UserId::from),
            // A way of a newer version is shown as the product's own.
            via: row.via.parse().unwrap_or(Via::System),
            note: row.note,
            break_glass: row.break_glass,
            reviewed: row.is_reviewed.then(|| row.id.into()),
        }
    }
}

/// What a list shows.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only what touched this flag or segment, and nothing else of those revisions.
    pub thing: Option<Thing>,
    /// Only what touched this environment.
    pub environment: Option<Uuid>,
    /// Only what this person asked for.
    pub actor: Option<UserId>,
    /// Only what came to be through this.
    pub via: Option<Via>,
    /// Only what touched something of this kind.
    pub kind: Option<String>,
    /// First moment.
    pub from: Option<OffsetDateTime>,
    /// One past the last moment.
    pub to: Option<OffsetDateTime>,
    /// Part of the note, of the reason for passing over a policy or of a key, in any case.
    pub text: Option<String>,
}

/// A flag or a segment.
#[derive(Clone, Debug)]
pub struct Thing {
    /// Its key.
    pub key: String,
    /// What entries about it are called.
    pub entities: &'static [&'static str],
}

impl Filter {
    fn key(&self) -> Option<&str> {
        self.thing.as_ref().map(|thing| thing.key.as_str())
    }

    fn entities(&self) -> Vec<String> {
        let entities = self.thing.as_ref().map_or(&[][..], |thing| thing.entities);
        entities.iter().map(|entity| (*entity).to_owned()).collect()
    }
}

/// What happened in a project before a revision, newest first, what concerns everything included.
pub async fn list(
    db: &mut PgConnection,
    project: ProjectId,
    filter: &Filter,
    before: Option<u64>,
    limit: i64,
) -> Result<Vec<Revision>, StoreError> {
    let rows = sqlx::query_as!(
        RevisionRow,
        r#"select changesets.id as "id!", changesets.revision as "revision!", changesets.applied_at as "applied_at!",
                  users.name as "who?", changesets.author_id, changesets.via as "via!", changesets.note as "note!",
                  changesets.break_glass, changesets.changes is not null as "is_reviewed!"
           from (select * from changesets where project_id = $1
                 union all
                 select * from changesets where project_id is null) changesets
           left join users on users.id = changesets.author_id
           where changesets.revision < $2
             and ($3::text is null or changesets.revision = any (array(
                    select entries.revision from revision_entries entries
                    where entries.entity_key = $3 and entries.entity = any ($4) and entries.revision < $2
                      and ($5::uuid is null or entries.environment_id = $5))))
             and ($5::uuid is null or exists (select from revision_entries entries
                    where entries.revision = changesets.revision and entries.environment_id = $5))
             and ($6::text is null or exists (select from revision_entries entries
                    where entries.revision = changesets.revision and entries.entity = $6))
             and ($7::uuid is null or changesets.author_id = $7)
             and ($8::text is null or changesets.via = $8)
             and ($9::timestamptz is null or changesets.applied_at >= $9)
             and ($10::timestamptz is null or changesets.applied_at < $10)
             and ($11::text is null or strpos(lower(changesets.note), lower($11)) > 0
                    or strpos(lower(changesets.break_glass), lower($11)) > 0
                    or exists (select from revision_entries entries where entries.revision = changesets.revision
                               and strpos(lower(entries.entity_key), lower($11)) > 0))
           order by changesets.revision desc
           limit $12"#,
        project.uuid(),
        before.map_or(i64::MAX, signed),
        filter.key(),
        &filter.entities(),
        filter.environment,
        filter.kind,
        filter.actor.map(UserId::uuid),
        filter.via.map(Via::as_str),
        filter.from,
        filter.to,
        filter.text,
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(Revision::from).collect())
}

/// Finds a revision of a project, or one that concerns everything.
pub async fn find(db: &mut PgConnection, project: ProjectId, revision: u64) -> Result<Option<Revision>, StoreError> {
    let row = sqlx::query_as!(
        RevisionRow,
        r#"select changesets.id, changesets.revision as "revision!", changesets.applied_at as "applied_at!",
                  users.name as "who?", changesets.author_id, changesets.via, changesets.note, changesets.break_glass,
                  changesets.changes is not null as "is_reviewed!"
           from changesets
           left join users on users.id = changesets.author_id
           where changesets.revision = $2 and (changesets.project_id = $1 or changesets.project_id is null)"#,
        project.uuid(),
        signed(revision),
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(Revision::from))
}

/// One touched thing.
#[derive(Clone, Debug)]
pub struct EntryRow {
    /// Of which revision.
    pub revision: i64,
    /// Its place in it, from 0.
    pub ordinal: i32,
    /// Where.
    pub environment_id: Option<Uuid>,
    /// The environment's key.
    pub environment: Option<String>,
    /// What kind of thing.
    pub entity: String,
    /// Its id.
    pub entity_id: Option<Uuid>,
    /// Its key at that time.
    pub entity_key: String,
    /// Before.
    pub before: Option<Value>,
    /// After.
    pub after: Option<Value>,
}

/// The first entries of some revisions, at most `each` of any one; with a filter for a flag or segment those about it.
pub async fn list_entries(
    db: &mut PgConnection,
    revisions: &[u64],
    filter: &Filter,
    each: i64,
) -> Result<Vec<EntryRow>, StoreError> {
    let revisions: Vec<i64> = revisions.iter().map(|revision| signed(*revision)).collect();
    let rows = sqlx::query_as!(
        EntryRow,
        r#"select entries.revision, entries.ordinal, entries.environment_id, environments.key as "environment?",
                  entries.entity, entries.entity_id, entries.entity_key, entries.before, entries.after
           from unnest($1::bigint[]) wanted (revision)
           cross join lateral (select * from revision_entries
                               where revision_entries.revision = wanted.revision
                                 and ($2::text is null or (entity_key = $2 and entity = any ($3)))
                               order by ordinal
                               limit $4) entries
           left join environments on environments.id = entries.environment_id
           order by entries.revision desc, entries.ordinal"#,
        &revisions,
        filter.key(),
        &filter.entities(),
        each,
    )
    .fetch_all(db)
    .await?;
    Ok(rows)
}

/// How many entries some revisions have.
pub async fn count_entries(db: &mut PgConnection, revisions: &[u64]) -> Result<Vec<(u64, u64)>, StoreError> {
    let revisions: Vec<i64> = revisions.iter().map(|revision| signed(*revision)).collect();
    let rows = sqlx::query!(
        r#"select revision, count(*) as "count!" from revision_entries where revision = any ($1) group by revision"#,
        &revisions,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|row| (unsigned(row.revision), unsigned(row.count))).collect())
}

/// Entries of one revision from an ordinal on.
pub async fn list_entries_from(
    db: &mut PgConnection,
    revision: u64,
    from: i32,
    limit: i64,
) -> Result<Vec<EntryRow>, StoreError> {
    let rows = sqlx::query_as!(
        EntryRow,
        r#"select entries.revision, entries.ordinal, entries.environment_id, environments.key as "environment?",
                  entries.entity, entries.entity_id, entries.entity_key, entries.before, entries.after
           from revision_entries entries
           left join environments on environments.id = entries.environment_id
           where entries.revision = $1 and entries.ordinal >= $2
           order by entries.ordinal
           limit $3"#,
        signed(revision),
        from,
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(rows)
}
