//! Segments of a project.

mod usage;

use serde_json::Value;
use shared::model::id::{ProjectId, SegmentId, UserId};
use shared::model::segment::SegmentDefinition;
use sqlx::PgConnection;
use time::OffsetDateTime;
pub use usage::{Reached, Using, count_using, list_reached, list_using, list_using_segments};
use uuid::Uuid;

use crate::store::{DOCUMENT_FORMAT, StoreError, read_document, readable, unsigned, write_document};

/// The most segments of a project.
pub const LIST_MAX: i64 = 1_000;

/// A segment as stored.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Its id.
    pub id: SegmentId,
    /// Who is in it.
    pub definition: SegmentDefinition,
    /// For people.
    pub name: String,
    /// Counts up with every save.
    pub version: u64,
    /// When it was saved.
    pub changed_at: OffsetDateTime,
    /// Who saved it.
    pub changed_by: String,
    /// Keys of flags that name it in any environment.
    pub used_by: Vec<String>,
    /// Keys of segments that name it.
    pub used_by_segments: Vec<String>,
}

struct SegmentRow {
    id: Uuid,
    name: String,
    format: i32,
    document: Value,
    version: i64,
    changed_at: OffsetDateTime,
    changed_by: String,
    used_by: Vec<String>,
    used_by_segments: Vec<String>,
}

impl TryFrom<SegmentRow> for Segment {
    type Error = StoreError;

    fn try_from(row: SegmentRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id.into(),
            definition: read_document("segments", row.id, row.format, row.document)?,
            name: row.name,
            version: unsigned(row.version),
            changed_at: row.changed_at,
            changed_by: row.changed_by,
            used_by: row.used_by,
            used_by_segments: row.used_by_segments,
        })
    }
}

/// A segment in a list, without its keys.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Who is in it, without keys.
    pub definition: SegmentDefinition,
    /// For people.
    pub name: String,
    /// Counts up with every save.
    pub version: u64,
    /// How many keys are never in it.
    pub excluded: u64,
    /// How many keys are in it.
    pub included: u64,
    /// When it was saved.
    pub changed_at: OffsetDateTime,
    /// Who saved it.
    pub changed_by: String,
    /// Keys of flags that name it in any environment.
    pub used_by: Vec<String>,
    /// Keys of segments that name it.
    pub used_by_segments: Vec<String>,
}

struct SummaryRow {
    id: Uuid,
    key: String,
    name: String,
    format: i32,
    version: i64,
    changed_at: OffsetDateTime,
    changed_by: String,
    document: Value,
    excluded: i64,
    included: i64,
    used_by: Vec<String>,
    used_by_segments: Vec<String>,
}

impl TryFrom<SummaryRow> for Summary {
    type Error = StoreError;

    fn try_from(row: SummaryRow) -> Result<Self, StoreError> {
        Ok(Self {
            definition: read_document("segments", row.id, row.format, row.document)?,
            name: row.name,
            version: unsigned(row.version),
            excluded: unsigned(row.excluded),
            included: unsigned(row.included),
            changed_at: row.changed_at,
            changed_by: row.changed_by,
            used_by: row.used_by,
            used_by_segments: row.used_by_segments,
        })
    }
}

/// The segments of a project whose key or name holds `text`, by key, after one of them; a document that cannot be read
/// never fails the list. Also where the next page begins.
pub async fn list(
    db: &mut PgConnection,
    project: ProjectId,
    text: Option<&str>,
    after: Option<&str>,
    limit: i64,
) -> Result<(Vec<Summary>, Option<String>), StoreError> {
    let rows = sqlx::query_as!(
        SummaryRow,
        r#"select segments.id, segments.key, segments.name, segments.format, segments.version, segments.changed_at,
                  users.name as changed_by, segments.document - 'included' - 'excluded' as "document!",
                  coalesce(jsonb_array_length(segments.document -> 'excluded'), 0)::bigint as "excluded!",
                  coalesce(jsonb_array_length(segments.document -> 'included'), 0)::bigint as "included!",
                  array(select distinct flags.key from reference
                        join flags on flags.id = reference.from_flag_id
                        where reference.to_segment_id = segments.id order by flags.key) as "used_by!",
                  array(select outer_segments.key from reference
                        join segments outer_segments on outer_segments.id = reference.from_segment_id
                        where reference.to_segment_id = segments.id order by outer_segments.key) as "used_by_segments!"
           from segments
           join users on users.id = segments.changed_by
           where segments.project_id = $1
             and ($2::text is null or strpos(lower(segments.key), lower($2)) > 0
                  or strpos(lower(segments.name), lower($2)) > 0)
             and ($3::text is null or segments.key > $3)
           order by segments.key
           limit $4"#,
        project.uuid(),
        text,
        after,
        // One more than asked for tells whether there is a next page.
        limit + 1,
    )
    .fetch_all(db)
    .await?;
    let limit = usize::try_from(limit).unwrap_or(0);
    let last = rows.get(limit.saturating_sub(1)).filter(|_| rows.len() > limit);
    let next = last.map(|row| row.key.clone());
    Ok((rows.into_iter().take(limit).filter_map(|row| readable(row.try_into())).collect(), next))
}

