//! Environments of a project.

use shared::model::id::{EnvironmentId, ProjectId};
use shared::model::key::EnvironmentKey;
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::StoreError;

/// An environment.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Its id.
    pub id: EnvironmentId,
    /// Names it inside its project.
    pub key: String,
    /// For people.
    pub name: String,
    /// 1 to 8.
    pub hue: i16,
    /// The last changeset that touched it; 0 before the first.
    pub revision: i64,
    /// Bytes that it holds in the bucket.
    pub state_bytes: i64,
    /// Keys the hashes that stand for users.
    pub unit_key: Uuid,
}

/// An environment named as `project/environment`.
#[derive(Clone, Debug)]
pub struct NamedEnvironment {
    /// Its id.
    pub id: EnvironmentId,
    /// Its project's key.
    pub project: String,
    /// Names it inside its project.
    pub key: String,
}

/// Lists environments of all projects, or of the project of a key, or the one of a key in it; at most `limit`.
pub async fn list_named(
    db: &mut PgConnection,
    project: Option<&str>,
    environment: Option<&str>,
    limit: i64,
) -> Result<Vec<NamedEnvironment>, StoreError> {
    let environments = sqlx::query_as!(
        NamedEnvironment,
        "select environments.id, projects.key as project, environments.key
         from environments
         join projects on projects.id = environments.project_id
         where ($1::text is null or projects.key = $1) and ($2::text is null or environments.key = $2)
         order by projects.key, environments.position
         limit $3",
        project,
        environment,
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(environments)
}

/// Lists the environments of a project in promotion order.
pub async fn list(db: &mut PgConnection, project: ProjectId) -> Result<Vec<Environment>, StoreError> {
    let environments = sqlx::query_as!(
        Environment,
        r#"select environments.id, environments.key, environments.name, environments.hue,
                  environments.state_bytes, environments.unit_key, coalesce(state.revision, 0) as "revision!"
           from environments
           left join state on state.environment_id = environments.id
                and state.key = environments.id || '.environment'
           where environments.project_id = $1
           order by environments.position"#,
        project.uuid(),
    )
    .fetch_all(db)
    .await?;
    Ok(environments)
}

/// Adds an environment at the end of the promotion order. Returns its unit key.
pub async fn insert(
    db: &mut PgConnection,
    project: ProjectId,
    id: EnvironmentId,
    key: &EnvironmentKey,
    name: &str,
    hue: u8,
    at: OffsetDateTime,
) -> Result<Uuid, StoreError> {
    let unit_key = sqlx::query_scalar!(
        "insert into environments (id, project_id, key, name, hue, position, created_at)
         select $1, $2, $3, $4, $5, coalesce(max(position) + 1, 0), $6
         from environments
         where project_id = $2
         returning unit_key",
        id.uuid(),
        project.uuid(),
        key.as_str(),
        name,
        i16::from(hue),
        at,
    )
    .fetch_one(db)
    .await?;
    Ok(unit_key)
}

/// What an environment is called and how it is shown.
pub async fn update(db: &mut PgConnection, id: EnvironmentId, name: &str, hue: i16) -> Result<(), StoreError> {
    sqlx::query!("update environments set name = $2, hue = $3 where id = $1", id.uuid(), name, hue).execute(db).await?;
    Ok(())
}

/// Puts all environments of a project into this order.
pub async fn reorder(db: &mut PgConnection, project: ProjectId, order: &[EnvironmentId]) -> Result<(), StoreError> {
    let ids: Vec<Uuid> = order.iter().map(|id| id.uuid()).collect();
    // No two have the same place at any moment, so all go out of the way first.
    sqlx::query!("update environments set position = -1 - position where project_id = $1", project.uuid())
        .execute(&mut *db)
        .await?;
    sqlx::query!(
        "update environments set position = array_position($2::uuid[], id) - 1 where project_id = $1",
        project.uuid(),
        &ids,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// The project that an environment belongs to.
pub async fn project_of(db: &mut PgConnection, id: EnvironmentId) -> Result<Option<ProjectId>, StoreError> {
    let project =
        sqlx::query_scalar!("select project_id from environments where id = $1", id.uuid()).fetch_optional(db).await?;
    Ok(project.map(ProjectId::from))
}

/// Adds to the bytes that an environment holds in the bucket.
pub async fn add_state_bytes(db: &mut PgConnection, id: EnvironmentId, delta: i64) -> Result<(), StoreError> {
    sqlx::query!("update environments set state_bytes = state_bytes + $2 where id = $1", id.uuid(), delta)
        .execute(db)
        .await?;
    Ok(())
}
