//! Pages of flags with the states of all environments.

use std::collections::HashMap;

use shared::model::id::{EnvironmentId, FlagId, ProjectId};
use shared::sentence;
use shared::wire::api::flag::{FlagPage, FlagState, FlagSummary, StateShape, TagList, TagSummary, WaitingChangeset};
use sqlx::PgConnection;

use crate::app;
use crate::app::flag::detail::{ends_at, kill_detail, owner};
use crate::app::flag::query::{FlagQuery, cursor_text, parse};
use crate::auth::permission::InProject;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::config::StoredConfig;
use crate::store::environment::Environment;
use crate::store::flag::{Filter, Flag, Waiting};
use crate::store::kill::Kill;

/// The most changesets shown for one flag.
const WAITING_MAX: usize = 10;

/// What stands around the flags of a page.
struct Around {
    environments: Vec<Environment>,
    configs: HashMap<(FlagId, EnvironmentId), StoredConfig>,
    kills: HashMap<(FlagId, EnvironmentId), Kill>,
    waiting: HashMap<String, Vec<Waiting>>,
}

/// A page of flags with the states of all environments. The number of statements is the same for any number of flags.
pub async fn list(state: &AppState, who: &InProject, query: &FlagQuery) -> Result<FlagPage, AppError> {
    let project = who.id();
    let mut db = state.pool.acquire().await?;
    let environments = store::environment::list(&mut db, project).await?;
    let mut parsed = parse(query, &environments, who.actor.user, state.clock.now())?;
    if parsed.is_stale {
        parsed.filter.only = Some(app::stale::list_ids(state, &mut db, project).await?);
    }
    let after = parsed.after.as_ref();
    let found = store::flag::list(&mut db, project, &parsed.filter, parsed.order, after, parsed.limit).await?;
    let mut flags: HashMap<FlagId, Flag> =
        store::flag::list_by_id(&mut db, project, &found.ids).await?.into_iter().map(|flag| (flag.id, flag)).collect();
    let mut around = Around::find(&mut db, project, environments, &flags).await?;
    // Who asks for all flags has counted them.
    let is_everything = parsed.filter == Filter::default();
    let total = if is_everything { found.matching } else { store::flag::count(&mut db, project).await? };
    let items = found.ids.iter().filter_map(|id| flags.remove(id)).map(|flag| around.summary(flag));
    Ok(FlagPage {
        items: items.collect::<Result<_, _>>()?,
        next: found.next.map(|cursor| cursor_text(&cursor, parsed.order.sort)),
        matching: found.matching,
        total,
    })
}

/// The tags of a project.
pub async fn tags(state: &AppState, project: ProjectId) -> Result<TagList, AppError> {
    let found = store::flag::list_tags(&mut *state.pool.acquire().await?, project).await?;
    Ok(TagList { items: found.into_iter().map(|(tag, flags)| TagSummary { tag, flags }).collect() })
}

impl Around {
    async fn find(
        db: &mut PgConnection,
        project: ProjectId,
        environments: Vec<Environment>,
        flags: &HashMap<FlagId, Flag>,
    ) -> Result<Self, AppError> {
        let ids: Vec<FlagId> = flags.keys().copied().collect();
        let keys: Vec<String> = flags.values().map(|flag| flag.definition.key.to_string()).collect();
        let mut waiting: HashMap<String, Vec<Waiting>> = HashMap::new();
        for found in store::flag::list_waiting(db, project, &keys).await? {
            waiting.entry(found.flag.clone()).or_default().push(found);
        }
        let configs = store::config::list_readable(db, &ids).await?;
        let kills = store::kill::list(db, &ids).await?;
        Ok(Self {
            environments,
            configs: configs.into_iter().map(|config| ((config.flag_id, config.environment_id), config)).collect(),
            kills: kills.into_iter().map(|kill| ((kill.flag_id, kill.environment_id), kill)).collect(),
            waiting,
        })
    }

    fn summary(&mut self, flag: Flag) -> Result<FlagSummary, AppError> {
        let mut states = Vec::with_capacity(self.environments.len());
        for environment in &self.environments {
            let place = (flag.id, environment.id);
            let Some(stored) = self.configs.get(&place) else { continue };
            let kill = self.kills.get(&place);
            states.push(FlagState {
                environment: environment.key.parse().map_err(AppError::internal)?,
                shape: StateShape::of(&stored.config, kill.is_some()),
                brief: sentence::brief(&stored.config, kill.is_some()),
                sentence: sentence::config(&flag.definition, &stored.config, kill.is_some()),
                version: stored.version,
                kill: kill.map(kill_detail),
            });
        }
        let waiting = self.waiting.remove(flag.definition.key.as_str()).unwrap_or_default();
        Ok(FlagSummary {
            ends_at: ends_at(&flag).map(Into::into),
            key: flag.definition.key,
            name: flag.name,
            value_type: flag.definition.value_type,
            kind: flag.definition.kind,
            tags: flag.tags,
            owner: flag.owner.map(owner),
            version: flag.version,
            created_at: flag.created_at.into(),
            archived_at: flag.archived_at.map(Into::into),
            waiting: waiting.into_iter().take(WAITING_MAX).map(waiting_changeset).collect::<Result<_, _>>()?,
            changed_at: flag.changed_at.into(),
            changed_by: flag.changed_by,
            states,
        })
    }
}

fn waiting_changeset(waiting: Waiting) -> Result<WaitingChangeset, AppError> {
    let environment = match waiting.environment.as_str() {
        "" => None,
        key => Some(key.parse().map_err(AppError::internal)?),
    };
    Ok(WaitingChangeset { changeset: waiting.changeset, environment })
}
