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
    /// When it was last used, to the minute.
    pub last_used_at: OffsetDateTime,
}

/// A session as its owner sees it.
#[derive(Clone, Debug)]
pub struct OwnSession {
    /// Its id.
    pub id: SessionId,
    /// When they signed in.
    pub created_at: OffsetDateTime,
    /// When it was last used, to the minute.
    pub last_used_at: OffsetDateTime,
    /// When it ends unless it is used.
    pub expires_at: OffsetDateTime,
    /// The browser in a few words; empty when nobody said.
    pub agent: String,
}

/// Finds a session that has not ended, of a person who is not disabled.
pub async fn find(db: &mut PgConnection, id: SessionId, now: OffsetDateTime) -> Result<Option<Session>, StoreError> {
    let session = sqlx::query_as!(
        Session,
        r#"select sessions.id, users.id as user_id, users.name as user_name,
                  users.email as user_email, users.is_admin, sessions.last_used_at
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
    agent: &str,
    now: OffsetDateTime,
    expires_at: OffsetDateTime,
) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into sessions (id, user_id, agent, created_at, last_used_at, expires_at)
         values ($1, $2, $3, $4, $4, $5)",
        id.uuid(),
        user.uuid(),
        agent,
        now,
        expires_at,
    )
    .execute(&mut *db)
    .await?;
    touch(db, id, user, now).await?;
    // Last, and without waiting: who else writes people and their sessions takes the person first, too.
    sqlx::query!(
        "delete from sessions
         where id in (select id from sessions where expires_at < $1 for update skip locked)",
        now,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Notes that a session is used, and when its owner was last seen.
pub async fn touch(db: &mut PgConnection, id: SessionId, user: UserId, now: OffsetDateTime) -> Result<(), StoreError> {
    sqlx::query!(
        "update users set last_seen_at = $2 where id = $1 and (last_seen_at is null or last_seen_at < $2)",
        user.uuid(),
        now,
    )
    .execute(&mut *db)
    .await?;
    sqlx::query!("update sessions set last_used_at = $2 where id = $1 and last_used_at < $2", id.uuid(), now)
        .execute(db)
        .await?;
    Ok(())
}

/// The sessions of a person that have not ended, the one used last first; at most 100.
pub async fn list(db: &mut PgConnection, user: UserId, now: OffsetDateTime) -> Result<Vec<OwnSession>, StoreError> {
    let sessions = sqlx::query_as!(
        OwnSession,
        "select id, created_at, last_used_at, expires_at, agent
         from sessions
         where user_id = $1 and expires_at > $2
         order by last_used_at desc, id desc
         limit 100",
        user.uuid(),
        now,
    )
    .fetch_all(db)
    .await?;
    Ok(sessions)
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

/// Ends a session of a person; false when it is none of theirs.
pub async fn delete(db: &mut PgConnection, user: UserId, id: SessionId) -> Result<bool, StoreError> {
    let done =
        sqlx::query!("delete from sessions where user_id = $1 and id = $2", user.uuid(), id.uuid()).execute(db).await?;
    Ok(done.rows_affected() > 0)
}

/// Ends all sessions of a person but one; all without one. Returns how many.
pub async fn delete_others(db: &mut PgConnection, user: UserId, but: Option<SessionId>) -> Result<u64, StoreError> {
    let done = sqlx::query!(
        "delete from sessions where user_id = $1 and ($2::uuid is null or id <> $2)",
        user.uuid(),
        but.map(SessionId::uuid),
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}
