//! All that a project holds, for a file. Unlike lists, these fail when one document cannot be read: a file that leaves
//! something out would look whole.

use shared::model::flag::FlagDefinition;
use shared::model::id::{FlagId, ProjectId};
use shared::model::lifetime::Lifetime;
use shared::model::segment::SegmentDefinition;
use sqlx::PgConnection;

use crate::store::flag::lifetime_of;
use crate::store::{StoreError, read_document, unsigned};

/// A flag without its configs.
#[derive(Clone, Debug)]
pub struct WholeFlag {
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
    /// How long it is meant to be there.
    pub lifetime: Lifetime,
    /// Counts up with every change of the flag itself.
    pub version: u64,
}

/// A segment.
#[derive(Clone, Debug)]
pub struct WholeSegment {
    /// Who is in it.
    pub definition: SegmentDefinition,
    /// For people.
    pub name: String,
    /// Counts up with every save.
    pub version: u64,
}

/// Flags of a project that are not archived, by key, after one of them; at most `limit`.
pub async fn list_flags(
    db: &mut PgConnection,
    project: ProjectId,
    after: Option<&str>,
    limit: i64,
) -> Result<Vec<WholeFlag>, StoreError> {
    let rows = sqlx::query!(
        "select id, name, description, tags, lifetime_days, format, document, version
         from flags
         where project_id = $1 and archived_at is null and ($2::text is null or key > $2)
         order by key
         limit $3",
        project.uuid(),
        after,
        limit,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(WholeFlag {
                id: row.id.into(),
                definition: read_document("flags", row.id, row.format, row.document)?,
                name: row.name,
                description: row.description,
                tags: row.tags,
                lifetime: lifetime_of(row.lifetime_days),
                version: unsigned(row.version),
            })
        })
        .collect()
}

/// Keys of the project's archived flags.
pub async fn list_archived(db: &mut PgConnection, project: ProjectId) -> Result<Vec<String>, StoreError> {
    let keys =
        sqlx::query_scalar!("select key from flags where project_id = $1 and archived_at is not null", project.uuid())
            .fetch_all(db)
            .await?;
    Ok(keys)
}

/// The segments of a project.
pub async fn list_segments(db: &mut PgConnection, project: ProjectId) -> Result<Vec<WholeSegment>, StoreError> {
    let rows =
        sqlx::query!("select id, name, format, document, version from segments where project_id = $1", project.uuid())
            .fetch_all(db)
            .await?;
    rows.into_iter()
        .map(|row| {
            Ok(WholeSegment {
                definition: read_document("segments", row.id, row.format, row.document)?,
                name: row.name,
                version: unsigned(row.version),
            })
        })
        .collect()
}
