//! Flag configs: one flag in one environment.

use serde_json::Value;
use shared::model::flag::{FlagConfig, FlagDefinition};
use shared::model::id::{EnvironmentId, FlagId, ProjectId, UserId};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::{DOCUMENT_FORMAT, StoreError, read_document, readable, unsigned, write_document};

/// A flag config as stored.
#[derive(Clone, Debug)]
pub struct StoredConfig {
    /// The flag.
    pub flag_id: FlagId,
    /// The environment.
    pub environment_id: EnvironmentId,
    /// How it is set up.
    pub config: FlagConfig,
    /// Counts up with every save.
    pub version: u64,
    /// What its author said.
    pub note: String,
    /// When it was saved.
    pub changed_at: OffsetDateTime,
    /// Who saved it.
    pub changed_by: String,
}

struct ConfigRow {
    flag_id: Uuid,
    environment_id: Uuid,
    format: i32,
    document: Value,
    version: i64,
    note: String,
    changed_at: OffsetDateTime,
    changed_by: String,
}

impl TryFrom<ConfigRow> for StoredConfig {
    type Error = StoreError;

    fn try_from(row: ConfigRow) -> Result<Self, StoreError> {
        let id = format!("{}/{}", row.flag_id, row.environment_id);
        Ok(Self {
            flag_id: row.flag_id.into(),
            environment_id: row.environment_id.into(),
            config: read_document("flag_configs", id, row.format, row.document)?,
            version: unsigned(row.version),
            note: row.note,
            changed_at: row.changed_at,
            changed_by: row.changed_by,
        })
    }
}

/// A flag with its config, all that its value in the bucket is made of.
#[derive(Clone, Debug)]
pub struct Configured {
    /// The flag.
    pub flag_id: FlagId,
    /// The environment.
    pub environment_id: EnvironmentId,
    /// What is the same in every environment.
    pub definition: FlagDefinition,
    /// How it is set up here.
    pub config: FlagConfig,
}

/// The configs of these flags in all environments; one that cannot be read is left out, so that it fails no list.
pub async fn list_readable(db: &mut PgConnection, flags: &[FlagId]) -> Result<Vec<StoredConfig>, StoreError> {
    Ok(list_rows(db, flags).await?.into_iter().filter_map(|row| readable(row.try_into())).collect())
}

/// The configs of these flags in all environments, for a change: one that cannot be read must not be written over.
pub async fn list(db: &mut PgConnection, flags: &[FlagId]) -> Result<Vec<StoredConfig>, StoreError> {
    list_rows(db, flags).await?.into_iter().map(StoredConfig::try_from).collect()
}

async fn list_rows(db: &mut PgConnection, flags: &[FlagId]) -> Result<Vec<ConfigRow>, StoreError> {
    let ids: Vec<Uuid> = flags.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query_as!(
        ConfigRow,
        "select flag_configs.flag_id, flag_configs.environment_id, flag_configs.format, flag_configs.document,
                flag_configs.version, flag_configs.note, flag_configs.changed_at, users.name as changed_by
         from flag_configs
         join users on users.id = flag_configs.changed_by
         where flag_configs.flag_id = any ($1)",
        &ids,
    )
    .fetch_all(db)
    .await?;
    Ok(rows)
}

/// A config to be written.
#[derive(Debug)]
pub struct NewConfig<'a> {
    /// The flag.
    pub flag: FlagId,
    /// The environment.
    pub environment: EnvironmentId,
    /// How it is set up.
    pub config: &'a FlagConfig,
    /// What most users get: `on`, `part` or `off`.
    pub shape: &'a str,
    /// What its author said.
    pub note: &'a str,
}

/// Writes a config with its next version.
pub async fn save(
    db: &mut PgConnection,
    new: NewConfig<'_>,
    author: UserId,
    at: OffsetDateTime,
) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into flag_configs (flag_id, environment_id, enabled, shape, format, document, version, note,
                                   changed_at, changed_by)
         values ($1, $2, $3, $4, $5, $6, 1, $7, $8, $9)
         on conflict (flag_id, environment_id) do update
         set enabled = excluded.enabled, shape = excluded.shape, format = excluded.format,
             document = excluded.document, version = flag_configs.version + 1, note = excluded.note,
             changed_at = excluded.changed_at, changed_by = excluded.changed_by",
        new.flag.uuid(),
        new.environment.uuid(),
        new.config.enabled,
        new.shape,
        DOCUMENT_FORMAT,
        write_document(new.config)?,
        new.note,
        at,
        author.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// These flags with their configs in all environments, for rendering.
pub async fn list_configured(
    db: &mut PgConnection,
    project: ProjectId,
    flags: &[FlagId],
) -> Result<Vec<Configured>, StoreError> {
    let ids: Vec<Uuid> = flags.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query!(
        "select flags.id, flag_configs.environment_id, flags.format as flag_format, flags.document as flag_document,
                flag_configs.format, flag_configs.document
         from flags
         join flag_configs on flag_configs.flag_id = flags.id
         where flags.project_id = $1 and flags.id = any ($2) and flags.archived_at is null",
        project.uuid(),
        &ids,
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

/// Which of these flags have a config in an environment and are not archived, by key.
pub async fn list_present(
    db: &mut PgConnection,
    project: ProjectId,
    environment: EnvironmentId,
    flags: &[String],
) -> Result<Vec<String>, StoreError> {
    let keys = sqlx::query_scalar!(
        "select flags.key
         from flags
         join flag_configs on flag_configs.flag_id = flags.id and flag_configs.environment_id = $2
         where flags.project_id = $1 and flags.key = any ($3) and flags.archived_at is null",
        project.uuid(),
        environment.uuid(),
        flags,
    )
    .fetch_all(db)
    .await?;
    Ok(keys)
}
