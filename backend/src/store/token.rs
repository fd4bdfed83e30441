//! API tokens: stored as hashes, shown once.

use shared::model::id::{EnvironmentId, ProjectId, TokenId, UserId};
use shared::model::permission::{Permission, PermissionSet};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::StoreError;

/// The most tokens that one answer lists.
pub const LIST_MAX: i64 = 1_000;

/// A token that somebody showed, with the person it belongs to.
#[derive(Clone, Debug)]
pub struct FoundToken {
    /// Its id.
    pub id: TokenId,
    /// The person.
    pub user_id: UserId,
    /// Their name.
    pub user_name: String,
    /// Their e-mail.
    pub user_email: String,
    /// May do everything everywhere.
    pub is_admin: bool,
    /// What it may do at most; a word of a newer version allows nothing.
    pub permissions: PermissionSet,
    /// The only project it reaches.
    pub project: Option<ProjectId>,
    /// The only environments it changes.
    pub environments: Option<Vec<EnvironmentId>>,
    /// Refused from then on.
    pub expires_at: OffsetDateTime,
    /// Refused since.
    pub revoked_at: Option<OffsetDateTime>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<OffsetDateTime>,
}

/// A token as people see it.
#[derive(Clone, Debug)]
pub struct Token {
    /// Its id.
    pub id: TokenId,
    /// Whose it is.
    pub user_id: UserId,
    /// Their name.
    pub user_name: String,
    /// Their e-mail.
    pub user_email: String,
    /// For people.
    pub name: String,
    /// Beginning and end of it.
    pub hint: String,
    /// What it may do at most.
    pub permissions: Vec<String>,
    /// Key of the only project it reaches.
    pub project: Option<String>,
    /// Keys of the only environments it changes, without those that were deleted.
    pub environments: Option<Vec<String>>,
    /// When it was made.
    pub created_at: OffsetDateTime,
    /// Refused from then on.
    pub expires_at: OffsetDateTime,
    /// Refused since.
    pub revoked_at: Option<OffsetDateTime>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<OffsetDateTime>,
}

/// A token to be stored.
#[derive(Debug)]
pub struct NewToken<'a> {
    /// Its id.
    pub id: TokenId,
    /// Whose it is.
    pub user: UserId,
    /// For people.
    pub name: &'a str,
    /// SHA-256 of it.
    pub hash: &'a [u8],
    /// Beginning and end of it.
    pub hint: &'a str,
    /// What it may do at most.
    pub permissions: &'a PermissionSet,
    /// The only project it reaches.
    pub project: Option<ProjectId>,
    /// The only environments it changes.
    pub environments: Option<&'a [EnvironmentId]>,
    /// When it is made.
    pub created_at: OffsetDateTime,
    /// Refused from then on.
    pub expires_at: OffsetDateTime,
}

/// A token that expired.
#[derive(Clone, Debug)]
pub struct Expired {
    /// Whose it was.
    pub user_id: UserId,
    /// For people.
    pub name: String,
    /// Beginning and end of it.
    pub hint: String,
}

/// Finds the token of a hash, of a person who is not disabled, be it valid or not.
pub async fn find(db: &mut PgConnection, hash: &[u8]) -> Result<Option<FoundToken>, StoreError> {
    let row = sqlx::query!(
        "select api_tokens.id, users.id as user_id, users.name as user_name, users.email as user_email, users.is_admin,
                api_tokens.permissions, api_tokens.project_id, api_tokens.environment_ids, api_tokens.expires_at,
                api_tokens.revoked_at, api_tokens.last_used_at
         from api_tokens
         join users on users.id = api_tokens.user_id
         where api_tokens.hash = $1 and users.disabled_at is null",
        hash,
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| FoundToken {
        id: row.id.into(),
        user_id: row.user_id.into(),
        user_name: row.user_name,
        user_email: row.user_email,
        is_admin: row.is_admin,
        permissions: row.permissions.iter().filter_map(|text| text.parse::<Permission>().ok()).collect(),
        project: row.project_id.map(ProjectId::from),
        environments: row.environment_ids.map(|ids| ids.into_iter().map(EnvironmentId::from).collect()),
        expires_at: row.expires_at,
        revoked_at: row.revoked_at,
        last_used_at: row.last_used_at,
    }))
}