/// How many segments of a project hold `text` in their key or name.
pub async fn count_matching(db: &mut PgConnection, project: ProjectId, text: Option<&str>) -> Result<u64, StoreError> {
    let count = sqlx::query_scalar!(
        r#"select count(*) as "count!" from segments
           where project_id = $1
             and ($2::text is null or strpos(lower(key), lower($2)) > 0 or strpos(lower(name), lower($2)) > 0)"#,
        project.uuid(),
        text,
    )
    .fetch_one(db)
    .await?;
    Ok(unsigned(count))
}

/// Finds a segment of a project.
pub async fn find(db: &mut PgConnection, project: ProjectId, key: &str) -> Result<Option<Segment>, StoreError> {
    let row = sqlx::query_as!(
        SegmentRow,
        r#"select segments.id, segments.name, segments.format, segments.document, segments.version,
                  segments.changed_at, users.name as changed_by,
                  array(select distinct flags.key from reference
                        join flags on flags.id = reference.from_flag_id
                        where reference.to_segment_id = segments.id order by flags.key) as "used_by!",
                  array(select outer_segments.key from reference
                        join segments outer_segments on outer_segments.id = reference.from_segment_id
                        where reference.to_segment_id = segments.id order by outer_segments.key) as "used_by_segments!"
           from segments
           join users on users.id = segments.changed_by
           where segments.project_id = $1 and segments.key = $2"#,
        project.uuid(),
        key,
    )
    .fetch_optional(db)
    .await?;
    row.map(Segment::try_from).transpose()
}

/// How many segments a project has.
pub async fn count(db: &mut PgConnection, project: ProjectId) -> Result<i64, StoreError> {
    let count =
        sqlx::query_scalar!(r#"select count(*) as "count!" from segments where project_id = $1"#, project.uuid())
            .fetch_one(db)
            .await?;
    Ok(count)
}

/// Documents of these segments, for rendering.
pub async fn list_definitions(
    db: &mut PgConnection,
    segments: &[SegmentId],
) -> Result<Vec<(SegmentId, SegmentDefinition)>, StoreError> {
    let ids: Vec<Uuid> = segments.iter().map(|id| id.uuid()).collect();
    let rows =
        sqlx::query!("select id, format, document from segments where id = any ($1)", &ids).fetch_all(db).await?;
    rows.into_iter()
        .map(|row| Ok((row.id.into(), read_document("segments", row.id, row.format, row.document)?)))
        .collect()
}

/// Adds a segment.
pub async fn insert(
    db: &mut PgConnection,
    project: ProjectId,
    id: SegmentId,
    definition: &SegmentDefinition,
    name: &str,
    author: UserId,
    at: OffsetDateTime,
) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into segments (id, project_id, key, name, format, document, version, changed_at, changed_by)
         values ($1, $2, $3, $4, $5, $6, 1, $7, $8)",
        id.uuid(),
        project.uuid(),
        definition.key.as_str(),
        name,
        DOCUMENT_FORMAT,
        write_document(definition)?,
        at,
        author.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Writes a changed segment with its next version.
pub async fn update(
    db: &mut PgConnection,
    id: SegmentId,
    definition: &SegmentDefinition,
    name: &str,
    author: UserId,
    at: OffsetDateTime,
) -> Result<(), StoreError> {
    sqlx::query!(
        "update segments
         set name = $2, format = $3, document = $4, version = version + 1, changed_at = $5, changed_by = $6
         where id = $1",
        id.uuid(),
        name,
        DOCUMENT_FORMAT,
        write_document(definition)?,
        at,
        author.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Removes a segment with its own references; refused by `reference_to_segment` while a config or segment names it.
pub async fn delete(db: &mut PgConnection, id: SegmentId) -> Result<(), StoreError> {
    sqlx::query!("delete from segments where id = $1", id.uuid()).execute(db).await?;
    Ok(())
}
