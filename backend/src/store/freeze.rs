//! Freezes of a project's environments.

use serde_json::Value;
use shared::model::freeze::Freeze;
use shared::model::id::{FreezeId, ProjectId, UserId};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::{DOCUMENT_FORMAT, StoreError, read_document, signed, unsigned, write_document};

/// A freeze as stored.
#[derive(Clone, Debug)]
pub struct StoredFreeze {
    /// Its id.
    pub id: FreezeId,
    /// What it says.
    pub freeze: Freeze,
    /// Counts up with every change.
    pub version: u64,
    /// When it was last changed.
    pub changed_at: OffsetDateTime,
    /// Who did that.
    pub changed_by: String,
}

struct FreezeRow {
    id: Uuid,
    format: i32,
    document: Value,
    version: i64,
    changed_at: OffsetDateTime,
    changed_by: String,
}

impl TryFrom<FreezeRow> for StoredFreeze {
    type Error = StoreError;

    fn try_from(row: FreezeRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id.into(),
            freeze: read_document("freezes", row.id, row.format, row.document)?,
            version: unsigned(row.version),
            changed_at: row.changed_at,
            changed_by: row.changed_by,
        })
    }
}

/// The freezes of a project, as they were made. One that cannot be read fails all: whoever cannot read what freezes an
/// environment must not touch it.
pub async fn list(db: &mut PgConnection, project: ProjectId) -> Result<Vec<StoredFreeze>, StoreError> {
    // `FREEZES_MAX` bounds them where they are written.
    let rows = sqlx::query_as!(
        FreezeRow,
        "select freezes.id, freezes.format, freezes.document, freezes.version, freezes.changed_at,
                users.name as changed_by
         from freezes
         join users on users.id = freezes.changed_by
         where freezes.project_id = $1
         order by freezes.id",
        project.uuid(),
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(StoredFreeze::try_from).collect()
}

/// Writes a freeze, or another version of it.
pub async fn save(
    db: &mut PgConnection,
    project: ProjectId,
    id: FreezeId,
    freeze: &Freeze,
    version: u64,
    author: UserId,
    at: OffsetDateTime,
) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into freezes (id, project_id, format, document, version, changed_at, changed_by)
         values ($1, $2, $3, $4, $5, $6, $7)
         on conflict (id) do update
         set format = excluded.format, document = excluded.document, version = excluded.version,
             changed_at = excluded.changed_at, changed_by = excluded.changed_by",
        id.uuid(),
        project.uuid(),
        DOCUMENT_FORMAT,
        write_document(freeze)?,
        signed(version),
        at,
        author.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Removes a freeze.
pub async fn delete(db: &mut PgConnection, project: ProjectId, id: FreezeId) -> Result<(), StoreError> {
    sqlx::query!("delete from freezes where project_id = $1 and id = $2", project.uuid(), id.uuid())
        .execute(db)
        .await?;
    Ok(())
}
