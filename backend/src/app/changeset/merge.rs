//! What a save that came second is told, so that nothing that was typed is lost.

use shared::merge::{Merged, merge};
use shared::model::change::Change;
use shared::model::flag::FlagConfig;
use shared::model::id::ProjectId;
use shared::wire::api::flag::ConfigMerge;

use crate::error::AppError;
use crate::state::AppState;
use crate::store;

/// The same error with what is needed to put both edits together, where history has the config that both began with.
pub async fn explained(state: &AppState, project: ProjectId, change: &Change, stale: AppError) -> AppError {
    let (Change::SaveConfig { version, .. }, AppError::Stale { .. }) = (change, &stale) else { return stale };
    match found(state, project, change).await {
        Ok(Some(merge)) => AppError::StaleConfig { expected: *version, merge: Box::new(merge) },
        Ok(None) => stale,
        Err(error) => error,
    }
}

async fn found(state: &AppState, project: ProjectId, change: &Change) -> Result<Option<ConfigMerge>, AppError> {
    let Change::SaveConfig { flag, environment, version, config: mine } = change else { return Ok(None) };
    // All of one moment, which is as short as can be.
    let mut db = store::begin_bounded(&state.pool).await?;
    let Some(flag) = store::flag::find(&mut db, project, flag.as_str()).await? else { return Ok(None) };
    let environments = store::environment::list(&mut db, project).await?;
    let Some(environment) = environments.iter().find(|known| known.key == environment.as_str()) else {
        return Ok(None);
    };
    let stored = store::config::list(&mut db, &[flag.id]).await?;
    let Some(theirs) = stored.into_iter().find(|stored| stored.environment_id == environment.id) else {
        return Ok(None);
    };
    let base = store::review::config_at(&mut db, environment.id, flag.id, *version).await?;
    let revision = store::review::config_revision(&mut db, environment.id, flag.id).await?;
    // A document of a newer version, or one that history does not have, can be no base.
    let base = base.and_then(|document| serde_json::from_value::<FlagConfig>(document).ok());
    let (Some(base), Some(theirs_revision)) = (base, revision) else { return Ok(None) };
    let Merged { config: merged, conflicts } = merge(&base, &theirs.config, mine);
    Ok(Some(ConfigMerge {
        base,
        theirs: theirs.config,
        merged,
        conflicts,
        theirs_version: theirs.version,
        theirs_revision,
        by: theirs.changed_by,
    }))
}
