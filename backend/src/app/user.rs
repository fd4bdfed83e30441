//! People of the installation: who they are, who is out, who is an admin.

use std::collections::HashMap;

use serde_json::json;
use shared::model::id::UserId;
use shared::wire::api::user::{ProjectRole, UpdateUser, UserDetail, UserPage};
use sqlx::PgConnection;

use crate::app::noted::note;
use crate::auth::permission::Actor;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::user::{Account, LIST_MAX, Person};

/// A page of people by e-mail, disabled ones included.
pub async fn list(state: &AppState, search: Option<&str>, after: Option<&str>) -> Result<UserPage, AppError> {
    if let Some((field, _)) = [("search", search), ("after", after)]
        .into_iter()
        .find(|(_, text)| text.is_some_and(|text| text.len() > 1_000 || text.contains('\0')))
    {
        return Err(AppError::field(field, "at most 1000 bytes without U+0000"));
    }
    let mut db = state.pool.acquire().await?;
    let mut people = store::user::list(&mut db, None, search, after, state.clock.now(), LIST_MAX + 1).await?;
    let page = usize::try_from(LIST_MAX).unwrap_or(usize::MAX);
    let has_more = people.len() > page;
    people.truncate(page);
    let next = people.last().filter(|_| has_more).map(|last| last.email.clone());
    Ok(UserPage { items: details(&mut db, people).await?, next })
}

/// Lets somebody out or in, and makes or unmakes them an admin. Out means at once: sessions end, tokens are refused, and
/// streams that are open end, on every backend.
pub async fn update(state: &AppState, actor: &Actor, id: UserId, body: UpdateUser) -> Result<UserDetail, AppError> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let admins = store::user::lock_admins(&mut tx).await?;
    let before = store::user::find_for_update(&mut tx, id).await?;
    let before = before.ok_or_else(|| AppError::not_found("person", id))?;
    let is_admin = body.is_admin.unwrap_or(before.is_admin);
    let disabled = body.disabled.unwrap_or(before.disabled_at.is_some());
    if disabled && id == actor.user {
        return Err(AppError::conflict("own_account", "you cannot disable yourself; another admin can"));
    }
    if (disabled || !is_admin) && admins.iter().all(|admin| *admin == id) {
        let message =
            format!("{} is the last admin of the installation; make somebody else an admin first", before.name);
        return Err(AppError::conflict("last_admin", message));
    }
    if is_admin != before.is_admin {
        store::user::set_admin(&mut tx, id, is_admin).await?;
        let kind = if is_admin { "user.admin_granted" } else { "user.admin_withdrawn" };
        note(state, &mut tx, actor, kind, &before.email, json!({ "name": before.name })).await?;
    }
    if disabled != before.disabled_at.is_some() {
        store::user::set_disabled(&mut tx, id, disabled.then_some(now)).await?;
        set_out(state, &mut tx, actor, &before, disabled).await?;
    }
    store::user::tell(&mut tx, id).await?;
    let found = store::user::list(&mut tx, Some(id), None, None, now, 1).await?;
    let changed = details(&mut tx, found).await?.pop();
    tx.commit().await?;
    changed.ok_or_else(|| AppError::not_found("person", id))
}

async fn set_out(
    state: &AppState,
    db: &mut PgConnection,
    actor: &Actor,
    person: &Account,
    disabled: bool,
) -> Result<(), AppError> {
    if !disabled {
        return note(state, db, actor, "user.enabled", &person.email, json!({ "name": person.name })).await;
    }
    let ended = store::session::delete_others(db, person.id, None).await?;
    store::reset::delete(db, person.id).await?;
    let detail = json!({ "name": person.name, "sessions_ended": ended });
    note(state, db, actor, "user.disabled", &person.email, detail).await
}

async fn details(db: &mut PgConnection, people: Vec<Person>) -> Result<Vec<UserDetail>, AppError> {
    let ids: Vec<UserId> = people.iter().map(|person| person.id).collect();
    let mut projects: HashMap<UserId, Vec<ProjectRole>> = HashMap::new();
    for membership in store::user::list_memberships(db, &ids).await? {
        let project = membership.project.parse().map_err(AppError::internal)?;
        let role = membership.role.parse().map_err(AppError::internal)?;
        projects.entry(membership.user_id).or_default().push(ProjectRole { project, role });
    }
    let count = |count: i64| u64::try_from(count).unwrap_or(0);
    let detail = |person: Person| UserDetail {
        id: person.id,
        is_admin: person.is_admin,
        disabled: person.disabled_at.is_some(),
        created_at: person.created_at.into(),
        last_seen_at: person.last_seen_at.map(Into::into),
        sessions: count(person.sessions),
        tokens: count(person.tokens),
        projects: projects.remove(&person.id).unwrap_or_default(),
        name: person.name,
        email: person.email,
    };
    Ok(people.into_iter().map(detail).collect())
}
