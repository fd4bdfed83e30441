//! Making a flag like another one.

use std::collections::{BTreeMap, HashMap};

use shared::model::change::NewFlag;
use shared::model::flag::{FlagConfig, FlagDefinition};
use shared::model::id::RuleId;
use shared::model::key::{EnvironmentKey, FlagKey};
use shared::model::permission::Permission;
use shared::model::rule::Serve;
use shared::wire::api::changeset::ChangesetDetail;
use shared::wire::api::flag::CopyFlag;

use crate::app::flag::create::{new_seed, start_config, submit_new};
use crate::app::flag::find;
use crate::auth::permission::InProject;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;

/// What stands in the place of ids and seeds: the same for what was the same in several environments, so that rules that
/// belonged together, and splits that agreed, still do.
#[derive(Default)]
struct Renewed {
    rules: HashMap<RuleId, RuleId>,
    seeds: HashMap<String, String>,
}

/// Makes a flag like another one; it is its author's.
pub async fn copy(
    state: &AppState,
    who: &InProject,
    source: &FlagKey,
    body: CopyFlag,
) -> Result<ChangesetDetail, AppError> {
    let mut db = state.pool.acquire().await?;
    let flag = find(&mut db, who.id(), source).await?;
    let environments = store::environment::list(&mut db, who.id()).await?;
    let stored = store::config::list(&mut db, &[flag.id]).await?;
    drop(db);
    for (index, key) in body.environments.iter().flatten().enumerate() {
        let field = format!("environments[{index}]");
        let known = environments.iter().find(|environment| environment.key == key.as_str());
        let known = known.ok_or_else(|| AppError::field(&field, format!("environment '{key}' does not exist")))?;
        if !who.permissions.in_environment(known.id, Permission::Edit) {
            return Err(AppError::Forbidden(format!("the permission {} in {key}", Permission::Edit)));
        }
        if !stored.iter().any(|config| config.environment_id == known.id) {
            return Err(AppError::field(&field, format!("'{source}' has no config in {key}")));
        }
    }
    let definition = FlagDefinition { key: body.key, ..flag.definition };
    let (mut renewed, seed) = (Renewed::default(), new_seed());
    let mut configs = BTreeMap::new();
    for environment in &environments {
        if !who.permissions.in_environment(environment.id, Permission::Edit) {
            continue;
        }
        let key: EnvironmentKey = environment.key.parse().map_err(AppError::internal)?;
        let is_wanted = body.environments.as_ref().is_none_or(|wanted| wanted.contains(&key));
        let found = stored.iter().find(|config| config.environment_id == environment.id).filter(|_| is_wanted);
        let config = match found {
            Some(found) => renewed.config(state, found.config.clone(), body.keep_seeds),
            None => start_config(&definition, None, &seed)?,
        };
        configs.insert(key, config);
    }
    let new = NewFlag {
        definition,
        name: body.name,
        description: flag.description,
        tags: flag.tags,
        owner: None,
        lifetime: flag.lifetime,
        configs,
    };
    submit_new(state, who, new, &body.note).await
}

impl Renewed {
    fn config(&mut self, state: &AppState, mut config: FlagConfig, keep_seeds: bool) -> FlagConfig {
        for rule in &mut config.rules {
            rule.id = *self.rules.entry(rule.id).or_insert_with(|| state.clock.id());
        }
        let serves = config.rules.iter_mut().map(|rule| &mut rule.serve).chain([&mut config.default_serve]);
        for serve in serves.filter(|_| !keep_seeds) {
            if let Serve::Split(split) = serve {
                split.seed = self.seeds.entry(split.seed.clone()).or_insert_with(new_seed).clone();
            }
        }
        config
    }
}
