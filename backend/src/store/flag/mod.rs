//! Flags: what is the same in every environment.

mod life;
mod list;

pub use life::{archive, delete, restore};
pub use list::{Cursor, Filter, Found, Order, Sort, Waiting, count, list, list_tags, list_waiting};
use serde_json::Value;
use shared::model::flag::{FlagDefinition, FlagKind};
use shared::model::id::{FlagId, ProjectId, UserId};
use shared::model::lifetime::Lifetime;
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::{DOCUMENT_FORMAT, StoreError, read_document, readable, unsigned, write_document};

/// A flag as stored.
#[derive(Clone, Debug)]
pub struct Flag {
    /// Its id.
    pub id: FlagId,
    /// What decides its answers.
    pub definition: FlagDefinition,
    /// For people.
    pub name: String,
    /// For people.
    pub description: String,
    /// Words of people.
    pub tags: Vec<String>,
    /// Whom to ask about it.
    pub owner: Option<Owner>,
    /// How long it is meant to be there.
    pub lifetime: Lifetime,
    /// Since when it is archived.
    pub archived_at: Option<OffsetDateTime>,
    /// Counts up with every change of the flag itself.
    pub version: u64,
    /// When it was made.
    pub created_at: OffsetDateTime,
    /// Who made it.
    pub created_by: String,
    /// Last change of anything about it.
    pub changed_at: OffsetDateTime,
    /// Who made it.
    pub changed_by: String,
}

/// Whom to ask about a flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Who.
    pub id: UserId,
    /// Their name.
    pub name: String,
}

struct FlagRow {
    id: Uuid,
    name: String,
    description: String,
    tags: Vec<String>,
    owner_id: Option<Uuid>,
    owner_name: Option<String>,
    lifetime_days: Option<i32>,
    archived_at: Option<OffsetDateTime>,
    format: i32,
    document: Value,
    version: i64,
    created_at: OffsetDateTime,
    created_by: String,
    changed_at: OffsetDateTime,
    changed_by: String,
}

impl TryFrom<FlagRow> for Flag {
    type Error = StoreError;

    fn try_from(row: FlagRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id.into(),
            definition: read_document("flags", row.id, row.format, row.document)?,
            name: row.name,
            description: row.description,
            tags: row.tags,
            owner: row.owner_id.zip(row.owner_name).map(|(id, name)| Owner { id: id.into(), name }),
            lifetime: lifetime_of(row.lifetime_days),
            archived_at: row.archived_at,
            version: unsigned(row.version),
            created_at: row.created_at,
            created_by: row.created_by,
            changed_at: row.changed_at,
            changed_by: row.changed_by,
        })
    }
}

/// Finds a flag of a project that is not archived.
pub async fn find(db: &mut PgConnection, project: ProjectId, key: &str) -> Result<Option<Flag>, StoreError> {
    Ok(find_any(db, project, key).await?.filter(|flag| flag.archived_at.is_none()))
}

/// Finds a flag of a project, archived or not.
pub async fn find_any(db: &mut PgConnection, project: ProjectId, key: &str) -> Result<Option<Flag>, StoreError> {
    Ok(list_by_key(db, project, &[key.to_owned()]).await?.into_iter().next())
}

/// Flags of a project by their ids, in no order; one that cannot be read is left out.
pub async fn list_by_id(db: &mut PgConnection, project: ProjectId, ids: &[FlagId]) -> Result<Vec<Flag>, StoreError> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query_as!(
        FlagRow,
        r#"select flags.id, flags.name, flags.description, flags.tags, flags.owner_id, owner.name as "owner_name?",
                  flags.lifetime_days, flags.archived_at, flags.format, flags.document, flags.version,
                  flags.created_at, creator.name as created_by, flags.changed_at, changer.name as changed_by
           from flags
           join users creator on creator.id = flags.created_by
           join users changer on changer.id = flags.changed_by
           left join users owner on owner.id = flags.owner_id
           where flags.project_id = $1 and flags.id = any ($2)"#,
        project.uuid(),
        &ids,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().filter_map(|row| readable(row.try_into())).collect())
}

