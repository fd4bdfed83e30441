//! Roles that people make, beside the built-in ones. They hold for the whole installation.

use std::collections::HashMap;

use serde_json::json;
use shared::model::key::RoleKey;
use shared::model::permission::{BuiltInRole, Permission, PermissionSet};
use shared::wire::api::role::{
    CreateRole, PermissionMeaning, RoleDetail, RoleHolder, RoleList, RoleSummary, UpdateRole,
};
use shared::wire::api::session::UserSummary;
use sqlx::PgConnection;

use crate::app::changeset::{check_name, check_version};
use crate::app::noted::note;
use crate::auth::permission::Actor;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::role::{Holder, Role};

/// All roles.
pub async fn list(state: &AppState) -> Result<RoleList, AppError> {
    let mut db = state.pool.acquire().await?;
    let people = people_by_role(&mut db).await?;
    let made = store::role::list(&mut db, None).await?;
    let built_in = BuiltInRole::ALL.into_iter().map(|role| built_in_summary(role, &people));
    let made = made.into_iter().map(|role| summary(role, &people)).collect::<Result<Vec<_>, _>>()?;
    Ok(RoleList { items: built_in.chain(made).collect(), permissions: meanings(&PermissionSet::all()) })
}

/// A role with who has it.
pub async fn detail(state: &AppState, key: &RoleKey) -> Result<RoleDetail, AppError> {
    detail_in(&mut *state.pool.acquire().await?, key).await
}

/// Makes a role.
pub async fn create(state: &AppState, actor: &Actor, body: CreateRole) -> Result<RoleDetail, AppError> {
    let CreateRole { key, name, permissions } = body;
    check_name(&name)?;
    let exists = || AppError::Exists { noun: "role", key: key.to_string() };
    if BuiltInRole::find(key.as_str()).is_some() {
        return Err(exists());
    }
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let inserted = store::role::insert(&mut tx, &key, name.trim(), &permissions, actor.user, now).await;
    let has_room = inserted.map_err(|error| if error.is_conflict("roles_pkey") { exists() } else { error.into() })?;
    if !has_room {
        let message = format!("there are at most {} roles; delete one that nobody has", store::role::LIST_MAX);
        return Err(AppError::field("key", message));
    }
    let detail_of_it = json!({ "name": name.trim(), "permissions": permissions });
    note(state, &mut tx, actor, "role.created", key.as_str(), detail_of_it).await?;
    tx.commit().await?;
    detail(state, &key).await
}

/// Changes what a role is called and allows. It takes effect at once wherever somebody has it, so it may not let anybody
/// govern where others would have to agree to that.
pub async fn update(
    state: &AppState,
    actor: &Actor,
    key: &RoleKey,
    version: u64,
    body: UpdateRole,
) -> Result<RoleDetail, AppError> {
    let mut tx = state.pool.begin().await?;
    let before = lock(&mut tx, key).await?;
    check_version("role", version, before.version)?;
    let name = body.name.map_or_else(|| before.name.clone(), |name| name.trim().to_owned());
    check_name(&name)?;
    let permissions = body.permissions.unwrap_or_else(|| before.permissions.clone());
    check_gained(&mut tx, key, &permissions.difference(&before.permissions)).await?;
    let now = state.clock.now();
    store::role::update(&mut tx, key, &name, &permissions, version, actor.user, now).await?;
    let detail = json!({
        "before": { "name": before.name, "permissions": before.permissions },
        "after": { "name": name, "permissions": permissions },
    });
    note(state, &mut tx, actor, "role.changed", key.as_str(), detail).await?;
    let changed = detail_in(&mut tx, key).await?;
    tx.commit().await?;
    Ok(changed)
}

/// Deletes a role that nobody has and nothing names.
pub async fn delete(state: &AppState, actor: &Actor, key: &RoleKey) -> Result<(), AppError> {
    let mut tx = state.pool.begin().await?;
    let before = lock(&mut tx, key).await?;
    let holders = store::role::list_holders(&mut tx, key.as_str()).await?;
    let mut users: Vec<String> = holders.iter().take(20).map(held_where).collect();
    users.extend(store::role::list_uses(&mut tx, key, state.clock.now()).await?);
    if !users.is_empty() {
        return Err(AppError::InUse { thing: format!("role '{key}'"), users: users.join(", ") });
    }
    store::role::delete(&mut tx, key).await?;
    let detail = json!({ "name": before.name, "permissions": before.permissions });
    note(state, &mut tx, actor, "role.deleted", key.as_str(), detail).await?;
    tx.commit().await?;
    Ok(())
}

