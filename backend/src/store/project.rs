//! Projects, and who belongs to them.

use shared::model::id::{ProjectId, UserId};
use shared::model::key::ProjectKey;
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::store::StoreError;

/// The most projects that one answer lists.
pub const LIST_MAX: i64 = 1_000;

/// A project.
#[derive(Clone, Debug)]
pub struct Project {
    /// Its id.
    pub id: ProjectId,
    /// Names it in addresses.
    pub key: String,
    /// For people.
    pub name: String,
}

/// Finds a project.
pub async fn find(db: &mut PgConnection, key: &str) -> Result<Option<Project>, StoreError> {
    let project =
        sqlx::query_as!(Project, "select id, key, name from projects where key = $1", key).fetch_optional(db).await?;
    Ok(project)
}

/// Lists the projects that a person may see, by name.
pub async fn list(db: &mut PgConnection, user: UserId, is_admin: bool) -> Result<Vec<Project>, StoreError> {
    let projects = sqlx::query_as!(
        Project,
        "select projects.id, projects.key, projects.name
         from projects
         where $2 or exists (select 1 from members where members.project_id = projects.id and members.user_id = $1)
         order by projects.name, projects.id
         limit $3",
        user.uuid(),
        is_admin,
        LIST_MAX,
    )
    .fetch_all(db)
    .await?;
    Ok(projects)
}

/// Adds a project.
pub async fn insert(
    db: &mut PgConnection,
    id: ProjectId,
    key: &ProjectKey,
    name: &str,
    at: OffsetDateTime,
) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into projects (id, key, name, created_at) values ($1, $2, $3, $4)",
        id.uuid(),
        key.as_str(),
        name,
        at,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// What a project is called.
pub async fn set_name(db: &mut PgConnection, id: ProjectId, name: &str) -> Result<(), StoreError> {
    sqlx::query!("update projects set name = $2 where id = $1", id.uuid(), name).execute(db).await?;
    Ok(())
}

/// Holds the project's row until the transaction ends: changesets of a project happen one after another. Rows that only
/// refer to the project, such as a kill's changeset, are not held up.
pub async fn lock(db: &mut PgConnection, id: ProjectId) -> Result<String, StoreError> {
    let key = sqlx::query_scalar!("select key from projects where id = $1 for no key update", id.uuid())
        .fetch_one(db)
        .await?;
    Ok(key)
}

/// The key of a project, without holding it.
pub async fn key(db: &mut PgConnection, id: ProjectId) -> Result<String, StoreError> {
    let key = sqlx::query_scalar!("select key from projects where id = $1", id.uuid()).fetch_one(db).await?;
    Ok(key)
}

/// Whether a person is a member of a project.
pub async fn is_member(db: &mut PgConnection, id: ProjectId, user: UserId) -> Result<bool, StoreError> {
    let is_member = sqlx::query_scalar!(
        r#"select exists (select 1 from members where project_id = $1 and user_id = $2) as "is_member!""#,
        id.uuid(),
        user.uuid(),
    )
    .fetch_one(db)
    .await?;
    Ok(is_member)
}
