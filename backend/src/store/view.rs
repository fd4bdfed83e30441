//! Saved views of the list of flags, and with which one somebody begins.

use shared::model::id::{ProjectId, UserId, ViewId};
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::store::StoreError;

/// The most views that one person can have in a project.
pub const OWN_MAX: i64 = 100;
/// The most views that are listed.
const LIST_MAX: i64 = 1_000;

/// A saved view.
#[derive(Clone, Debug)]
pub struct View {
    /// Its id.
    pub id: ViewId,
    /// Whose.
    pub user_id: UserId,
    /// Their name.
    pub user_name: String,
    /// For people.
    pub name: String,
    /// Parameters of the list.
    pub query: String,
    /// Whether everybody in the project can use it.
    pub is_shared: bool,
    /// Whether whoever asks begins with it.
    pub is_default: bool,
    /// When it was last changed.
    pub changed_at: OffsetDateTime,
}

/// Views of a project that somebody can use, by name; with `id`, that one alone.
pub async fn list(
    db: &mut PgConnection,
    project: ProjectId,
    user: UserId,
    id: Option<ViewId>,
) -> Result<Vec<View>, StoreError> {
    let views = sqlx::query_as!(
        View,
        r#"select views.id, views.user_id, users.name as user_name, views.name, views.query, views.is_shared,
                  view_defaults.view_id is not null as "is_default!", views.changed_at
           from views
           join users on users.id = views.user_id
           left join view_defaults on view_defaults.view_id = views.id and view_defaults.user_id = $2
           where views.project_id = $1 and (views.user_id = $2 or views.is_shared)
             and ($3::uuid is null or views.id = $3)
           order by lower(views.name), views.id
           limit $4"#,
        project.uuid(),
        user.uuid(),
        id.map(ViewId::uuid),
        LIST_MAX,
    )
    .fetch_all(db)
    .await?;
    Ok(views)
}

/// Adds a view unless its owner has too many; false then. Whoever is at it at the same time waits.
pub async fn insert(db: &mut PgConnection, project: ProjectId, view: &View) -> Result<bool, StoreError> {
    sqlx::query!("select id from users where id = $1 for update", view.user_id.uuid()).fetch_optional(&mut *db).await?;
    let added = sqlx::query!(
        "insert into views (id, project_id, user_id, name, query, is_shared, changed_at)
         select $1, $2, $3, $4, $5, $6, $7
         where (select count(*) from views where project_id = $2 and user_id = $3) < $8",
        view.id.uuid(),
        project.uuid(),
        view.user_id.uuid(),
        view.name,
        view.query,
        view.is_shared,
        view.changed_at,
        OWN_MAX,
    )
    .execute(db)
    .await?;
    Ok(added.rows_affected() == 1)
}

/// Writes a changed view. When it is shared no more, others who began with it begin with none.
pub async fn update(db: &mut PgConnection, project: ProjectId, view: &View) -> Result<(), StoreError> {
    sqlx::query!(
        "update views set name = $3, query = $4, is_shared = $5, changed_at = $6 where project_id = $1 and id = $2",
        project.uuid(),
        view.id.uuid(),
        view.name,
        view.query,
        view.is_shared,
        view.changed_at,
    )
    .execute(&mut *db)
    .await?;
    if !view.is_shared {
        sqlx::query!(
            "delete from view_defaults where view_id = $1 and user_id <> $2",
            view.id.uuid(),
            view.user_id.uuid(),
        )
        .execute(db)
        .await?;
    }
    Ok(())
}

/// Removes a view.
pub async fn delete(db: &mut PgConnection, project: ProjectId, id: ViewId) -> Result<(), StoreError> {
    sqlx::query!("delete from views where project_id = $1 and id = $2", project.uuid(), id.uuid()).execute(db).await?;
    Ok(())
}

/// Lets somebody's list of a project begin with this view, or with none when it did.
pub async fn set_default(
    db: &mut PgConnection,
    project: ProjectId,
    user: UserId,
    id: ViewId,
    is_default: bool,
) -> Result<(), StoreError> {
    if is_default {
        sqlx::query!(
            "insert into view_defaults (project_id, user_id, view_id) values ($1, $2, $3)
             on conflict (project_id, user_id) do update set view_id = excluded.view_id",
            project.uuid(),
            user.uuid(),
            id.uuid(),
        )
        .execute(db)
        .await?;
    } else {
        sqlx::query!(
            "delete from view_defaults where project_id = $1 and user_id = $2 and view_id = $3",
            project.uuid(),
            user.uuid(),
            id.uuid(),
        )
        .execute(db)
        .await?;
    }
    Ok(())
}
