//! Attributes: registered, changed, taken out of the register. They change no answer, so no changeset is needed.

mod near;

use std::collections::{HashMap, HashSet};

use serde_json::json;
use shared::model::attribute::{ATTRIBUTES_MAX, Attribute};
use shared::model::condition::NOW;
use shared::model::id::ProjectId;
use shared::wire::api::attribute::{
    AttributeDetail, AttributeFlag, AttributeList, AttributeUses, UnregisteredAttribute, UpdateAttribute,
};
use sqlx::PgConnection;

use crate::app::attribute::near::near;
use crate::auth::permission::InProject;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::attribute::{Registered, Used};
use crate::store::audit::NewEvent;

/// The most unregistered names of a list.
const UNREGISTERED_MAX: usize = 200;
/// The most flags and the most segments that one answer names.
const USES_MAX: i64 = 200;
/// What every context has or may have; nobody needs to register it.
const WELL_KNOWN: [&str; 3] = ["targetingKey", "bucketingKey", NOW];

/// The attributes of a project: those that are registered, and those that rules name without.
pub async fn list(state: &AppState, project: ProjectId) -> Result<AttributeList, AppError> {
    let mut db = state.pool.acquire().await?;
    let registered = store::attribute::list(&mut db, project, None).await?;
    let used = store::attribute::list_used(&mut db, project, None).await?;
    drop(db);
    // Some hundred names against some hundred others keep a thread busy for a while.
    tokio::task::spawn_blocking(move || compare(registered, used)).await.map_err(AppError::internal)
}

/// Who looks at an attribute, registered or not.
pub async fn uses(state: &AppState, project: ProjectId, name: &str) -> Result<AttributeUses, AppError> {
    let AttributeList { items, .. } = list(state, project).await?;
    let registered = items.into_iter().find(|item| item.attribute.name == name);
    let mut db = state.pool.acquire().await?;
    let flags = store::attribute::list_flags(&mut db, project, name, USES_MAX + 1).await?;
    let segments = store::attribute::list_segments(&mut db, project, name, USES_MAX + 1).await?;
    if registered.is_none() && flags.is_empty() && segments.is_empty() {
        return Err(AppError::not_found("attribute", name));
    }
    let most = usize::try_from(USES_MAX).unwrap_or(0);
    let is_cut = flags.len() > most || segments.len() > most;
    let flag = |flag: store::attribute::UsingFlag| {
        let environments = flag.environments.iter().map(|key| key.parse()).collect::<Result<_, _>>();
        Ok::<_, AppError>(AttributeFlag {
            flag: flag.key.parse().map_err(AppError::internal)?,
            name: flag.name,
            environments: environments.map_err(AppError::internal)?,
        })
    };
    let segments = segments.iter().take(most).map(|key| key.parse()).collect::<Result<_, _>>();
    Ok(AttributeUses {
        name: name.to_owned(),
        registered,
        flags: flags.into_iter().take(most).map(flag).collect::<Result<_, _>>()?,
        segments: segments.map_err(AppError::internal)?,
        is_cut,
    })
}

/// Registers an attribute.
pub async fn create(state: &AppState, who: &InProject, body: Attribute) -> Result<AttributeDetail, AppError> {
    let mut tx = state.pool.begin().await?;
    create_in(state, &mut tx, who, &body).await?;
    tx.commit().await?;
    found(state, who.id(), &body.name).await
}

/// The same in a transaction of the caller, who commits.
pub(super) async fn create_in(
    state: &AppState,
    tx: &mut PgConnection,
    who: &InProject,
    new: &Attribute,
) -> Result<(), AppError> {
    new.validate().map_err(AppError::Invalid)?;
    let most = i64::try_from(ATTRIBUTES_MAX).unwrap_or(i64::MAX);
    let (id, at) = (state.clock.id(), state.clock.now());
    let added = store::attribute::insert(tx, who.id(), id, new, who.actor.user, at, most).await.map_err(|error| {
        if error.is_conflict("attributes_name_unique") {
            AppError::Exists { noun: "attribute", key: new.name.clone() }
        } else {
            error.into()
        }
    })?;
    if !added {
        let message = format!("a project registers at most {ATTRIBUTES_MAX} attributes; remove one first");
        return Err(AppError::field("name", message));
    }
    note(state, tx, who, "attribute.created", new).await
}

