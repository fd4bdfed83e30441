//! Table `reference`: which flag config or segment refers to which flag or segment.

use shared::model::id::{EnvironmentId, FlagId, ProjectId, SegmentId};
use shared::model::key::{FlagKey, SegmentKey};
use shared::model::segment::SegmentDefinition;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::store::config::Configured;
use crate::store::{StoreError, read_document};

/// What can refer and be referred to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    /// A flag's config in an environment.
    Config(FlagId, EnvironmentId),
    /// A segment, the same in every environment.
    Segment(SegmentId),
}

/// A node as it stands in columns.
struct Row {
    flag_id: Option<Uuid>,
    environment_id: Option<Uuid>,
    segment_id: Option<Uuid>,
}

impl From<Node> for Row {
    fn from(node: Node) -> Self {
        match node {
            Node::Config(flag, environment) => {
                Self { flag_id: Some(flag.uuid()), environment_id: Some(environment.uuid()), segment_id: None }
            }
            Node::Segment(segment) => Self { flag_id: None, environment_id: None, segment_id: Some(segment.uuid()) },
        }
    }
}

impl Row {
    fn node(self) -> Option<Node> {
        match self {
            Self { flag_id: Some(flag), environment_id: Some(environment), .. } => {
                Some(Node::Config(flag.into(), environment.into()))
            }
            Self { segment_id: Some(segment), .. } => Some(Node::Segment(segment.into())),
            _ => None,
        }
    }
}

/// Nodes as three arrays of the same length.
struct Columns {
    flags: Vec<Option<Uuid>>,
    environments: Vec<Option<Uuid>>,
    segments: Vec<Option<Uuid>>,
}

impl Columns {
    fn new(nodes: &[Node]) -> Self {
        let rows = || nodes.iter().map(|node| Row::from(*node));
        Self {
            flags: rows().map(|row| row.flag_id).collect(),
            environments: rows().map(|row| row.environment_id).collect(),
            segments: rows().map(|row| row.segment_id).collect(),
        }
    }
}

/// Replaces what a node refers to. Left out are keys that nothing has, flags without a config in the environment, and
/// the node itself.
pub async fn save(
    db: &mut PgConnection,
    project: ProjectId,
    node: Node,
    flags: &[FlagKey],
    segments: &[SegmentKey],
) -> Result<(), StoreError> {
    let Row { flag_id, environment_id, segment_id } = node.into();
    let flags: Vec<String> = flags.iter().map(ToString::to_string).collect();
    let segments: Vec<String> = segments.iter().map(ToString::to_string).collect();
    sqlx::query!(
        "delete from reference
         where (from_flag_id = $1 and environment_id = $2) or from_segment_id = $3",
        flag_id,
        environment_id,
        segment_id,
    )
    .execute(&mut *db)
    .await?;
    sqlx::query!(
        "insert into reference (from_flag_id, environment_id, from_segment_id, to_flag_id, to_segment_id)
         select $1::uuid, $2::uuid, $3::uuid, flags.id, null
         from flags
         join flag_configs on flag_configs.flag_id = flags.id and flag_configs.environment_id = $2
         where flags.project_id = $4 and flags.key = any ($5) and flags.archived_at is null and flags.id <> $1
         union
         select $1, $2, $3, null, segments.id
         from segments
         where segments.project_id = $4 and segments.key = any ($6) and segments.id is distinct from $3",
        flag_id,
        environment_id,
        segment_id,
        project.uuid(),
        &flags,
        &segments,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// These nodes and all that they reach, directly or through others.
pub async fn list_reached(db: &mut PgConnection, nodes: &[Node]) -> Result<Vec<Node>, StoreError> {
    let Columns { flags, environments, segments } = Columns::new(nodes);
    let rows = sqlx::query_as!(
        Row,
        r#"with recursive reached (flag_id, environment_id, segment_id) as (
               select * from unnest($1::uuid[], $2::uuid[], $3::uuid[])
               union
               select next.flag_id, next.environment_id, next.segment_id
               from reached
               cross join lateral (
                   select to_flag_id as flag_id,
                          case when to_flag_id is not null then reference.environment_id end as environment_id,
                          to_segment_id as segment_id
                   from reference
                   where from_flag_id = reached.flag_id and reference.environment_id = reached.environment_id
                   union all
                   select null, null, to_segment_id
                   from reference
                   where from_segment_id = reached.segment_id
               ) as next
           )
           select flag_id as "flag_id?", environment_id as "environment_id?", segment_id as "segment_id?"
           from reached"#,
        &flags as &[Option<Uuid>],
        &environments as &[Option<Uuid>],
        &segments as &[Option<Uuid>],
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().filter_map(Row::node).collect())
}

/// These nodes and all that reach them, directly or through others.
pub async fn list_referring(db: &mut PgConnection, nodes: &[Node]) -> Result<Vec<Node>, StoreError> {
    let Columns { flags, environments, segments } = Columns::new(nodes);
    let rows = sqlx::query_as!(
        Row,
        r#"with recursive referring (flag_id, environment_id, segment_id) as (
               select * from unnest($1::uuid[], $2::uuid[], $3::uuid[])
               union
               select next.from_flag_id, next.environment_id, next.from_segment_id
               from referring
               cross join lateral (
                   select from_flag_id, reference.environment_id, from_segment_id
                   from reference
                   where to_flag_id = referring.flag_id and reference.environment_id = referring.environment_id
                   union all
                   select from_flag_id, reference.environment_id, from_segment_id
                   from reference
                   where to_segment_id = referring.segment_id
               ) as next
           )
           select flag_id as "flag_id?", environment_id as "environment_id?", segment_id as "segment_id?"
           from referring"#,
        &flags as &[Option<Uuid>],
        &environments as &[Option<Uuid>],
        &segments as &[Option<Uuid>],
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().filter_map(Row::node).collect())
}