/// The role, which nobody is given until the transaction ends.
async fn lock(db: &mut PgConnection, key: &RoleKey) -> Result<Role, AppError> {
    if BuiltInRole::find(key.as_str()).is_some() {
        let message = format!("'{key}' comes with the product and stays as it is; make a role of your own from it");
        return Err(AppError::conflict("role_built_in", message));
    }
    let found = if store::role::lock(db, key).await? { store::role::list(db, Some(key)).await?.pop() } else { None };
    found.ok_or_else(|| AppError::not_found("role", key))
}

/// Fails when somebody would approve, or pass over policies, in a protected environment by what the role gains: those who
/// approve there have to agree to that, and a role asks nobody.
async fn check_gained(db: &mut PgConnection, key: &RoleKey, gained: &PermissionSet) -> Result<(), AppError> {
    let Some(permission) = gained.iter().find(|permission| permission.governs()) else { return Ok(()) };
    let governed = store::role::list_governed(db, key).await?;
    let Some(first) = governed.first() else { return Ok(()) };
    let more = if governed.len() > 1 { " and elsewhere" } else { "" };
    let message = format!(
        "'{key}' cannot gain {permission} while {} has it in {}/{}, which is protected{more}: make another role and give \
         it to them, which those who approve there have to agree to",
        first.user_name, first.project, first.environment
    );
    Err(AppError::conflict("role_governs", message))
}

async fn detail_in(db: &mut PgConnection, key: &RoleKey) -> Result<RoleDetail, AppError> {
    let people = people_by_role(db).await?;
    let role = match BuiltInRole::find(key.as_str()) {
        Some(role) => built_in_summary(role, &people),
        None => {
            let found = store::role::list(db, Some(key)).await?.pop();
            summary(found.ok_or_else(|| AppError::not_found("role", key))?, &people)?
        }
    };
    let holders = store::role::list_holders(db, key.as_str()).await?;
    let holders = holders.into_iter().map(holder).collect::<Result<_, _>>()?;
    Ok(RoleDetail { meanings: meanings(&role.permissions), role, holders })
}

async fn people_by_role(db: &mut PgConnection) -> Result<HashMap<String, u64>, AppError> {
    let counts = store::role::count_holders(db).await?;
    Ok(counts.into_iter().map(|count| (count.role, u64::try_from(count.people).unwrap_or(0))).collect())
}

fn summary(role: Role, people: &HashMap<String, u64>) -> Result<RoleSummary, AppError> {
    Ok(RoleSummary {
        people: people.get(&role.key).copied().unwrap_or(0),
        key: role.key.parse().map_err(AppError::internal)?,
        name: role.name,
        permissions: role.permissions,
        built_in: false,
        version: role.version,
        changed_at: Some(role.changed_at.into()),
        changed_by: Some(role.changed_by),
    })
}

fn built_in_summary(role: BuiltInRole, people: &HashMap<String, u64>) -> RoleSummary {
    RoleSummary {
        key: role.key(),
        name: role.name().into(),
        permissions: role.permissions(),
        built_in: true,
        version: 0,
        people: people.get(role.as_str()).copied().unwrap_or(0),
        changed_at: None,
        changed_by: None,
    }
}

fn holder(holder: Holder) -> Result<RoleHolder, AppError> {
    Ok(RoleHolder {
        person: UserSummary { id: holder.user_id, name: holder.user_name, email: holder.user_email },
        project: holder.project.parse().map_err(AppError::internal)?,
        environment: holder.environment.map(|key| key.parse()).transpose().map_err(AppError::internal)?,
    })
}

fn held_where(holder: &Holder) -> String {
    let Holder { user_name, project, .. } = holder;
    match &holder.environment {
        Some(environment) => format!("{user_name} in {project}/{environment}"),
        None => format!("{user_name} in {project}"),
    }
}

fn meanings(permissions: &PermissionSet) -> Vec<PermissionMeaning> {
    let all = Permission::ALL.into_iter().filter(|permission| permissions.has(*permission));
    all.map(|permission| PermissionMeaning { permission, meaning: permission.meaning().into() }).collect()
}
