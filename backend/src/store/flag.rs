//! Flags: what is the same in every environment.

use serde_json::Value;
use shared::model::flag::{FlagDefinition, FlagKind};
use shared::model::id::{EnvironmentId, FlagId, ProjectId, UserId};
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

struct FlagRow {
    id: Uuid,
    key: String,
    name: String,
    description: String,
    tags: Vec<String>,
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
            version: unsigned(row.version),
            created_at: row.created_at,
            created_by: row.created_by,
            changed_at: row.changed_at,
            changed_by: row.changed_by,
        })
    }
}

/// Which flags a list shows.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Part of the key or name, in any case.
    pub text: Option<String>,
    /// Has this tag.
    pub tag: Option<String>,
    /// Is of this kind.
    pub kind: Option<FlagKind>,
    /// Stands like this (`on`, `part`, `off` or `killed`) in an environment.
    pub state: Option<(EnvironmentId, String)>,
}

/// Where a page begins: after this flag, in the order of the list.
#[derive(Clone, Debug)]
pub enum After {
    /// The list is by key.
    Key(String),
    /// The list is by last change.
    Changed(OffsetDateTime, FlagId),
}

/// Finds a flag of a project that is not archived.
pub async fn find(db: &mut PgConnection, project: ProjectId, key: &str) -> Result<Option<Flag>, StoreError> {
    let row = sqlx::query_as!(
        FlagRow,
        r#"select flags.id, flags.key, flags.name, flags.description, flags.tags, flags.format, flags.document, flags.version,
                  flags.created_at, creator.name as created_by, flags.changed_at, changer.name as changed_by
           from flags
           join users creator on creator.id = flags.created_by
           join users changer on changer.id = flags.changed_by
           where flags.project_id = $1 and flags.key = $2 and flags.archived_at is null"#,
        project.uuid(),
        key,
    )
    .fetch_optional(db)
    .await?;
    row.map(Flag::try_from).transpose()
}

/// A page of flags.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Those that can be read.
    pub flags: Vec<Flag>,
    /// Where the next page begins, when there is one.
    pub next: Option<After>,
}

/// Lists flags that are not archived, at most `limit`; a document that cannot be read never fails the list.
pub async fn list(
    db: &mut PgConnection,
    project: ProjectId,
    filter: &Filter,
    after: Option<&After>,
    by_key: bool,
    limit: i64,
) -> Result<Listed, StoreError> {
    let (after_key, after_at, after_id) = match after {
        None => (None, None, None),
        Some(After::Key(key)) => (Some(key.as_str()), None, None),
        Some(After::Changed(at, id)) => (None, Some(*at), Some(id.uuid())),
    };
    let (environment, state) = state_filter(filter);
    let rows = sqlx::query_as!(
        FlagRow,
        r#"select flags.id, flags.key, flags.name, flags.description, flags.tags, flags.format, flags.document,
                  flags.version, flags.created_at, creator.name as created_by, flags.changed_at,
                  changer.name as changed_by
           from flags
           join users creator on creator.id = flags.created_by
           join users changer on changer.id = flags.changed_by
           where flags.project_id = $1 and flags.archived_at is null
             and ($2::text is null or strpos(lower(flags.key), lower($2)) > 0 or strpos(lower(flags.name), lower($2)) > 0)
             and ($3::text is null or $3 = any (flags.tags))
             and ($4::text is null or flags.kind = $4)
             and ($5::uuid is null or $6::text = case
                    when exists (select 1 from kills where kills.flag_id = flags.id and kills.environment_id = $5)
                    then 'killed'
                    else (select shape from flag_configs
                          where flag_configs.flag_id = flags.id and flag_configs.environment_id = $5) end)
             and ($7::text is null or flags.key > $7)
             and ($8::timestamptz is null or (flags.changed_at, flags.id) < ($8, $9::uuid))
           order by case when $10 then flags.key end, flags.changed_at desc, flags.id desc
           limit $11"#,
        project.uuid(),
        filter.text,
        filter.tag,
        filter.kind.map(kind_text).transpose()?,
        environment,
        state,
        after_key,
        after_at,
        after_id,
        by_key,
        // One more than asked for tells whether there is a next page.
        limit + 1,
    )
    .fetch_all(db)
    .await?;
    let limit = usize::try_from(limit).unwrap_or(0);
    let last = rows.get(limit.saturating_sub(1)).filter(|_| rows.len() > limit);
    let next = last.map(|row| match by_key {
        true => After::Key(row.key.clone()),
        false => After::Changed(row.changed_at, row.id.into()),
    });
    let flags = rows.into_iter().take(limit).filter_map(|row| readable(row.try_into())).collect();
    Ok(Listed { flags, next })
}

/// How many flags a filter matches.
pub async fn count(db: &mut PgConnection, project: ProjectId, filter: &Filter) -> Result<u64, StoreError> {
    let (environment, state) = state_filter(filter);
    let count = sqlx::query_scalar!(
        r#"select count(*) as "count!"
           from flags
           where flags.project_id = $1 and flags.archived_at is null
             and ($2::text is null or strpos(lower(flags.key), lower($2)) > 0 or strpos(lower(flags.name), lower($2)) > 0)
             and ($3::text is null or $3 = any (flags.tags))
             and ($4::text is null or flags.kind = $4)
             and ($5::uuid is null or $6::text = case
                    when exists (select 1 from kills where kills.flag_id = flags.id and kills.environment_id = $5)
                    then 'killed'
                    else (select shape from flag_configs
                          where flag_configs.flag_id = flags.id and flag_configs.environment_id = $5) end)"#,
        project.uuid(),
        filter.text,
        filter.tag,
        filter.kind.map(kind_text).transpose()?,
        environment,
        state,
    )
    .fetch_one(db)
    .await?;
    Ok(unsigned(count))
}

/// Adds a flag.
pub async fn insert(db: &mut PgConnection, project: ProjectId, flag: &Flag, author: UserId) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into flags (id, project_id, key, name, description, tags, kind, format, document, version,
                            created_at, created_by, changed_at, changed_by)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1, $10, $11, $10, $11)",
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
             changed_at = $8, changed_by = $9
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

fn state_filter(filter: &Filter) -> (Option<Uuid>, Option<&str>) {
    match &filter.state {
        Some((environment, state)) => (Some(environment.uuid()), Some(state)),
        None => (None, None),
    }
}

fn kind_text(kind: FlagKind) -> Result<String, StoreError> {
    Ok(write_document(&kind)?.as_str().unwrap_or_default().to_owned())
}

/// Names of these flags.
pub async fn list_names(db: &mut PgConnection, flags: &[FlagId]) -> Result<Vec<(FlagId, String)>, StoreError> {
    let ids: Vec<Uuid> = flags.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query!("select id, name from flags where id = any ($1)", &ids).fetch_all(db).await?;
    Ok(rows.into_iter().map(|row| (row.id.into(), row.name)).collect())
}