/// Configs that name any of these flags as a prerequisite.
pub async fn list_children(db: &mut PgConnection, flags: &[FlagId]) -> Result<Vec<Node>, StoreError> {
    let ids: Vec<Uuid> = flags.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query_as!(
        Row,
        r#"select distinct from_flag_id as "flag_id?", environment_id as "environment_id?", null::uuid as "segment_id?"
           from reference
           where to_flag_id = any ($1)"#,
        &ids,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().filter_map(Row::node).collect())
}

/// In which environments a flag reaches these segments, directly or through other segments.
pub async fn list_needed(
    db: &mut PgConnection,
    segments: &[SegmentId],
) -> Result<Vec<(SegmentId, EnvironmentId)>, StoreError> {
    let ids: Vec<Uuid> = segments.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query!(
        r#"with recursive through (segment_id, user_id) as (
               select id, id from unnest($1::uuid[]) as id
               union
               select through.segment_id, reference.from_segment_id
               from through
               join reference on reference.to_segment_id = through.user_id
               where reference.from_segment_id is not null
           )
           select distinct through.segment_id as "segment_id!", reference.environment_id as "environment_id!"
           from through
           join reference on reference.to_segment_id = through.user_id
           where reference.environment_id is not null"#,
        &ids,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|row| (row.segment_id.into(), row.environment_id.into())).collect())
}

/// The configs among these nodes with their flags. Without targets, which refer to nothing and may be many.
pub async fn list_configs(
    db: &mut PgConnection,
    project: ProjectId,
    nodes: &[Node],
) -> Result<Vec<Configured>, StoreError> {
    let Columns { flags, environments, .. } = Columns::new(nodes);
    let rows = sqlx::query!(
        r#"select flags.id, flags.format as flag_format, flags.document as flag_document, flag_configs.environment_id,
                  flag_configs.format, flag_configs.document - 'targets' as "document!"
           from unnest($2::uuid[], $3::uuid[]) as place (flag_id, environment_id)
           join flag_configs
                on flag_configs.flag_id = place.flag_id and flag_configs.environment_id = place.environment_id
           join flags on flags.id = flag_configs.flag_id
           where flags.project_id = $1 and flags.archived_at is null"#,
        project.uuid(),
        &flags as &[Option<Uuid>],
        &environments as &[Option<Uuid>],
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Configured {
                flag_id: row.id.into(),
                environment_id: row.environment_id.into(),
                definition: read_document("flags", row.id, row.flag_format, row.flag_document)?,
                config: read_document("flag_configs", row.id, row.format, row.document)?,
            })
        })
        .collect()
}

/// The segments among these nodes. Without their keys, which refer to nothing and may be many.
pub async fn list_segments(
    db: &mut PgConnection,
    project: ProjectId,
    nodes: &[Node],
) -> Result<Vec<(SegmentId, SegmentDefinition)>, StoreError> {
    let Columns { segments, .. } = Columns::new(nodes);
    let rows = sqlx::query!(
        r#"select id, format, document - 'included' - 'excluded' as "document!"
           from segments
           where project_id = $1 and id = any ($2)"#,
        project.uuid(),
        &segments as &[Option<Uuid>],
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| Ok((row.id.into(), read_document("segments", row.id, row.format, row.document)?)))
        .collect()
}

/// Something that refers to a flag or a segment.
#[derive(Clone, Debug)]
pub struct DependentRow {
    /// To which.
    pub of: Uuid,
    /// True for a segment, false for a flag.
    pub is_segment: bool,
    /// Its key.
    pub key: String,
    /// Where a flag refers to it.
    pub environment_id: Option<EnvironmentId>,
}

/// What refers directly to these flags and segments, flags first, each by key; at most 1,000 of them.
pub async fn list_dependents(
    db: &mut PgConnection,
    flags: &[Uuid],
    segments: &[Uuid],
) -> Result<Vec<DependentRow>, StoreError> {
    let rows = sqlx::query!(
        r#"select coalesce(reference.to_flag_id, reference.to_segment_id) as "of!",
                  reference.from_segment_id is not null as "is_segment!",
                  coalesce(flags.key, segments.key) as "key!", reference.environment_id
           from reference
           left join flags on flags.id = reference.from_flag_id
           left join segments on segments.id = reference.from_segment_id
           where reference.to_flag_id = any ($1) or reference.to_segment_id = any ($2)
           order by 2, 3, 4
           limit 1000"#,
        flags,
        segments,
    )
    .fetch_all(db)
    .await?;
    let rows = rows.into_iter().map(|row| DependentRow {
        of: row.of,
        is_segment: row.is_segment,
        key: row.key,
        environment_id: row.environment_id.map(EnvironmentId::from),
    });
    Ok(rows.collect())
}
