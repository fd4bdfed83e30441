//! Registered attributes, and who looks at which attribute by name. The latter is kept by triggers in the transaction that
//! saves a document.

use shared::model::attribute::Attribute;
use shared::model::id::{AttributeId, ProjectId, UserId};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::{StoreError, unsigned};

/// An attribute as stored.
#[derive(Clone, Debug)]
pub struct Registered {
    /// Its id.
    pub id: AttributeId,
    /// What people registered.
    pub attribute: Attribute,
    /// Counts up with every save.
    pub version: u64,
    /// When it was saved.
    pub changed_at: OffsetDateTime,
    /// Who saved it.
    pub changed_by: String,
}

/// How often a name is looked at.
#[derive(Clone, Debug)]
pub struct Used {
    /// The name.
    pub name: String,
    /// By how many flags.
    pub flags: i64,
    /// By how many segments.
    pub segments: i64,
}

/// A flag that looks at an attribute.
#[derive(Clone, Debug)]
pub struct UsingFlag {
    /// Its key.
    pub key: String,
    /// Its name.
    pub name: String,
    /// Where, in promotion order.
    pub environments: Vec<String>,
}

struct Row {
    id: Uuid,
    name: String,
    value_type: String,
    suggestions: Vec<String>,
    description: String,
    version: i64,
    changed_at: OffsetDateTime,
    changed_by: String,
}

impl TryFrom<Row> for Registered {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let corrupt = |_| StoreError::Corrupt { table: "attributes", id: row.id.to_string(), format: 0, source: None };
        let value_type = row.value_type.parse().map_err(corrupt)?;
        let Row { name, suggestions, description, .. } = row;
        Ok(Self {
            id: row.id.into(),
            attribute: Attribute { name, value_type, suggestions, description },
            version: unsigned(row.version),
            changed_at: row.changed_at,
            changed_by: row.changed_by,
        })
    }
}

/// The attributes of a project by name; with `name`, that one alone.
pub async fn list(
    db: &mut PgConnection,
    project: ProjectId,
    name: Option<&str>,
) -> Result<Vec<Registered>, StoreError> {
    let rows = sqlx::query_as!(
        Row,
        "select attributes.id, attributes.name, attributes.type as value_type, attributes.suggestions,
                attributes.description, attributes.version, attributes.changed_at, users.name as changed_by
         from attributes
         join users on users.id = attributes.changed_by
         where attributes.project_id = $1 and ($2::text is null or attributes.name = $2)
         order by attributes.name",
        project.uuid(),
        name,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(Registered::try_from).collect()
}

/// Adds an attribute, unless the project has `most` of them already; then false.
pub async fn insert(
    db: &mut PgConnection,
    project: ProjectId,
    id: AttributeId,
    attribute: &Attribute,
    author: UserId,
    at: OffsetDateTime,
    most: i64,
) -> Result<bool, StoreError> {
    // Two who add the last one at the same moment wait for each other.
    sqlx::query!("select from projects where id = $1 for no key update", project.uuid()).execute(&mut *db).await?;
    let done = sqlx::query!(
        "insert into attributes (id, project_id, name, type, suggestions, description, version, changed_at, changed_by)
         select $1, $2, $3, $4, $5, $6, 1, $7, $8
         where (select count(*) from attributes where project_id = $2) < $9",
        id.uuid(),
        project.uuid(),
        attribute.name,
        attribute.value_type.as_str(),
        &attribute.suggestions,
        attribute.description,
        at,
        author.uuid(),
        most,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Writes a changed attribute with its next version, when it still has the version that was seen; else false.
pub async fn update(
    db: &mut PgConnection,
    project: ProjectId,
    attribute: &Attribute,
    expected: u64,
    author: UserId,
    at: OffsetDateTime,
) -> Result<bool, StoreError> {
    let done = sqlx::query!(
        "update attributes
         set type = $3, suggestions = $4, description = $5, version = version + 1, changed_at = $6, changed_by = $7
         where project_id = $1 and name = $2 and version = $8",
        project.uuid(),
        attribute.name,
        attribute.value_type.as_str(),
        &attribute.suggestions,
        attribute.description,
        at,
        author.uuid(),
        crate::store::signed(expected),
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Removes an attribute from the register; false when it is not in there. Rules that look at it stay as they are.
pub async fn delete(db: &mut PgConnection, project: ProjectId, name: &str) -> Result<bool, StoreError> {
    let done = sqlx::query!("delete from attributes where project_id = $1 and name = $2", project.uuid(), name)
        .execute(db)
        .await?;
    Ok(done.rows_affected() > 0)
}

/// How often each name is looked at that anybody looks at; with `name`, that one alone. The most used first.
pub async fn list_used(db: &mut PgConnection, project: ProjectId, name: Option<&str>) -> Result<Vec<Used>, StoreError> {
    let used = sqlx::query_as!(
        Used,
        r#"select attribute_uses.name, count(distinct flags.id) as "flags!", count(distinct segments.id) as "segments!"
           from attribute_uses
           left join flags on flags.id = attribute_uses.flag_id and flags.archived_at is null
           left join segments on segments.id = attribute_uses.segment_id
           where coalesce(flags.project_id, segments.project_id) = $1 and ($2::text is null or attribute_uses.name = $2)
           group by attribute_uses.name
           order by count(distinct flags.id) + count(distinct segments.id) desc, attribute_uses.name"#,
        project.uuid(),
        name,
    )
    .fetch_all(db)
    .await?;
    Ok(used)
}

/// The flags that look at a name, by key; at most `limit`.
pub async fn list_flags(
    db: &mut PgConnection,
    project: ProjectId,
    name: &str,
    limit: i64,
) -> Result<Vec<UsingFlag>, StoreError> {
    let flags = sqlx::query_as!(
        UsingFlag,
        r#"select flags.key, flags.name, array_agg(environments.key order by environments.position) as "environments!"
           from attribute_uses
           join flags on flags.id = attribute_uses.flag_id
           join environments on environments.id = attribute_uses.environment_id
           where flags.project_id = $1 and flags.archived_at is null and attribute_uses.name = $2
           group by flags.id
           order by flags.key
           limit $3"#,
        project.uuid(),
        name,
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(flags)
}

/// The segments that look at a name, by key; at most `limit`.
pub async fn list_segments(
    db: &mut PgConnection,
    project: ProjectId,
    name: &str,
    limit: i64,
) -> Result<Vec<String>, StoreError> {
    let keys = sqlx::query_scalar!(
        "select segments.key
         from attribute_uses
         join segments on segments.id = attribute_uses.segment_id
         where segments.project_id = $1 and attribute_uses.name = $2
         order by segments.key
         limit $3",
        project.uuid(),
        name,
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(keys)
}
