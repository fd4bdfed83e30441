//! What people call what was counted. What exists no more is not found.

use shared::model::id::ProjectId;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::store::StoreError;

/// A thing with its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its id.
    pub id: Uuid,
    /// Its key, or what stands for it.
    pub key: String,
    /// For people.
    pub name: String,
}

/// Flags of a project, archived ones included.
pub async fn list_flag_names(
    db: &mut PgConnection,
    project: ProjectId,
    ids: &[Uuid],
) -> Result<Vec<Named>, StoreError> {
    let named = sqlx::query_as!(
        Named,
        "select id, key, name from flags where project_id = $1 and id = any ($2)",
        project.uuid(),
        ids,
    )
    .fetch_all(db)
    .await?;
    Ok(named)
}

/// SDK keys of a project, by their hints.
pub async fn list_key_names(db: &mut PgConnection, project: ProjectId, ids: &[Uuid]) -> Result<Vec<Named>, StoreError> {
    let named = sqlx::query_as!(
        Named,
        "select sdk_keys.id, sdk_keys.hint as key, sdk_keys.name
         from sdk_keys
         join environments on environments.id = sdk_keys.environment_id
         where environments.project_id = $1 and sdk_keys.id = any ($2)",
        project.uuid(),
        ids,
    )
    .fetch_all(db)
    .await?;
    Ok(named)
}

/// Processes of edges, those that are gone included.
pub async fn list_edge_names(db: &mut PgConnection, ids: &[Uuid]) -> Result<Vec<Named>, StoreError> {
    let named =
        sqlx::query_as!(Named, "select process as id, name as key, name from edges where process = any ($1)", ids,)
            .fetch_all(db)
            .await?;
    Ok(named)
}
