//! One flag with everything about it.

use std::collections::HashMap;

use shared::model::id::{EnvironmentId, FlagId, ProjectId};
use shared::model::key::FlagKey;
use shared::wire::api::flag::{FlagDetail, FlagEnvironment, FlagOwner, KillDetail};
use shared::wire::state::{Entity, StateKey};
use time::{Duration, OffsetDateTime};

use crate::app::flag::find_any;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::flag::{Flag, Owner};
use crate::store::kill::Kill;

/// A flag with everything about it, archived or not.
pub async fn detail(state: &AppState, project: ProjectId, key: &FlagKey) -> Result<FlagDetail, AppError> {
    let mut db = state.pool.acquire().await?;
    let flag = find_any(&mut db, project, key).await?;
    let environments = store::environment::list(&mut db, project).await?;
    let configs = store::config::list_readable(&mut db, &[flag.id]).await?;
    let kills = store::kill::list(&mut db, &[flag.id]).await?;
    let keys: Vec<String> = environments.iter().map(|e| flag_state_key(e.id, flag.id)).collect();
    let revisions: HashMap<String, u64> =
        store::state::list_flag_revisions(&mut db, &keys).await?.into_iter().collect();
    let mut items = Vec::with_capacity(environments.len());
    for environment in environments {
        let Some(stored) = configs.iter().find(|config| config.environment_id == environment.id) else { continue };
        let kill = kills.iter().find(|kill| kill.environment_id == environment.id);
        items.push(FlagEnvironment {
            environment: environment.key.parse().map_err(AppError::internal)?,
            config: stored.config.clone(),
            version: stored.version,
            revision: revisions.get(&flag_state_key(environment.id, flag.id)).copied().unwrap_or(0),
            kill: kill.map(kill_detail),
            changed_at: stored.changed_at.into(),
            changed_by: stored.changed_by.clone(),
            note: stored.note.clone(),
        });
    }
    Ok(FlagDetail {
        id: flag.id,
        ends_at: ends_at(&flag).map(Into::into),
        definition: flag.definition,
        name: flag.name,
        description: flag.description,
        tags: flag.tags,
        owner: flag.owner.map(owner),
        lifetime: flag.lifetime,
        archived_at: flag.archived_at.map(Into::into),
        created_by: flag.created_by,
        created_at: flag.created_at.into(),
        version: flag.version,
        environments: items,
    })
}

/// When a flag should be gone.
pub(super) fn ends_at(flag: &Flag) -> Option<OffsetDateTime> {
    flag.lifetime.days(flag.definition.kind).map(|days| flag.created_at + Duration::days(i64::from(days)))
}

pub(super) fn owner(owner: Owner) -> FlagOwner {
    FlagOwner { id: owner.id, name: owner.name }
}

pub(super) fn kill_detail(kill: &Kill) -> KillDetail {
    KillDetail {
        reason: kill.reason.clone(),
        until: kill.until_at.map(Into::into),
        killed_at: kill.killed_at.into(),
        killed_by: kill.killed_by.clone(),
    }
}

fn flag_state_key(environment: EnvironmentId, flag: FlagId) -> String {
    StateKey { environment, entity: Entity::Flag(flag) }.to_string()
}
