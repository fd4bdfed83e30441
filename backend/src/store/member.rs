//! Who belongs to projects, and with which roles.

use std::collections::BTreeMap;

use shared::model::id::{EnvironmentId, ProjectId, UserId};
use shared::model::key::RoleKey;
use shared::model::permission::{BuiltInRole, Permission, PermissionSet};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::{StoreError, signed, unsigned, user};

/// The most members of a project.
pub const LIST_MAX: i64 = 1_000;

/// A role that somebody has, in the whole project or in one environment.
#[derive(Clone, Debug)]
pub struct Granted {
    /// Where.
    pub project_id: ProjectId,
    /// Who.
    pub user_id: UserId,
    /// Their name.
    pub user_name: String,
    /// In which environment alone; absent for the whole project.
    pub environment_id: Option<EnvironmentId>,
    /// The role's key.
    pub role: String,
    /// What it allows; nothing when nobody knows the role any more.
    pub permissions: PermissionSet,
}

struct GrantedRow {
    project_id: Uuid,
    user_id: Uuid,
    user_name: String,
    environment_id: Option<Uuid>,
    role: String,
    permissions: Option<Vec<String>>,
}

impl From<GrantedRow> for Granted {
    fn from(row: GrantedRow) -> Self {
        Self {
            project_id: row.project_id.into(),
            user_id: row.user_id.into(),
            user_name: row.user_name,
            environment_id: row.environment_id.map(Into::into),
            permissions: permissions_of(&row.role, row.permissions.as_deref()),
            role: row.role,
        }
    }
}

/// What a role allows: a built-in one by its key, another by its row. A word of a newer version grants nothing.
fn permissions_of(role: &str, stored: Option<&[String]>) -> PermissionSet {
    match BuiltInRole::find(role) {
        Some(role) => role.permissions(),
        None => stored.unwrap_or_default().iter().filter_map(|text| text.parse::<Permission>().ok()).collect(),
    }
}

/// The roles of people who are not disabled: of one person, of one project, or both; the whole project's first.
pub async fn list_granted(
    db: &mut PgConnection,
    project: Option<ProjectId>,
    user: Option<UserId>,
) -> Result<Vec<Granted>, StoreError> {
    let rows = sqlx::query_as!(
        GrantedRow,
        r#"select granted.project_id as "project_id!", granted.user_id as "user_id!", users.name as user_name,
                  granted.environment_id, granted.role as "role!", roles.permissions as "permissions?"
           from (select project_id, user_id, null::uuid as environment_id, role from members
                 where ($1::uuid is null or project_id = $1) and ($2::uuid is null or user_id = $2)
                 union all
                 select project_id, user_id, environment_id, role from member_environments
                 where ($1::uuid is null or project_id = $1) and ($2::uuid is null or user_id = $2)) as granted
           join users on users.id = granted.user_id and users.disabled_at is null
           left join roles on roles.key = granted.role
           order by granted.project_id, users.name, granted.user_id, granted.environment_id nulls first"#,
        project.map(ProjectId::uuid),
        user.map(UserId::uuid),
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(Granted::from).collect())
}

/// A member as those see them who manage members.
#[derive(Clone, Debug)]
pub struct Member {
    /// Who.
    pub user_id: UserId,
    /// Their name.
    pub user_name: String,
    /// Their e-mail.
    pub user_email: String,
    /// The key of their role in the project.
    pub role: String,
    /// How often the membership was changed.
    pub version: i64,
    /// When they last did anything, to the minute.
    pub last_seen_at: Option<OffsetDateTime>,
    /// Out since.
    pub disabled_at: Option<OffsetDateTime>,
}

/// Another role of a member in an environment.
#[derive(Clone, Debug)]
pub struct EnvironmentRole {
    /// Whose.
    pub user_id: UserId,
    /// The environment's key.
    pub environment: String,
    /// The role's key.
    pub role: String,
}

/// Somebody who could become a member.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Who.
    pub id: UserId,
    /// Their name.
    pub name: String,
    /// Their e-mail.
    pub email: String,
}

/// The members of a project by name, disabled ones included.
pub async fn list(db: &mut PgConnection, project: ProjectId) -> Result<Vec<Member>, StoreError> {
    let members = sqlx::query_as!(
        Member,
        r#"select members.user_id, users.name as user_name, users.email as user_email, members.role,
                  coalesce(member_versions.version, 0) as "version!", users.last_seen_at, users.disabled_at
           from members
           join users on users.id = members.user_id
           left join member_versions on member_versions.project_id = members.project_id
                and member_versions.user_id = members.user_id
           where members.project_id = $1
           order by users.name, users.id
           limit $2"#,
        project.uuid(),
        LIST_MAX,
    )
    .fetch_all(db)
    .await?;
    Ok(members)
}

