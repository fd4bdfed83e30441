//! What a person does with flags.

use std::collections::{BTreeMap, HashMap};

use shared::model::change::{Change, FlagChange, NewFlag};
use shared::model::changeset::{ChangesetState, Note};
use shared::model::flag::{FlagConfig, FlagDefinition};
use shared::model::id::{EnvironmentId, FlagId, ProjectId};
use shared::model::key::{EnvironmentKey, FlagKey, VariantKey};
use shared::model::permission::Permission;
use shared::model::rule::Serve;
use shared::model::split::{BUCKETS, Split, reallocate};
use shared::model::variant::ValueType;
use shared::sentence;
use shared::wire::api::changeset::{ChangesetDetail, RequestedChangeset};
use shared::wire::api::flag::{
    CreateFlag, FlagDetail, FlagEnvironment, FlagPage, FlagState, FlagSummary, KillDetail, KillFlag, SaveConfig,
    StartState, StateShape, UpdateFlag,
};
use shared::wire::state::{Entity, StateKey};
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::app::changeset::{self, KillOrder, Protection};
use crate::auth::permission::InProject;
use crate::auth::sdk_key::{hex, random_bytes};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::config::StoredConfig;
use crate::store::environment::Environment;
use crate::store::flag::{After, Filter, Flag, Listed};
use crate::store::kill::Kill;

/// The longest reason of a kill, in characters.
const REASON_CHARS_MAX: usize = 500;

/// Makes a flag with a config in every environment that its author may edit. Where others have to agree first, its config
/// is put before them as a second changeset; until they do, the flag does not exist there.
pub async fn create(state: &AppState, who: &InProject, body: CreateFlag) -> Result<ChangesetDetail, AppError> {
    body.definition.validate().map_err(|problems| changeset::invalid_at("definition", problems))?;
    let (environments, protection) = {
        let mut db = state.pool.acquire().await?;
        (store::environment::list(&mut db, who.id()).await?, Protection::find(&mut db, who.id()).await?)
    };
    for key in body.start.keys() {
        let environment = environments.iter().find(|environment| environment.key == key.as_str());
        let environment = environment
            .ok_or_else(|| AppError::field(format!("start.{key}"), format!("environment '{key}' does not exist")))?;
        if !who.permissions.in_environment(environment.id, Permission::Edit) {
            return Err(AppError::Forbidden(format!("the permission {} in {key}", Permission::Edit)));
        }
    }
    // One seed for all environments, so that whoever is in the share in staging is in it in production.
    let seed = hex(&random_bytes()[..8]);
    let (mut now, mut later) = (BTreeMap::new(), Vec::new());
    for environment in &environments {
        if !who.permissions.in_environment(environment.id, Permission::Edit) {
            continue;
        }
        let key: EnvironmentKey = environment.key.parse().map_err(AppError::internal)?;
        let config = start_config(&body.definition, body.start.get(&key), &seed)?;
        if protection.policy(environment.id).is_some() {
            let flag = body.definition.key.clone();
            later.push(Change::SaveConfig { flag, environment: key, version: 0, config });
        } else {
            now.insert(key, config);
        }
    }
    let CreateFlag { definition, name, description, tags, note, .. } = body;
    let new = NewFlag { definition, name, description, tags, configs: now };
    let done = changeset::submit(state, who, vec![Change::CreateFlag(new)], &note).await?;
    if later.is_empty() || done.state != ChangesetState::Applied {
        return Ok(done);
    }
    let rest = changeset::submit(state, who, later, &note).await?;
    Ok(ChangesetDetail { requested: Some(RequestedChangeset { id: rest.id, environments: rest.environments }), ..done })
}

/// Changes what is the same in every environment.
pub async fn update(
    state: &AppState,
    who: &InProject,
    flag: FlagKey,
    version: u64,
    body: UpdateFlag,
) -> Result<ChangesetDetail, AppError> {
    let UpdateFlag { name, description, tags, kind, client_visible, variants, note } = body;
    let update = FlagChange { name, description, tags, kind, client_visible, variants };
    changeset::submit(state, who, vec![Change::UpdateFlag { flag, version, update }], &note).await
}

