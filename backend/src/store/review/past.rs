//! What applied changesets did, as history has it.

use serde_json::Value;
use shared::model::id::{EnvironmentId, FlagId};
use sqlx::PgConnection;

use crate::store::{StoreError, signed, unsigned};

/// One touched thing of an applied changeset, as history has it.
#[derive(Clone, Debug)]
pub struct PastEntry {
    /// Where; absent for what is the same everywhere.
    pub environment: Option<EnvironmentId>,
    /// What kind of thing.
    pub entity: String,
    /// Its key, for people.
    pub entity_key: String,
    /// Before; absent when it is new.
    pub before: Option<Value>,
    /// After; absent when it is gone.
    pub after: Option<Value>,
}

/// What an applied changeset touched, in order; at most 1,000 things.
pub async fn list_entries(db: &mut PgConnection, revision: u64) -> Result<Vec<PastEntry>, StoreError> {
    let rows = sqlx::query!(
        "select environment_id, entity, entity_key, before, after
         from revision_entries
         where revision = $1
         order by ordinal
         limit 1000",
        signed(revision),
    )
    .fetch_all(db)
    .await?;
    let entries = rows.into_iter().map(|row| PastEntry {
        environment: row.environment_id.map(EnvironmentId::from),
        entity: row.entity,
        entity_key: row.entity_key,
        before: row.before,
        after: row.after,
    });
    Ok(entries.collect())
}

/// The newest revision that wrote the config of a flag in an environment; `None` when none did.
pub async fn config_revision(
    db: &mut PgConnection,
    environment: EnvironmentId,
    flag: FlagId,
) -> Result<Option<u64>, StoreError> {
    let found = sqlx::query_scalar!(
        "select revision from revision_entries
         where entity = 'config' and environment_id = $1 and entity_id = $2
         order by revision desc
         limit 1",
        environment.uuid(),
        flag.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(found.map(unsigned))
}

/// The config of a flag in an environment at its `version`-th save, as history has it.
pub async fn config_at(
    db: &mut PgConnection,
    environment: EnvironmentId,
    flag: FlagId,
    version: u64,
) -> Result<Option<Value>, StoreError> {
    if version == 0 {
        return Ok(None);
    }
    let found = sqlx::query_scalar!(
        "select after from revision_entries
         where entity = 'config' and environment_id = $1 and entity_id = $2
         order by revision, ordinal
         offset $3 limit 1",
        environment.uuid(),
        flag.uuid(),
        signed(version - 1),
    )
    .fetch_optional(db)
    .await?;
    Ok(found.flatten())
}
