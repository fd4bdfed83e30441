//! People.

use shared::model::id::UserId;
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::store::StoreError;

/// A person who can sign in.
#[derive(Clone, Debug)]
pub struct User {
    /// Their id.
    pub id: UserId,
    /// In lower case.
    pub email: String,
    /// For people.
    pub name: String,
    /// argon2id, in PHC form.
    pub password_hash: String,
    /// May do everything everywhere.
    pub is_admin: bool,
}

/// Whether anybody exists.
pub async fn any(db: &mut PgConnection) -> Result<bool, StoreError> {
    let any = sqlx::query_scalar!(r#"select exists (select 1 from users) as "any!""#).fetch_one(db).await?;
    Ok(any)
}

/// Holds the table until the transaction ends, so that first run happens once.
pub async fn lock(db: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::query!("lock table users in exclusive mode").execute(db).await?;
    Ok(())
}

/// Finds a person who is not disabled, by e-mail.
pub async fn find_by_email(db: &mut PgConnection, email: &str) -> Result<Option<User>, StoreError> {
    let user = sqlx::query_as!(
        User,
        r#"select id, email, name, password_hash, is_admin
           from users
           where email = $1 and disabled_at is null"#,
        email.to_lowercase(),
    )
    .fetch_optional(db)
    .await?;
    Ok(user)
}

/// Finds a person who is not disabled.
pub async fn find(db: &mut PgConnection, id: UserId) -> Result<Option<User>, StoreError> {
    let user = sqlx::query_as!(
        User,
        "select id, email, name, password_hash, is_admin from users where id = $1 and disabled_at is null",
        id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(user)
}

/// Adds a person.
pub async fn insert(db: &mut PgConnection, user: &User, at: OffsetDateTime) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into users (id, email, name, password_hash, is_admin, created_at)
         values ($1, $2, $3, $4, $5, $6)",
        user.id.uuid(),
        user.email.to_lowercase(),
        user.name,
        user.password_hash,
        user.is_admin,
        at,
    )
    .execute(db)
    .await?;
    Ok(())
}