/// Replaces a flag's config in one environment.
pub async fn save_config(
    state: &AppState,
    who: &InProject,
    place: (FlagKey, EnvironmentKey),
    version: u64,
    body: SaveConfig,
) -> Result<ChangesetDetail, AppError> {
    let (flag, environment) = place;
    let change = Change::SaveConfig { flag, environment, version, config: body.config };
    match changeset::submit(state, who, vec![change.clone()], &body.note).await {
        Err(stale @ AppError::Stale { .. }) => Err(changeset::explained(state, who.id(), &change, stale).await),
        done => done,
    }
}

/// Turns a flag off at once, whatever its config says.
pub async fn kill(
    state: &AppState,
    who: &InProject,
    key: &FlagKey,
    body: KillFlag,
) -> Result<ChangesetDetail, AppError> {
    let reason = body.reason.trim().to_owned();
    let length = reason.chars().count();
    if length == 0 || length > REASON_CHARS_MAX || reason.contains('\0') {
        return Err(AppError::field("reason", format!("a reason has 1 to {REASON_CHARS_MAX} characters")));
    }
    let until = body.until.map(OffsetDateTime::from);
    if until.is_some_and(|until| until <= state.clock.now()) {
        return Err(AppError::field("until", "the time has passed already; choose a later one or leave it out"));
    }
    let (flag, environments) = place(state, who, key, &body.environments).await?;
    let note = Note::try_from(reason.clone()).map_err(AppError::internal)?;
    let order = KillOrder::Kill { reason, until };
    changeset::set_killed(state, who.id(), &who.actor, (flag, key.as_str()), &environments, &order, &note).await
}

/// Lifts a kill; the flag answers again what its config says.
pub async fn restore(
    state: &AppState,
    who: &InProject,
    key: &FlagKey,
    environment: EnvironmentKey,
    note: &Note,
) -> Result<ChangesetDetail, AppError> {
    let (flag, environments) = place(state, who, key, &[environment]).await?;
    changeset::set_killed(state, who.id(), &who.actor, (flag, key.as_str()), &environments, &KillOrder::Lift, note)
        .await
}

/// A flag with everything about it.
pub async fn detail(state: &AppState, project: ProjectId, key: &FlagKey) -> Result<FlagDetail, AppError> {
    let mut db = state.pool.acquire().await?;
    let flag = find(&mut db, project, key).await?;
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
        definition: flag.definition,
        name: flag.name,
        description: flag.description,
        tags: flag.tags,
        created_by: flag.created_by,
        created_at: flag.created_at.into(),
        version: flag.version,
        environments: items,
    })
}

/// A page of flags with the states of all environments.
pub async fn list(
    state: &AppState,
    project: ProjectId,
    filter: &Filter,
    after: Option<&After>,
    by_key: bool,
    limit: usize,
) -> Result<FlagPage, AppError> {
    let mut db = state.pool.acquire().await?;
    let limit = i64::try_from(limit).unwrap_or(100);
    let Listed { flags, next } = store::flag::list(&mut db, project, filter, after, by_key, limit).await?;
    let next = next.map(|after| match after {
        After::Key(key) => key,
        After::Changed(at, id) => format!("{}~{id}", at.unix_timestamp_nanos() / 1_000),
    });
    let ids: Vec<FlagId> = flags.iter().map(|flag| flag.id).collect();
    let environments = store::environment::list(&mut db, project).await?;
    let configs = by_place(store::config::list_readable(&mut db, &ids).await?, |c| (c.flag_id, c.environment_id));
    let kills = by_place(store::kill::list(&mut db, &ids).await?, |k| (k.flag_id, k.environment_id));
    let items = flags.into_iter().map(|flag| summary(flag, &environments, &configs, &kills));
    Ok(FlagPage {
        items: items.collect::<Result<_, _>>()?,
        next,
        matching: store::flag::count(&mut db, project, filter).await?,
        total: store::flag::count(&mut db, project, &Filter::default()).await?,
    })
}

