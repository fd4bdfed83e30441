//! Ending a protection without anybody's approval: for whoever holds the machine, who could change the database anyway.
//! This way it is numbered, chained and stays red in history.

use serde_json::Value;
use shared::model::changeset::{NOTE_CHARS_MAX, Via};

use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::changeset::{Entry, NewChangeset};

/// Ends the protection of an environment; answers the revision.
pub async fn unprotect(state: &AppState, project: &str, environment: &str, reason: &str) -> Result<u64, AppError> {
    let reason = reason.trim();
    if reason.is_empty() || reason.chars().count() > NOTE_CHARS_MAX || reason.contains('\0') {
        return Err(AppError::field("reason", format!("say why in 1 to {NOTE_CHARS_MAX} characters")));
    }
    let mut tx = state.pool.begin().await?;
    let found = store::project::find(&mut tx, project).await?;
    let project = found.ok_or_else(|| AppError::not_found("project", project))?.id;
    store::project::lock(&mut tx, project).await?;
    let environments = store::environment::list(&mut tx, project).await?;
    let known = environments.into_iter().find(|known| known.key == environment);
    let known = known.ok_or_else(|| AppError::not_found("environment", environment))?;
    let stored = store::policy::list_kept(&mut tx, project).await?;
    let stored = stored.into_iter().find(|stored| stored.environment_id == known.id);
    let Some((before, version)) = stored.and_then(|stored| Some((stored.document?, stored.version))) else {
        return Err(AppError::field("environment", format!("{environment} is not protected")));
    };
    let now = state.clock.now();
    store::policy::save(&mut tx, known.id, None, version, None, now).await?;
    let entry = Entry {
        environment: Some(known.id),
        entity: "policy",
        entity_id: Some(known.id.uuid()),
        entity_key: known.key,
        before: Some(before),
        after: None::<Value>,
    };
    let revision = store::changeset::take_revision(&mut tx).await?;
    let new = NewChangeset {
        id: state.clock.id(),
        project: Some(project),
        author: None,
        via: Via::Command,
        note: reason,
        break_glass: Some(reason),
        revision,
        applied_at: now,
    };
    store::changeset::insert(&mut tx, &new, &[entry]).await?;
    tx.commit().await?;
    Ok(revision)
}
