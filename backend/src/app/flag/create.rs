//! Making flags.

use std::collections::BTreeMap;

use shared::model::change::{Change, NewFlag};
use shared::model::changeset::{ChangesetState, Note};
use shared::model::flag::{FlagConfig, FlagDefinition};
use shared::model::key::{EnvironmentKey, VariantKey};
use shared::model::permission::Permission;
use shared::model::rule::Serve;
use shared::model::split::{BUCKETS, Split, reallocate};
use shared::model::variant::ValueType;
use shared::wire::api::changeset::{ChangesetDetail, RequestedChangeset};
use shared::wire::api::flag::{CreateFlag, StartState};

use crate::app::changeset::{self, Protection};
use crate::auth::permission::InProject;
use crate::auth::sdk_key::{hex, random_bytes};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;

/// Makes a flag with a config in every environment that its author may edit. Where others have to agree first, its config
/// is put before them as a second changeset; until they do, the flag does not exist there.
pub async fn create(state: &AppState, who: &InProject, body: CreateFlag) -> Result<ChangesetDetail, AppError> {
    body.definition.validate().map_err(|problems| changeset::invalid_at("definition", problems))?;
    let environments = store::environment::list(&mut *state.pool.acquire().await?, who.id()).await?;
    for key in body.start.keys() {
        let environment = environments.iter().find(|environment| environment.key == key.as_str());
        let environment = environment
            .ok_or_else(|| AppError::field(format!("start.{key}"), format!("environment '{key}' does not exist")))?;
        if !who.permissions.in_environment(environment.id, Permission::Edit) {
            return Err(AppError::Forbidden(format!("the permission {} in {key}", Permission::Edit)));
        }
    }
    // One seed for all environments, so that whoever is in the share in staging is in it in production.
    let seed = new_seed();
    let mut configs = BTreeMap::new();
    for environment in &environments {
        if who.permissions.in_environment(environment.id, Permission::Edit) {
            let key: EnvironmentKey = environment.key.parse().map_err(AppError::internal)?;
            let config = start_config(&body.definition, body.start.get(&key), &seed)?;
            configs.insert(key, config);
        }
    }
    let CreateFlag { definition, name, description, tags, owner, lifetime, note, .. } = body;
    let new = NewFlag { definition, name, description, tags, owner, lifetime, configs };
    submit_new(state, who, new, &note).await
}

/// Makes a flag where nobody else has to agree, and asks for its configs where somebody has.
pub(super) async fn submit_new(
    state: &AppState,
    who: &InProject,
    mut new: NewFlag,
    note: &Note,
) -> Result<ChangesetDetail, AppError> {
    let (environments, protection) = {
        let mut db = state.pool.acquire().await?;
        (store::environment::list(&mut db, who.id()).await?, Protection::find(&mut db, who.id()).await?)
    };
    let mut later = Vec::new();
    for environment in environments.iter().filter(|environment| protection.policy(environment.id).is_some()) {
        let key: EnvironmentKey = environment.key.parse().map_err(AppError::internal)?;
        if let Some(config) = new.configs.remove(&key) {
            let flag = new.definition.key.clone();
            later.push(Change::SaveConfig { flag, environment: key, version: 0, config });
        }
    }
    let done = changeset::submit(state, who, vec![Change::CreateFlag(new)], note).await?;
    if later.is_empty() || done.state != ChangesetState::Applied {
        return Ok(done);
    }
    let rest = changeset::submit(state, who, later, note).await?;
    Ok(ChangesetDetail { requested: Some(RequestedChangeset { id: rest.id, environments: rest.environments }), ..done })
}

/// Random text that makes a split independent of all others.
pub(super) fn new_seed() -> String {
    hex(&random_bytes()[..8])
}

/// The config that a new flag starts with.
pub(super) fn start_config(
    flag: &FlagDefinition,
    start: Option<&StartState>,
    seed: &str,
) -> Result<FlagConfig, AppError> {
    let first = flag.variants.first().map(|variant| variant.key.clone());
    let first = first.ok_or_else(|| AppError::field("definition.variants", "a flag needs a variant"))?;
    let is_boolean = flag.value_type == ValueType::Boolean;
    let named = |key: &str| flag.variants.iter().map(|v| &v.key).find(|k| k.as_str() == key).cloned();
    let off = if is_boolean { named("off") } else { flag.variants.last().map(|variant| variant.key.clone()) };
    let on = match start.and_then(|start| start.variant.clone()) {
        Some(variant) => variant,
        None if is_boolean => named("on").unwrap_or(first),
        None => first,
    };
    let default_serve = match (start.and_then(|start| start.share), &off) {
        (Some(share), Some(off)) => Serve::Split(share_of(&on, off, share, seed)?),
        _ => Serve::Variant(on),
    };
    Ok(FlagConfig {
        enabled: start.is_some_and(|start| start.enabled),
        off_variant: off,
        prerequisites: Vec::new(),
        targets: Vec::new(),
        rules: Vec::new(),
        default_serve,
    })
}

fn share_of(on: &VariantKey, off: &VariantKey, share: u32, seed: &str) -> Result<Split, AppError> {
    if share > BUCKETS {
        let message = format!("{share} of {BUCKETS} buckets; a share is at most all of them");
        return Err(AppError::field("start.share", message));
    }
    Ok(Split {
        bucket_by: "targetingKey".into(),
        algorithm: Default::default(),
        seed: seed.to_owned(),
        total: BUCKETS,
        ranges: reallocate(BUCKETS, &[], &[(on.clone(), share), (off.clone(), BUCKETS - share)]),
    })
}