/// Where a page begins, from the text of the page before.
pub fn parse_after(text: &str, by_key: bool) -> Result<After, AppError> {
    let wrong = || AppError::field("after", format!("'{text}' is not a page; use `next` of the page before"));
    if by_key {
        return text.parse::<FlagKey>().map(|key| After::Key(key.to_string())).map_err(|_| wrong());
    }
    let parse = || {
        let (micros, id) = text.split_once('~')?;
        let nanos = i128::from(micros.parse::<i64>().ok()?) * 1_000;
        Some(After::Changed(OffsetDateTime::from_unix_timestamp_nanos(nanos).ok()?, id.parse().ok()?))
    };
    parse().ok_or_else(wrong)
}

/// Finds a flag or says that there is none.
pub async fn find(db: &mut PgConnection, project: ProjectId, key: &FlagKey) -> Result<Flag, AppError> {
    store::flag::find(db, project, key.as_str()).await?.ok_or_else(|| AppError::not_found("flag", key))
}

/// What most users get while the flag is not killed, as stored in a column.
pub(super) fn shape_text(config: &FlagConfig) -> &'static str {
    match StateShape::of(config, false) {
        StateShape::On => "on",
        StateShape::Part => "part",
        StateShape::Off | StateShape::Killed => "off",
    }
}

/// The config that a new flag starts with.
fn start_config(flag: &FlagDefinition, start: Option<&StartState>, seed: &str) -> Result<FlagConfig, AppError> {
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

/// The flag, and the environments in which the person may kill.
async fn place(
    state: &AppState,
    who: &InProject,
    key: &FlagKey,
    environments: &[EnvironmentKey],
) -> Result<(FlagId, Vec<EnvironmentId>), AppError> {
    if environments.is_empty() {
        return Err(AppError::field("environments", "name at least one environment"));
    }
    let mut db = state.pool.acquire().await?;
    let flag = find(&mut db, who.id(), key).await?;
    let known: BTreeMap<String, EnvironmentId> =
        store::environment::list(&mut db, who.id()).await?.into_iter().map(|e| (e.key, e.id)).collect();
    let mut ids = Vec::with_capacity(environments.len());
    for key in environments {
        let id = known.get(key.as_str()).ok_or_else(|| AppError::not_found("environment", key))?;
        if !who.permissions.in_environment(*id, Permission::Kill) {
            return Err(AppError::Forbidden(format!("the permission {} in {key}", Permission::Kill)));
        }
        if !ids.contains(id) {
            ids.push(*id);
        }
    }
    // Always in the same order, so that two kills never wait for each other.
    ids.sort_unstable();
    Ok((flag.id, ids))
}

fn by_place<T>(items: Vec<T>, place: impl Fn(&T) -> (FlagId, EnvironmentId)) -> HashMap<(FlagId, EnvironmentId), T> {
    items.into_iter().map(|item| (place(&item), item)).collect()
}

fn summary(
    flag: Flag,
    environments: &[Environment],
    configs: &HashMap<(FlagId, EnvironmentId), StoredConfig>,
    kills: &HashMap<(FlagId, EnvironmentId), Kill>,
) -> Result<FlagSummary, AppError> {
    let mut states = Vec::with_capacity(environments.len());
    for environment in environments {
        let place = (flag.id, environment.id);
        let Some(stored) = configs.get(&place) else { continue };
        let is_killed = kills.contains_key(&place);
        states.push(FlagState {
            environment: environment.key.parse().map_err(AppError::internal)?,
            shape: StateShape::of(&stored.config, is_killed),
            brief: sentence::brief(&stored.config, is_killed),
            sentence: sentence::config(&flag.definition, &stored.config, is_killed),
            version: stored.version,
        });
    }
    Ok(FlagSummary {
        key: flag.definition.key,
        name: flag.name,
        value_type: flag.definition.value_type,
        kind: flag.definition.kind,
        tags: flag.tags,
        changed_at: flag.changed_at.into(),
        changed_by: flag.changed_by,
        states,
    })
}

fn kill_detail(kill: &Kill) -> KillDetail {
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
