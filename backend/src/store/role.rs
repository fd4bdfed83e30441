//! Roles that people made, beside the built-in ones.

use shared::model::id::UserId;
use shared::model::key::RoleKey;
use shared::model::permission::{BuiltInRole, Permission, PermissionSet};
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::store::{StoreError, signed, unsigned};

/// The most roles that people make.
pub const LIST_MAX: i64 = 100;

/// The most holders of a role that one answer names.
pub const HOLDERS_MAX: i64 = 200;

/// A role that people made.
#[derive(Clone, Debug)]
pub struct Role {
    /// Names it.
    pub key: String,
    /// For people.
    pub name: String,
    /// What it allows; a word of a newer version grants nothing.
    pub permissions: PermissionSet,
    /// Counts up with every change.
    pub version: u64,
    /// When it was last changed.
    pub changed_at: OffsetDateTime,
    /// Who changed it.
    pub changed_by: String,
}

/// Somebody who has a role.
#[derive(Clone, Debug)]
pub struct Holder {
    /// Who.
    pub user_id: UserId,
    /// Their name.
    pub user_name: String,
    /// Their e-mail.
    pub user_email: String,
    /// Key of the project.
    pub project: String,
    /// Key of the environment; absent for the whole project.
    pub environment: Option<String>,
}

/// How often roles are had, by key.
#[derive(Clone, Debug)]
pub struct HolderCount {
    /// The role's key.
    pub role: String,
    /// People, each once.
    pub people: i64,
}

/// Where somebody would govern by a role.
#[derive(Clone, Debug)]
pub struct Governed {
    /// Their name.
    pub user_name: String,
    /// Key of the project.
    pub project: String,
    /// Key of the environment, which is protected.
    pub environment: String,
}

struct RoleRow {
    key: String,
    name: String,
    permissions: Vec<String>,
    version: i64,
    changed_at: OffsetDateTime,
    changed_by: String,
}

impl From<RoleRow> for Role {
    fn from(row: RoleRow) -> Self {
        Self {
            key: row.key,
            name: row.name,
            permissions: row.permissions.iter().filter_map(|text| text.parse::<Permission>().ok()).collect(),
            version: unsigned(row.version),
            changed_at: row.changed_at,
            changed_by: row.changed_by,
        }
    }
}

/// The roles that people made, by name; with a key, that one alone.
pub async fn list(db: &mut PgConnection, key: Option<&RoleKey>) -> Result<Vec<Role>, StoreError> {
    let rows = sqlx::query_as!(
        RoleRow,
        "select roles.key, roles.name, roles.permissions, roles.version, roles.changed_at, users.name as changed_by
         from roles
         join users on users.id = roles.changed_by
         where $1::text is null or roles.key = $1
         order by roles.name, roles.key
         limit $2",
        key.map(RoleKey::as_str),
        LIST_MAX,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(Role::from).collect())
}

/// Holds a role until the transaction ends, so that nobody is given it meanwhile; false when there is none.
pub async fn lock(db: &mut PgConnection, key: &RoleKey) -> Result<bool, StoreError> {
    let found = sqlx::query_scalar!("select key from roles where key = $1 for update", key.as_str());
    Ok(found.fetch_optional(db).await?.is_some())
}