/// Changes a registered attribute.
pub async fn update(
    state: &AppState,
    who: &InProject,
    name: String,
    version: u64,
    body: UpdateAttribute,
) -> Result<AttributeDetail, AppError> {
    let UpdateAttribute { value_type, suggestions, description } = body;
    let attribute = Attribute { name, value_type, suggestions, description };
    let mut tx = state.pool.begin().await?;
    update_in(state, &mut tx, who, &attribute, version).await?;
    tx.commit().await?;
    found(state, who.id(), &attribute.name).await
}

/// The same in a transaction of the caller, who commits.
pub(super) async fn update_in(
    state: &AppState,
    tx: &mut PgConnection,
    who: &InProject,
    attribute: &Attribute,
    expected: u64,
) -> Result<(), AppError> {
    attribute.validate().map_err(AppError::Invalid)?;
    let at = state.clock.now();
    if !store::attribute::update(tx, who.id(), attribute, expected, who.actor.user, at).await? {
        let known = store::attribute::list(tx, who.id(), Some(&attribute.name)).await?.pop();
        let actual = known.ok_or_else(|| AppError::not_found("attribute", &attribute.name))?.version;
        return Err(AppError::Stale { noun: "attribute", expected, actual });
    }
    note(state, tx, who, "attribute.updated", attribute).await
}

/// Takes an attribute out of the register; rules that look at it stay as they are.
pub async fn delete(state: &AppState, who: &InProject, name: &str) -> Result<(), AppError> {
    let mut tx = state.pool.begin().await?;
    delete_in(state, &mut tx, who, name).await?;
    tx.commit().await?;
    Ok(())
}

/// The same in a transaction of the caller, who commits.
pub(super) async fn delete_in(
    state: &AppState,
    tx: &mut PgConnection,
    who: &InProject,
    name: &str,
) -> Result<(), AppError> {
    let known = store::attribute::list(tx, who.id(), Some(name)).await?.pop();
    let known = known.ok_or_else(|| AppError::not_found("attribute", name))?;
    store::attribute::delete(tx, who.id(), name).await?;
    note(state, tx, who, "attribute.deleted", &known.attribute).await
}

async fn found(state: &AppState, project: ProjectId, name: &str) -> Result<AttributeDetail, AppError> {
    let found = list(state, project).await?.items.into_iter().find(|item| item.attribute.name == name);
    found.ok_or_else(|| AppError::not_found("attribute", name))
}

async fn note(
    state: &AppState,
    tx: &mut PgConnection,
    who: &InProject,
    kind: &'static str,
    attribute: &Attribute,
) -> Result<(), AppError> {
    let event = NewEvent {
        at: state.clock.now(),
        actor: Some(who.actor.user),
        via: who.actor.via,
        project: Some(who.id()),
        kind,
        subject: &attribute.name,
        detail: json!({ "type": attribute.value_type, "suggestions": attribute.suggestions.len() }),
    };
    Ok(store::audit::insert(tx, &event).await?)
}

fn compare(registered: Vec<Registered>, used: Vec<Used>) -> AttributeList {
    let unsigned = |count: i64| u64::try_from(count).unwrap_or(0);
    let counts: HashMap<&str, (u64, u64)> =
        used.iter().map(|used| (used.name.as_str(), (unsigned(used.flags), unsigned(used.segments)))).collect();
    let known: HashSet<&str> = registered.iter().map(|known| known.attribute.name.as_str()).collect();
    let is_free = |used: &&Used| !known.contains(used.name.as_str()) && !WELL_KNOWN.contains(&used.name.as_str());
    let free: Vec<&Used> = used.iter().filter(is_free).collect();
    // Names that somebody registered come first: they are what the others should have been.
    let names: Vec<&str> = registered
        .iter()
        .map(|known| known.attribute.name.as_str())
        .chain(free.iter().take(UNREGISTERED_MAX).map(|used| used.name.as_str()))
        .collect();
    let items = registered.iter().map(|known| {
        let (flags, segments) = counts.get(known.attribute.name.as_str()).copied().unwrap_or_default();
        AttributeDetail {
            id: known.id,
            attribute: known.attribute.clone(),
            version: known.version,
            changed_at: known.changed_at.into(),
            changed_by: known.changed_by.clone(),
            flags,
            segments,
            near: near(&known.attribute.name, &names),
        }
    });
    let unregistered = free.iter().take(UNREGISTERED_MAX).map(|used| UnregisteredAttribute {
        name: used.name.clone(),
        flags: unsigned(used.flags),
        segments: unsigned(used.segments),
        near: near(&used.name, &names),
    });
    AttributeList {
        items: items.collect(),
        unregistered: unregistered.collect(),
        is_cut: free.len() > UNREGISTERED_MAX,
    }
}