/// Whether the owner of a valid token is an admin of the installation; `None` when the token is valid no more.
pub async fn find_owner(db: &mut PgConnection, id: TokenId, now: OffsetDateTime) -> Result<Option<bool>, StoreError> {
    let is_admin = sqlx::query_scalar!(
        "select users.is_admin
         from api_tokens
         join users on users.id = api_tokens.user_id
         where api_tokens.id = $1 and api_tokens.revoked_at is null and api_tokens.expires_at > $2
           and users.disabled_at is null",
        id.uuid(),
        now,
    )
    .fetch_optional(db)
    .await?;
    Ok(is_admin)
}

/// Notes that a token is used.
pub async fn touch(db: &mut PgConnection, id: TokenId, now: OffsetDateTime) -> Result<(), StoreError> {
    sqlx::query!("update api_tokens set last_used_at = greatest(last_used_at, $2) where id = $1", id.uuid(), now)
        .execute(db)
        .await?;
    Ok(())
}

/// Tokens of one person, or of everybody, newest first; with `id`, that one alone.
pub async fn list(db: &mut PgConnection, user: Option<UserId>, id: Option<TokenId>) -> Result<Vec<Token>, StoreError> {
    let tokens = sqlx::query_as!(
        Token,
        r#"select api_tokens.id, users.id as user_id, users.name as user_name, users.email as user_email,
                  api_tokens.name, api_tokens.hint, api_tokens.permissions, projects.key as "project?",
                  case when api_tokens.environment_ids is not null then
                      array(select environments.key from environments
                            where environments.id = any (api_tokens.environment_ids)
                            order by environments.position)
                  end as environments,
                  api_tokens.created_at, api_tokens.expires_at, api_tokens.revoked_at, api_tokens.last_used_at
           from api_tokens
           join users on users.id = api_tokens.user_id
           left join projects on projects.id = api_tokens.project_id
           where ($1::uuid is null or api_tokens.user_id = $1) and ($2::uuid is null or api_tokens.id = $2)
           order by api_tokens.created_at desc, api_tokens.id desc
           limit $3"#,
        user.map(UserId::uuid),
        id.map(TokenId::uuid),
        LIST_MAX,
    )
    .fetch_all(db)
    .await?;
    Ok(tokens)
}

/// Adds a token, unless its owner has `most` that are valid; then false.
pub async fn insert(db: &mut PgConnection, token: &NewToken<'_>, most: i64) -> Result<bool, StoreError> {
    // Two that are made at the same moment wait for each other.
    sqlx::query!("select from users where id = $1 for no key update", token.user.uuid()).execute(&mut *db).await?;
    let permissions: Vec<String> = token.permissions.iter().map(|permission| permission.to_string()).collect();
    let environments: Option<Vec<Uuid>> = token.environments.map(|ids| ids.iter().map(|id| id.uuid()).collect());
    let done = sqlx::query!(
        "insert into api_tokens (id, user_id, name, hash, hint, permissions, project_id, environment_ids, created_at,
                                 expires_at)
         select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10
         where (select count(*) from api_tokens
                where user_id = $2 and revoked_at is null and expires_at > $9) < $11",
        token.id.uuid(),
        token.user.uuid(),
        token.name,
        token.hash,
        token.hint,
        &permissions,
        token.project.map(ProjectId::uuid),
        environments.as_deref(),
        token.created_at,
        token.expires_at,
        most,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Revokes a token for good; false when it was revoked before.
pub async fn revoke(db: &mut PgConnection, id: TokenId, now: OffsetDateTime) -> Result<bool, StoreError> {
    let done =
        sqlx::query!("update api_tokens set revoked_at = $2 where id = $1 and revoked_at is null", id.uuid(), now)
            .execute(db)
            .await?;
    Ok(done.rows_affected() > 0)
}

/// Tokens that expired and of which nobody was told, each once; at most 100.
pub async fn take_expired(db: &mut PgConnection, now: OffsetDateTime) -> Result<Vec<Expired>, StoreError> {
    let expired = sqlx::query_as!(
        Expired,
        "update api_tokens set is_expiry_noted = true
         where id in (select id from api_tokens
                      where not is_expiry_noted and expires_at <= $1
                      order by expires_at, id
                      limit 100
                      for update skip locked)
         returning user_id, name, hint",
        now,
    )
    .fetch_all(db)
    .await?;
    Ok(expired)
}