/// Adds a role, unless there are as many as there may be; then false.
pub async fn insert(
    db: &mut PgConnection,
    key: &RoleKey,
    name: &str,
    permissions: &PermissionSet,
    author: UserId,
    at: OffsetDateTime,
) -> Result<bool, StoreError> {
    let permissions: Vec<String> = permissions.iter().map(|permission| permission.to_string()).collect();
    let done = sqlx::query!(
        "insert into roles (key, name, permissions, version, changed_at, changed_by)
         select $1, $2, $3, 1, $4, $5
         where (select count(*) from roles) < $6",
        key.as_str(),
        name,
        &permissions,
        at,
        author.uuid(),
        LIST_MAX,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Writes what a role is called and allows, with its next version.
pub async fn update(
    db: &mut PgConnection,
    key: &RoleKey,
    name: &str,
    permissions: &PermissionSet,
    version: u64,
    author: UserId,
    at: OffsetDateTime,
) -> Result<(), StoreError> {
    let permissions: Vec<String> = permissions.iter().map(|permission| permission.to_string()).collect();
    sqlx::query!(
        "update roles set name = $2, permissions = $3, version = $4, changed_at = $5, changed_by = $6 where key = $1",
        key.as_str(),
        name,
        &permissions,
        signed(version + 1),
        at,
        author.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Removes a role that nobody has.
pub async fn delete(db: &mut PgConnection, key: &RoleKey) -> Result<(), StoreError> {
    sqlx::query!("delete from roles where key = $1", key.as_str()).execute(db).await?;
    Ok(())
}

/// Who has a role, disabled people included.
pub async fn list_holders(db: &mut PgConnection, key: &str) -> Result<Vec<Holder>, StoreError> {
    let holders = sqlx::query_as!(
        Holder,
        r#"select users.id as user_id, users.name as user_name, users.email as user_email, projects.key as project,
                  environments.key as "environment?"
           from (select project_id, user_id, null::uuid as environment_id from members where role = $1
                 union all
                 select project_id, user_id, environment_id from member_environments where role = $1) as held
           join users on users.id = held.user_id
           join projects on projects.id = held.project_id
           left join environments on environments.id = held.environment_id
           order by users.name, users.id, projects.key, environments.position nulls first
           limit $2"#,
        key,
        HOLDERS_MAX,
    )
    .fetch_all(db)
    .await?;
    Ok(holders)
}

/// How many people have which role, disabled ones included.
pub async fn count_holders(db: &mut PgConnection) -> Result<Vec<HolderCount>, StoreError> {
    let counts = sqlx::query_as!(
        HolderCount,
        r#"select role as "role!", count(distinct user_id) as "people!"
           from (select role, user_id from members union all select role, user_id from member_environments) as held
           group by role"#,
    )
    .fetch_all(db)
    .await?;
    Ok(counts)
}

/// What else names a role: policies, and invites that are open; in words, at most 20.
pub async fn list_uses(db: &mut PgConnection, key: &RoleKey, now: OffsetDateTime) -> Result<Vec<String>, StoreError> {
    let uses = sqlx::query_scalar!(
        r#"select used as "used!" from (
             select 'the policy of ' || projects.key || '/' || environments.key as used
             from policies
             join environments on environments.id = policies.environment_id
             join projects on projects.id = environments.project_id
             where policies.document @> jsonb_build_object('roles', jsonb_build_array($1::text))
             union all
             select 'the invite of ' || invites.email
             from invites
             join invite_projects on invite_projects.invite_id = invites.id
             where invite_projects.role = $1 and invites.accepted_at is null and invites.revoked_at is null
               and invites.expires_at > $2
           ) as uses
           order by used
           limit 20"#,
        key.as_str(),
        now,
    )
    .fetch_all(db)
    .await?;
    Ok(uses)
}

/// Where people have a role in a protected environment, disabled ones included; at most 20.
pub async fn list_governed(db: &mut PgConnection, key: &RoleKey) -> Result<Vec<Governed>, StoreError> {
    let governed = sqlx::query_as!(
        Governed,
        "select users.name as user_name, projects.key as project, environments.key as environment
         from policies
         join environments on environments.id = policies.environment_id
         join projects on projects.id = environments.project_id
         join members on members.project_id = environments.project_id
         join users on users.id = members.user_id
         left join member_environments on member_environments.project_id = members.project_id
              and member_environments.user_id = members.user_id
              and member_environments.environment_id = environments.id
         where policies.document is not null and coalesce(member_environments.role, members.role) = $1
         order by projects.key, environments.position, users.name
         limit 20",
        key.as_str(),
    )
    .fetch_all(db)
    .await?;
    Ok(governed)
}

/// What a role allows; `None` when there is no such role. One that people made stays as it is until the transaction ends:
/// who is given it must not be given more without anybody noticing.
pub async fn permissions(db: &mut PgConnection, role: &RoleKey) -> Result<Option<PermissionSet>, StoreError> {
    if let Some(role) = BuiltInRole::find(role.as_str()) {
        return Ok(Some(role.permissions()));
    }
    let stored = sqlx::query_scalar!("select permissions from roles where key = $1 for share", role.as_str())
        .fetch_optional(db)
        .await?;
    Ok(stored.map(|texts| texts.iter().filter_map(|text| text.parse::<Permission>().ok()).collect()))
}
