//! What people say about a changeset.

use shared::model::id::{ChangesetId, UserId};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::StoreError;

/// The most comments of a changeset.
pub const COMMENTS_MAX: i64 = 500;

/// What somebody said about a changeset.
#[derive(Clone, Debug)]
pub struct Comment {
    /// Its id.
    pub id: Uuid,
    /// Whose.
    pub user: UserId,
    /// Their name.
    pub name: String,
    /// When.
    pub at: OffsetDateTime,
    /// What.
    pub text: String,
}

/// Adds a comment; false when there are too many already.
pub async fn insert_comment(
    db: &mut PgConnection,
    changeset: ChangesetId,
    id: Uuid,
    user: UserId,
    text: &str,
    at: OffsetDateTime,
) -> Result<bool, StoreError> {
    let added = sqlx::query!(
        "insert into changeset_comments (id, changeset_id, user_id, at, text)
         select $1, $2, $3, $4, $5
         where (select count(*) from changeset_comments where changeset_id = $2) < $6",
        id,
        changeset.uuid(),
        user.uuid(),
        at,
        text,
        COMMENTS_MAX,
    )
    .execute(db)
    .await?;
    Ok(added.rows_affected() == 1)
}

/// The comments of a changeset, the oldest first.
pub async fn list_comments(db: &mut PgConnection, changeset: ChangesetId) -> Result<Vec<Comment>, StoreError> {
    let rows = sqlx::query!(
        "select changeset_comments.id, changeset_comments.user_id, users.name, changeset_comments.at,
                changeset_comments.text
         from changeset_comments
         join users on users.id = changeset_comments.user_id
         where changeset_comments.changeset_id = $1
         order by changeset_comments.at, changeset_comments.id
         limit $2",
        changeset.uuid(),
        COMMENTS_MAX,
    )
    .fetch_all(db)
    .await?;
    let comments = rows.into_iter().map(|row| Comment {
        id: row.id,
        user: row.user_id.into(),
        name: row.name,
        at: row.at,
        text: row.text,
    });
    Ok(comments.collect())
}
