//! How things were: the latest entry about each at or before a revision. Documents of today are not looked at, so it is
//! also right for what is archived or gone since.

use serde_json::Value;
use shared::model::id::ProjectId;
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::{StoreError, signed, unsigned};

/// The latest entry about a thing in one place.
#[derive(Clone, Debug)]
pub struct ThenRow {
    /// What kind of entry.
    pub entity: String,
    /// The thing's id.
    pub entity_id: Uuid,
    /// Where; absent for what is the same everywhere.
    pub environment_id: Option<Uuid>,
    /// The revision that wrote it.
    pub revision: i64,
    /// How it was from then on; absent when it was gone.
    pub after: Option<Value>,
    /// How many entries there are up to it: its version, where each save writes one.
    pub version: i64,
    /// When.
    pub at: OffsetDateTime,
    /// Who.
    pub who: Option<String>,
    /// Why.
    pub note: String,
    /// When the first of them was written.
    pub first_at: OffsetDateTime,
    /// By whom.
    pub first_who: Option<String>,
}

/// The latest entries at or before a revision about everything of a project with this key: one per kind, thing and place.
pub async fn entries_at(
    db: &mut PgConnection,
    project: ProjectId,
    key: &str,
    entities: &[&str],
    revision: u64,
) -> Result<Vec<ThenRow>, StoreError> {
    let entities: Vec<String> = entities.iter().map(|entity| (*entity).to_owned()).collect();
    let rows = sqlx::query_as!(
        ThenRow,
        r#"with known as (
               select entries.entity, entries.entity_id, entries.environment_id, max(entries.revision) as last,
                      min(entries.revision) as first, count(*) as version
               from revision_entries entries
               join changesets on changesets.revision = entries.revision and changesets.project_id = $1
               where entries.entity_key = $2 and entries.entity = any ($3) and entries.revision <= $4
                 and entries.entity_id is not null
               group by entries.entity, entries.entity_id, entries.environment_id
           )
           select known.entity as "entity!", known.entity_id as "entity_id!", known.environment_id,
                  known.last as "revision!", written.after, known.version as "version!",
                  last.applied_at as "at!", last_user.name as "who?", last.note as "note!",
                  first.applied_at as "first_at!", first_user.name as "first_who?"
           from known
           join lateral (select after from revision_entries entries
                         where entries.revision = known.last and entries.entity = known.entity
                           and entries.entity_id = known.entity_id
                           and entries.environment_id is not distinct from known.environment_id
                         order by entries.ordinal desc
                         limit 1) written on true
           join changesets last on last.revision = known.last
           left join users last_user on last_user.id = last.author_id
           join changesets first on first.revision = known.first
           left join users first_user on first_user.id = first.author_id"#,
        project.uuid(),
        key,
        &entities,
        signed(revision),
    )
    .fetch_all(db)
    .await?;
    Ok(rows)
}

/// The newest revision of a project (or of everything) at or before a moment, with its own moment.
pub async fn revision_at(
    db: &mut PgConnection,
    project: ProjectId,
    at: OffsetDateTime,
) -> Result<Option<(u64, OffsetDateTime)>, StoreError> {
    let row = sqlx::query!(
        r#"select revision as "revision!", applied_at as "applied_at!"
           from changesets
           where project_id = $1 and applied_at <= $2 and revision is not null
           order by applied_at desc, revision desc
           limit 1"#,
        project.uuid(),
        at,
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| (unsigned(row.revision), row.applied_at)))
}

/// When a revision was applied, in whatever project.
pub async fn find_moment(db: &mut PgConnection, revision: u64) -> Result<Option<OffsetDateTime>, StoreError> {
    let at = sqlx::query_scalar!(
        r#"select applied_at as "applied_at!" from changesets where revision = $1"#,
        signed(revision),
    )
    .fetch_optional(db)
    .await?;
    Ok(at)
}

/// Something that was changed again.
#[derive(Clone, Debug)]
pub struct Later {
    /// The entry that is not the last word any more.
    pub ordinal: i32,
    /// By which revision it was changed last.
    pub revision: u64,
    /// Who asked for that.
    pub who: Option<String>,
}

/// Entries of a revision whose things were changed after it, with the newest change of each.
pub async fn list_later(db: &mut PgConnection, revision: u64) -> Result<Vec<Later>, StoreError> {
    let rows = sqlx::query!(
        r#"with later as (
               select mine.ordinal, max(entries.revision) as revision
               from revision_entries mine
               join revision_entries entries
                    on entries.entity_id = mine.entity_id and entries.entity = mine.entity
                       and entries.environment_id is not distinct from mine.environment_id
                       and entries.revision > mine.revision
               where mine.revision = $1
               group by mine.ordinal
           )
           select later.ordinal, later.revision as "revision!", users.name as "who?"
           from later
           join changesets on changesets.revision = later.revision
           left join users on users.id = changesets.author_id
           order by later.ordinal"#,
        signed(revision),
    )
    .fetch_all(db)
    .await?;
    let rows = rows.into_iter();
    Ok(rows.map(|row| Later { ordinal: row.ordinal, revision: unsigned(row.revision), who: row.who }).collect())
}
