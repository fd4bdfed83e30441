//! Who uses a segment, by name or through other segments, and which segments a flag reaches.

use serde_json::Value;
use shared::model::flag::FlagConfig;
use shared::model::id::{EnvironmentId, ProjectId, SegmentId};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::store::{StoreError, read_document, readable, unsigned};

/// A flag's config that uses a segment.
#[derive(Clone, Debug)]
pub struct Using {
    /// The flag's key.
    pub flag: String,
    /// The flag's name.
    pub name: String,
    /// Where.
    pub environment_id: EnvironmentId,
    /// How it is set up; without targets, which use no segment and may be many.
    pub config: FlagConfig,
    /// Whether it is killed there.
    pub is_killed: bool,
}

struct UsingRow {
    flag: String,
    name: String,
    environment_id: Uuid,
    format: i32,
    document: Value,
    is_killed: bool,
}

impl TryFrom<UsingRow> for Using {
    type Error = StoreError;

    fn try_from(row: UsingRow) -> Result<Self, StoreError> {
        let id = format!("{}/{}", row.flag, row.environment_id);
        Ok(Self {
            config: read_document("flag_configs", id, row.format, row.document)?,
            flag: row.flag,
            name: row.name,
            environment_id: row.environment_id.into(),
            is_killed: row.is_killed,
        })
    }
}

/// Keys of the segments that use a segment, by name or through others, in their order.
pub async fn list_using_segments(
    db: &mut PgConnection,
    project: ProjectId,
    segment: SegmentId,
) -> Result<Vec<String>, StoreError> {
    let keys = sqlx::query_scalar!(
        "with recursive through (segment_id) as (
             select $2::uuid
             union
             select reference.from_segment_id
             from through
             join reference on reference.to_segment_id = through.segment_id
             where reference.from_segment_id is not null
         )
         select segments.key
         from through
         join segments on segments.id = through.segment_id
         where segments.project_id = $1 and segments.id <> $2
         order by segments.key",
        project.uuid(),
        segment.uuid(),
    )
    .fetch_all(db)
    .await?;
    Ok(keys)
}

/// How many flags use a segment in each environment where one does, and how many in all.
pub async fn count_using(
    db: &mut PgConnection,
    project: ProjectId,
    segment: SegmentId,
) -> Result<(Vec<(EnvironmentId, u64)>, u64), StoreError> {
    let rows = sqlx::query!(
        r#"with recursive through (segment_id) as (
               select $2::uuid
               union
               select reference.from_segment_id
               from through
               join reference on reference.to_segment_id = through.segment_id
               where reference.from_segment_id is not null
           )
           select reference.environment_id as "environment_id?", count(distinct flags.id) as "count!"
           from through
           join reference on reference.to_segment_id = through.segment_id
           join flags on flags.id = reference.from_flag_id
           where flags.project_id = $1 and flags.archived_at is null
           group by grouping sets ((reference.environment_id), ())"#,
        project.uuid(),
        segment.uuid(),
    )
    .fetch_all(db)
    .await?;
    let total = rows.iter().find(|row| row.environment_id.is_none()).map_or(0, |row| unsigned(row.count));
    let by_environment =
        rows.into_iter().filter_map(|row| Some((EnvironmentId::from(row.environment_id?), unsigned(row.count))));
    Ok((by_environment.collect(), total))
}

/// Configs that use a segment, those of at most `limit` flags after one of a key, by key and then in promotion order; a
/// document that cannot be read never fails the list. Also where the next page begins.
pub async fn list_using(
    db: &mut PgConnection,
    project: ProjectId,
    segment: SegmentId,
    after: Option<&str>,
    limit: i64,
) -> Result<(Vec<Using>, Option<String>), StoreError> {
    let mut rows = sqlx::query_as!(
        UsingRow,
        r#"with recursive through (segment_id) as (
               select $2::uuid
               union
               select reference.from_segment_id
               from through
               join reference on reference.to_segment_id = through.segment_id
               where reference.from_segment_id is not null
           ), places as (
               select distinct reference.from_flag_id, reference.environment_id
               from through
               join reference on reference.to_segment_id = through.segment_id
               where reference.from_flag_id is not null
           ), page as (
               select distinct flags.id, flags.key, flags.name
               from places
               join flags on flags.id = places.from_flag_id
               where flags.project_id = $1 and flags.archived_at is null and ($3::text is null or flags.key > $3)
               order by flags.key
               limit $4
           )
           select page.key as flag, page.name, places.environment_id as "environment_id!", flag_configs.format,
                  flag_configs.document - 'targets' as "document!",
                  exists (select 1 from kills where kills.flag_id = page.id
                          and kills.environment_id = places.environment_id) as "is_killed!"
           from page
           join places on places.from_flag_id = page.id
           join flag_configs on flag_configs.flag_id = page.id
                and flag_configs.environment_id = places.environment_id
           join environments on environments.id = places.environment_id
           order by page.key, environments.position"#,
        project.uuid(),
        segment.uuid(),
        after,
        // One more than asked for tells whether there is a next page.
        limit + 1,
    )
    .fetch_all(db)
    .await?;
    let mut flags: Vec<&str> = rows.iter().map(|row| row.flag.as_str()).collect();
    flags.dedup();
    let limit = usize::try_from(limit).unwrap_or(0);
    let next = flags.get(limit.saturating_sub(1)).filter(|_| flags.len() > limit).map(|key| (*key).to_owned());
    if let Some(surplus) = flags.get(limit).map(|key| (*key).to_owned()) {
        rows.retain(|row| row.flag != surplus);
    }
    Ok((rows.into_iter().filter_map(|row| readable(row.try_into())).collect(), next))
}

/// A segment that a flag reaches.
#[derive(Clone, Debug)]
pub struct Reached {
    /// Its key.
    pub key: String,
    /// Its name.
    pub name: String,
    /// How many flags name it, in any environment.
    pub flags: i64,
    /// The first of them by key.
    pub used_by: Vec<String>,
    /// Segments that name it.
    pub used_by_segments: Vec<String>,
}

/// These segments of a project by key, each with who names it: at most `limit` flags.
pub async fn list_reached(
    db: &mut PgConnection,
    project: ProjectId,
    segments: &[SegmentId],
    limit: i64,
) -> Result<Vec<Reached>, StoreError> {
    let ids: Vec<Uuid> = segments.iter().map(|id| id.uuid()).collect();
    let reached = sqlx::query_as!(
        Reached,
        r#"select segments.key, segments.name,
                  (select count(distinct from_flag_id) from reference
                   where reference.to_segment_id = segments.id) as "flags!",
                  array(select distinct flags.key from reference
                        join flags on flags.id = reference.from_flag_id
                        where reference.to_segment_id = segments.id order by flags.key limit $3) as "used_by!",
                  array(select outer_segments.key from reference
                        join segments outer_segments on outer_segments.id = reference.from_segment_id
                        where reference.to_segment_id = segments.id order by outer_segments.key) as "used_by_segments!"
           from segments
           where segments.project_id = $1 and segments.id = any ($2)
           order by segments.key"#,
        project.uuid(),
        &ids,
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(reached)
}
