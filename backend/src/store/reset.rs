//! Links to set a new password: one open link for each person, stored as its hash.

use shared::model::id::UserId;
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::store::StoreError;

/// A link that can be used.
#[derive(Clone, Debug)]
pub struct Reset {
    /// Whose password it sets.
    pub user_id: UserId,
    /// Their name.
    pub user_name: String,
    /// Their e-mail.
    pub user_email: String,
    /// Refused from then on.
    pub expires_at: OffsetDateTime,
}

/// Stores a link in the place of the one before.
pub async fn save(
    db: &mut PgConnection,
    user: UserId,
    hash: &[u8],
    author: UserId,
    now: OffsetDateTime,
    expires_at: OffsetDateTime,
) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into password_resets (user_id, hash, created_at, created_by, expires_at) values ($1, $2, $3, $4, $5)
         on conflict (user_id) do update
         set hash = excluded.hash, created_at = excluded.created_at, created_by = excluded.created_by,
             expires_at = excluded.expires_at",
        user.uuid(),
        hash,
        now,
        author.uuid(),
        expires_at,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Finds the link of a hash, unless it has expired or its person is out, and holds it until the transaction ends.
pub async fn find(db: &mut PgConnection, hash: &[u8], now: OffsetDateTime) -> Result<Option<Reset>, StoreError> {
    let reset = sqlx::query_as!(
        Reset,
        "select users.id as user_id, users.name as user_name, users.email as user_email, password_resets.expires_at
         from password_resets
         join users on users.id = password_resets.user_id
         where password_resets.hash = $1 and password_resets.expires_at > $2 and users.disabled_at is null
         for update of password_resets",
        hash,
        now,
    )
    .fetch_optional(db)
    .await?;
    Ok(reset)
}

/// Forgets the link of a person.
pub async fn delete(db: &mut PgConnection, user: UserId) -> Result<(), StoreError> {
    sqlx::query!("delete from password_resets where user_id = $1", user.uuid()).execute(db).await?;
    Ok(())
}