/// Flags of a project by their keys, archived ones too, in no order; for a change, so that one that cannot be read fails.
pub async fn list_by_key(db: &mut PgConnection, project: ProjectId, keys: &[String]) -> Result<Vec<Flag>, StoreError> {
    // Not one statement with `list_by_id`: a plan for either of two conditions looks at every flag.
    let rows = sqlx::query_as!(
        FlagRow,
        r#"select flags.id, flags.name, flags.description, flags.tags, flags.owner_id, owner.name as "owner_name?",
                  flags.lifetime_days, flags.archived_at, flags.format, flags.document, flags.version,
                  flags.created_at, creator.name as created_by, flags.changed_at, changer.name as changed_by
           from flags
           join users creator on creator.id = flags.created_by
           join users changer on changer.id = flags.changed_by
           left join users owner on owner.id = flags.owner_id
           where flags.project_id = $1 and flags.key = any ($2)"#,
        project.uuid(),
        keys,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(Flag::try_from).collect()
}

/// Adds a flag.
pub async fn insert(db: &mut PgConnection, project: ProjectId, flag: &Flag, author: UserId) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into flags (id, project_id, key, name, description, tags, kind, format, document, version,
                            created_at, created_by, changed_at, changed_by, owner_id, lifetime_days)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1, $10, $11, $10, $11, $12, $13)",
        flag.id.uuid(),
        project.uuid(),
        flag.definition.key.as_str(),
        flag.name,
        flag.description,
        &flag.tags,
        kind_text(flag.definition.kind)?,
        DOCUMENT_FORMAT,
        write_document(&flag.definition)?,
        flag.created_at,
        author.uuid(),
        flag.owner.as_ref().map(|owner| owner.id.uuid()),
        lifetime_days(flag.lifetime),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Writes a changed flag with its next version.
pub async fn update(db: &mut PgConnection, flag: &Flag, author: UserId, at: OffsetDateTime) -> Result<(), StoreError> {
    sqlx::query!(
        "update flags
         set name = $2, description = $3, tags = $4, kind = $5, format = $6, document = $7, version = version + 1,
             changed_at = $8, changed_by = $9, owner_id = $10, lifetime_days = $11
         where id = $1",
        flag.id.uuid(),
        flag.name,
        flag.description,
        &flag.tags,
        kind_text(flag.definition.kind)?,
        DOCUMENT_FORMAT,
        write_document(&flag.definition)?,
        at,
        author.uuid(),
        flag.owner.as_ref().map(|owner| owner.id.uuid()),
        lifetime_days(flag.lifetime),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Notes that something about flags changed, so that lists sort them first.
pub async fn touch(
    db: &mut PgConnection,
    flags: &[FlagId],
    author: UserId,
    at: OffsetDateTime,
) -> Result<(), StoreError> {
    let ids: Vec<Uuid> = flags.iter().map(|id| id.uuid()).collect();
    sqlx::query!("update flags set changed_at = $2, changed_by = $3 where id = any ($1)", &ids, at, author.uuid(),)
        .execute(db)
        .await?;
    Ok(())
}

/// The same for one flag, but waits for nobody: a changeset that holds the flag notes its own time anyway.
pub async fn touch_unless_held(
    db: &mut PgConnection,
    flag: FlagId,
    author: UserId,
    at: OffsetDateTime,
) -> Result<(), StoreError> {
    sqlx::query!(
        "update flags
         set changed_at = $2, changed_by = $3
         where id = (select id from flags where id = $1 for no key update skip locked)",
        flag.uuid(),
        at,
        author.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}

fn kind_text(kind: FlagKind) -> Result<String, StoreError> {
    Ok(write_document(&kind)?.as_str().unwrap_or_default().to_owned())
}

/// The lifetime as its column has it: 0 for good, absent as usual.
fn lifetime_days(lifetime: Lifetime) -> Option<i32> {
    match lifetime {
        Lifetime::Usual => None,
        Lifetime::Permanent => Some(0),
        Lifetime::Days(days) => Some(i32::try_from(days).unwrap_or(i32::MAX)),
    }
}

/// The other way round.
pub(super) fn lifetime_of(days: Option<i32>) -> Lifetime {
    match days.map(u32::try_from) {
        None => Lifetime::Usual,
        Some(Ok(0) | Err(_)) => Lifetime::Permanent,
        Some(Ok(days)) => Lifetime::Days(days),
    }
}

/// Names of these flags.
pub async fn list_names(db: &mut PgConnection, flags: &[FlagId]) -> Result<Vec<(FlagId, String)>, StoreError> {
    let ids: Vec<Uuid> = flags.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query!("select id, name from flags where id = any ($1)", &ids).fetch_all(db).await?;
    Ok(rows.into_iter().map(|row| (row.id.into(), row.name)).collect())
}
