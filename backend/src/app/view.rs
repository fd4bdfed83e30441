//! Saved views of the list of flags. They alter no answer, so every member may keep some, and nobody has to agree.

use shared::model::id::{UserId, ViewId};
use shared::model::permission::Permission;
use shared::wire::api::view::{CreateView, UpdateView, ViewDetail, ViewList};
use sqlx::PgConnection;

use crate::app::changeset::check_name;
use crate::app::flag::{FlagQuery, parse_query};
use crate::auth::permission::InProject;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::view::{OWN_MAX, View};

/// The longest query, in characters.
pub const QUERY_CHARS_MAX: usize = 2_000;

/// Views of a project that somebody can use.
pub async fn list(state: &AppState, who: &InProject) -> Result<ViewList, AppError> {
    let me = who.actor.user;
    let found = store::view::list(&mut *state.pool.acquire().await?, who.id(), me, None).await?;
    Ok(ViewList { items: found.into_iter().map(|view| detail(view, me)).collect() })
}

/// Saves a view; `query` is what the text says.
pub async fn create(
    state: &AppState,
    who: &InProject,
    body: CreateView,
    query: &FlagQuery,
) -> Result<ViewDetail, AppError> {
    check_name(&body.name)?;
    let mut tx = state.pool.begin().await?;
    check_query(state, &mut tx, who, query).await?;
    let view = View {
        id: state.clock.id(),
        user_id: who.actor.user,
        user_name: who.actor.name.clone(),
        name: body.name.trim().to_owned(),
        query: body.query,
        is_shared: body.shared,
        is_default: body.default,
        changed_at: state.clock.now(),
    };
    if !store::view::insert(&mut tx, who.id(), &view).await.map_err(|error| taken(error, &view.name))? {
        let message = format!("you have {OWN_MAX} views in this project, which is the most; remove one first");
        return Err(AppError::field("name", message));
    }
    if view.is_default {
        store::view::set_default(&mut tx, who.id(), who.actor.user, view.id, true).await?;
    }
    tx.commit().await?;
    Ok(detail(view, who.actor.user))
}

/// Changes a view of one's own, or begins with one that somebody shares.
pub async fn update(
    state: &AppState,
    who: &InProject,
    id: ViewId,
    body: UpdateView,
    query: Option<&FlagQuery>,
) -> Result<ViewDetail, AppError> {
    let mut tx = state.pool.begin().await?;
    let mut view = find(&mut tx, who, id).await?;
    let UpdateView { name, query: text, shared, default } = body;
    if name.is_some() || text.is_some() || shared.is_some() {
        if view.user_id != who.actor.user {
            return Err(AppError::Forbidden(format!("to be {}, whose view this is", view.user_name)));
        }
        if let Some(query) = query {
            check_query(state, &mut tx, who, query).await?;
        }
        view.name = name.map_or(view.name, |name| name.trim().to_owned());
        check_name(&view.name)?;
        view.query = text.unwrap_or(view.query);
        view.is_shared = shared.unwrap_or(view.is_shared);
        view.changed_at = state.clock.now();
        store::view::update(&mut tx, who.id(), &view).await.map_err(|error| taken(error, &view.name))?;
    }
    if let Some(default) = default {
        store::view::set_default(&mut tx, who.id(), who.actor.user, id, default).await?;
        view.is_default = default;
    }
    tx.commit().await?;
    Ok(detail(view, who.actor.user))
}

/// Removes a view of one's own; one that is shared can also be removed by whoever manages members.
pub async fn delete(state: &AppState, who: &InProject, id: ViewId) -> Result<(), AppError> {
    let mut tx = state.pool.begin().await?;
    let view = find(&mut tx, who, id).await?;
    if view.user_id != who.actor.user && !who.permissions.in_project(Permission::ManageMembers) {
        return Err(AppError::Forbidden(format!("to be {}, whose view this is", view.user_name)));
    }
    store::view::delete(&mut tx, who.id(), id).await?;
    tx.commit().await?;
    Ok(())
}

/// A view that somebody can use; for them no other exists.
async fn find(db: &mut PgConnection, who: &InProject, id: ViewId) -> Result<View, AppError> {
    let found = store::view::list(db, who.id(), who.actor.user, Some(id)).await?.into_iter().next();
    found.ok_or_else(|| AppError::not_found("view", id))
}

async fn check_query(
    state: &AppState,
    db: &mut PgConnection,
    who: &InProject,
    query: &FlagQuery,
) -> Result<(), AppError> {
    if query.after.is_some() {
        return Err(AppError::field("query", "a view begins at its first page; leave out `after`"));
    }
    let environments = store::environment::list(db, who.id()).await?;
    match parse_query(query, &environments, who.actor.user, state.clock.now()) {
        Ok(_) => Ok(()),
        Err(error) => Err(AppError::field("query", error.to_string())),
    }
}

fn taken(error: store::StoreError, name: &str) -> AppError {
    if error.is_conflict("views_name_unique") {
        AppError::field("name", format!("you have a view '{name}' already; choose another name"))
    } else {
        error.into()
    }
}

fn detail(view: View, me: UserId) -> ViewDetail {
    ViewDetail {
        id: view.id,
        name: view.name,
        query: view.query,
        shared: view.is_shared,
        default: view.is_default,
        mine: view.user_id == me,
        owner: view.user_name,
        changed_at: view.changed_at.into(),
    }
}
