//! People.

use shared::model::id::UserId;
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::store::StoreError;

/// Where it is told that somebody's permissions, sessions or tokens changed: their id.
pub const CHANNEL: &str = "fluxgate_people";

/// The most people on a page.
pub const LIST_MAX: i64 = 100;

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

/// A person as those see them who let people in.
#[derive(Clone, Debug)]
pub struct Person {
    /// Their id.
    pub id: UserId,
    /// In lower case.
    pub email: String,
    /// For people.
    pub name: String,
    /// May do everything everywhere.
    pub is_admin: bool,
    /// When they were let in.
    pub created_at: OffsetDateTime,
    /// Out since.
    pub disabled_at: Option<OffsetDateTime>,
    /// When they last did anything, to the minute.
    pub last_seen_at: Option<OffsetDateTime>,
    /// Sessions that have not ended.
    pub sessions: i64,
    /// Tokens that are valid.
    pub tokens: i64,
}

/// A person, disabled or not.
#[derive(Clone, Debug)]
pub struct Account {
    /// Their id.
    pub id: UserId,
    /// In lower case.
    pub email: String,
    /// For people.
    pub name: String,
    /// May do everything everywhere.
    pub is_admin: bool,
    /// Out since.
    pub disabled_at: Option<OffsetDateTime>,
}

/// A membership of a person.
#[derive(Clone, Debug)]
pub struct Membership {
    /// Whose.
    pub user_id: UserId,
    /// The project's key.
    pub project: String,
    /// The role's key.
    pub role: String,
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

/// Whether anybody, disabled or not, has this e-mail.
pub async fn find_any_by_email(db: &mut PgConnection, email: &str) -> Result<bool, StoreError> {
    let any = sqlx::query_scalar!(r#"select exists (select 1 from users where email = $1) as "any!""#, email);
    Ok(any.fetch_one(db).await?)
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

/// The name of a person, disabled or not.
pub async fn name(db: &mut PgConnection, id: UserId) -> Result<Option<String>, StoreError> {
    Ok(sqlx::query_scalar!("select name from users where id = $1", id.uuid()).fetch_optional(db).await?)
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

/// A person, disabled or not; by id, e-mail, or a page of all after an e-mail.
pub async fn list(
    db: &mut PgConnection,
    id: Option<UserId>,
    search: Option<&str>,
    after: Option<&str>,
    now: OffsetDateTime,
    limit: i64,
) -> Result<Vec<Person>, StoreError> {
    let people = sqlx::query_as!(
        Person,
        r#"select id, email, name, is_admin, created_at, disabled_at, last_seen_at,
                  (select count(*) from sessions where user_id = users.id and expires_at > $4) as "sessions!",
                  (select count(*) from api_tokens
                   where user_id = users.id and revoked_at is null and expires_at > $4) as "tokens!"
           from users
           where ($1::uuid is null or id = $1)
             and ($2::text is null or strpos(email, lower($2)) > 0 or strpos(lower(name), lower($2)) > 0)
             and ($3::text is null or email > $3)
           order by email
           limit $5"#,
        id.map(UserId::uuid),
        search,
        after,
        now,
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(people)
}

/// What these people belong to, by project; at most 10,000 memberships.
pub async fn list_memberships(db: &mut PgConnection, users: &[UserId]) -> Result<Vec<Membership>, StoreError> {
    let ids: Vec<uuid::Uuid> = users.iter().map(|id| id.uuid()).collect();
    let memberships = sqlx::query_as!(
        Membership,
        "select members.user_id, projects.key as project, members.role
         from members
         join projects on projects.id = members.project_id
         where members.user_id = any ($1)
         order by projects.key
         limit 10000",
        &ids,
    )
    .fetch_all(db)
    .await?;
    Ok(memberships)
}

/// A person, disabled or not, whose row is held until the transaction ends.
pub async fn find_for_update(db: &mut PgConnection, id: UserId) -> Result<Option<Account>, StoreError> {
    let account = sqlx::query_as!(
        Account,
        "select id, email, name, is_admin, disabled_at from users where id = $1 for no key update",
        id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(account)
}

/// Holds the rows of all admins who are not disabled until the transaction ends, and says who they are: of two who go at
/// the same moment, one waits for the other.
pub async fn lock_admins(db: &mut PgConnection) -> Result<Vec<UserId>, StoreError> {
    let admins = sqlx::query_scalar!(
        r#"select id as "id: uuid::Uuid" from users where is_admin and disabled_at is null order by id for no key update"#
    )
    .fetch_all(db)
    .await?;
    Ok(admins.into_iter().map(UserId::from).collect())
}

/// Whether somebody may do everything everywhere.
pub async fn set_admin(db: &mut PgConnection, id: UserId, is_admin: bool) -> Result<(), StoreError> {
    sqlx::query!("update users set is_admin = $2 where id = $1", id.uuid(), is_admin).execute(db).await?;
    Ok(())
}

/// Whether somebody is out, and since when.
pub async fn set_disabled(db: &mut PgConnection, id: UserId, at: Option<OffsetDateTime>) -> Result<(), StoreError> {
    sqlx::query!("update users set disabled_at = $2 where id = $1", id.uuid(), at).execute(db).await?;
    Ok(())
}

/// What people call somebody.
pub async fn set_name(db: &mut PgConnection, id: UserId, name: &str) -> Result<(), StoreError> {
    sqlx::query!("update users set name = $2 where id = $1", id.uuid(), name).execute(db).await?;
    Ok(())
}

/// What somebody signs in with.
pub async fn set_password(db: &mut PgConnection, id: UserId, hash: &str) -> Result<(), StoreError> {
    sqlx::query!("update users set password_hash = $2 where id = $1", id.uuid(), hash).execute(db).await?;
    Ok(())
}

/// Tells every backend, once the transaction commits, that what somebody may do has changed.
pub async fn tell(db: &mut PgConnection, id: UserId) -> Result<(), StoreError> {
    sqlx::query!("select pg_notify($1, $2)", CHANNEL, id.to_string()).execute(db).await?;
    Ok(())
}
