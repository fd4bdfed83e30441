//! Sessions of signed-in people.

use shared::model::id::{SessionId, UserId};
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::store::StoreError;

/// A session with the person it belongs to.
#[derive(Clone, Debug)]
pub struct Session {
    /// Its id, named by the cookie.
    pub id: SessionId,
    /// The person.
    pub user_id: UserId,
    /// Their name.
    pub user_name: String,
    /// Their e-mail.
    pub user_email: String,
    /// May do everything everywhere.
    pub is_admin: bool,
}

/// Finds a session that has not ended, of a person who is not disabled.
pub async fn find(db: &mut PgConnection, id: SessionId, now: OffsetDateTime) -> Result<Option<Session>, StoreError> {
    let session = sqlx::query_as!(
        Session,
        r#"select sessions.id, users.id as user_id, users.name as user_name,
                  users.email as user_email, users.is_admin
           from sessions
           join users on users.id = sessions.user_id
           where sessions.id = $1 and sessions.expires_at > $2 and users.disabled_at is null"#,
        id.uuid(),
        now,
    )
    .fetch_optional(db)
    .await?;
    Ok(session)
}

/// Starts a session, and forgets those of everybody that have ended.
pub async fn insert(
    db: &mut PgConnection,
    id: SessionId,
    user: UserId,
    now: OffsetDateTime,
    expires_at: OffsetDateTime,
) -> Result<(), StoreError> {
    sqlx::query!("delete from sessions where expires_at < $1", now).execute(&mut *db).await?;
    sqlx::query!(
        "insert into sessions (id, user_id, created_at, last_used_at, expires_at)
         values ($1, $2, $3, $3, $4)",
        id.uuid(),
        user.uuid(),
        now,
        expires_at,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Moves the end of a session that is being used.
pub async fn renew(
    db: &mut PgConnection,
    id: SessionId,
    now: OffsetDateTime,
    expires_at: OffsetDateTime,
) -> Result<(), StoreError> {
    sqlx::query!("update sessions set last_used_at = $2, expires_at = $3 where id = $1", id.uuid(), now, expires_at,)
        .execute(db)
        .await?;
    Ok(())
}

/// Ends a session.
pub async fn delete(db: &mut PgConnection, id: SessionId) -> Result<(), StoreError> {
    sqlx::query!("delete from sessions where id = $1", id.uuid()).execute(db).await?;
    Ok(())
}