/// The roles that members of a project have in single environments, in promotion order.
pub async fn list_environment_roles(
    db: &mut PgConnection,
    project: ProjectId,
) -> Result<Vec<EnvironmentRole>, StoreError> {
    let roles = sqlx::query_as!(
        EnvironmentRole,
        "select member_environments.user_id, environments.key as environment, member_environments.role
         from member_environments
         join environments on environments.id = member_environments.environment_id
         where member_environments.project_id = $1
         order by environments.position",
        project.uuid(),
    )
    .fetch_all(db)
    .await?;
    Ok(roles)
}

/// People who are no members of a project and have this in their name or e-mail, by name; at most `limit`.
pub async fn list_candidates(
    db: &mut PgConnection,
    project: ProjectId,
    search: &str,
    limit: i64,
) -> Result<Vec<Candidate>, StoreError> {
    let candidates = sqlx::query_as!(
        Candidate,
        "select id, name, email
         from users
         where disabled_at is null
           and not exists (select 1 from members where project_id = $1 and user_id = users.id)
           and (strpos(lower(name), lower($2)) > 0 or strpos(email, lower($2)) > 0)
         order by name, id
         limit $3",
        project.uuid(),
        search,
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(candidates)
}

/// The role of a member, disabled or not, in the project as a whole.
pub async fn role(db: &mut PgConnection, project: ProjectId, user: UserId) -> Result<Option<String>, StoreError> {
    let role = sqlx::query_scalar!(
        "select role from members where project_id = $1 and user_id = $2",
        project.uuid(),
        user.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(role)
}

/// How often a membership was changed; 0 when there never was one.
pub async fn version(db: &mut PgConnection, project: ProjectId, user: UserId) -> Result<u64, StoreError> {
    let version = sqlx::query_scalar!(
        "select version from member_versions where project_id = $1 and user_id = $2",
        project.uuid(),
        user.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(version.map_or(0, unsigned))
}

/// How many members a project has.
pub async fn count(db: &mut PgConnection, project: ProjectId) -> Result<i64, StoreError> {
    let count =
        sqlx::query_scalar!(r#"select count(*) as "count!" from members where project_id = $1"#, project.uuid())
            .fetch_one(db)
            .await?;
    Ok(count)
}

/// Makes somebody a member with these roles, or ends their membership, and counts the version up.
pub async fn save(
    db: &mut PgConnection,
    project: ProjectId,
    person: UserId,
    role: Option<&RoleKey>,
    environments: &BTreeMap<EnvironmentId, RoleKey>,
    version: u64,
) -> Result<(), StoreError> {
    match role {
        Some(role) => {
            sqlx::query!(
                "insert into members (project_id, user_id, role) values ($1, $2, $3)
                 on conflict (project_id, user_id) do update set role = excluded.role",
                project.uuid(),
                person.uuid(),
                role.as_str(),
            )
            .execute(&mut *db)
            .await?;
        }
        None => {
            sqlx::query!("delete from members where project_id = $1 and user_id = $2", project.uuid(), person.uuid())
                .execute(&mut *db)
                .await?;
        }
    }
    sqlx::query!(
        "delete from member_environments where project_id = $1 and user_id = $2",
        project.uuid(),
        person.uuid(),
    )
    .execute(&mut *db)
    .await?;
    let ids: Vec<Uuid> = environments.keys().map(|id| id.uuid()).collect();
    let roles: Vec<String> = environments.values().map(ToString::to_string).collect();
    if role.is_some() {
        sqlx::query!(
            "insert into member_environments (project_id, user_id, environment_id, role)
             select $1, $2, * from unnest($3::uuid[], $4::text[])",
            project.uuid(),
            person.uuid(),
            &ids,
            &roles,
        )
        .execute(&mut *db)
        .await?;
    }
    sqlx::query!(
        "insert into member_versions (project_id, user_id, version) values ($1, $2, $3)
         on conflict (project_id, user_id) do update set version = excluded.version",
        project.uuid(),
        person.uuid(),
        signed(version + 1),
    )
    .execute(&mut *db)
    .await?;
    user::tell(db, person).await
}
