//! One action on many flags: planned for each, then applied as one changeset.

use std::collections::{HashMap, HashSet};

use shared::model::change::{CHANGES_MAX, Change, FlagChange};
use shared::model::changeset::ChangesetState;
use shared::model::id::{EnvironmentId, FlagId};
use shared::model::key::EnvironmentKey;
use shared::model::problem::Problems;
use shared::wire::api::bulk::{BulkAction, BulkChange, BulkFlag, BulkFlagResult, BulkOutcome, BulkResult};

use crate::app::changeset;
use crate::auth::permission::InProject;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::config::StoredConfig;
use crate::store::environment::Environment;
use crate::store::flag::Flag;

/// Documents of all flags that are named.
struct Known {
    environments: Vec<Environment>,
    flags: HashMap<String, Flag>,
    configs: HashMap<(FlagId, EnvironmentId), StoredConfig>,
    killed: HashSet<(FlagId, EnvironmentId)>,
}

/// What is to be done with one flag.
#[derive(Default)]
struct Plan {
    changes: Vec<Change>,
    /// What happens, in words.
    done: Vec<String>,
    /// What need not happen, in words.
    skipped: Vec<String>,
}

/// Does one thing with many flags, all or none; those that need nothing are skipped and told.
pub async fn bulk(state: &AppState, who: &InProject, body: BulkChange) -> Result<BulkResult, AppError> {
    if body.flags.is_empty() || body.flags.len() > CHANGES_MAX {
        let message = format!("{} flags; 1 to {CHANGES_MAX} can be changed at once", body.flags.len());
        return Err(AppError::field("flags", message));
    }
    let known = Known::find(state, who, &body.flags).await?;
    known.check_action(&body.action)?;
    let mut problems = Problems::default();
    let mut plans = Vec::with_capacity(body.flags.len());
    let mut seen = HashSet::new();
    for (index, wanted) in body.flags.iter().enumerate() {
        if !seen.insert(&wanted.key) {
            problems.add(format_args!("flags[{index}].key"), format!("'{}' is there twice", wanted.key));
            continue;
        }
        match known.flags.get(wanted.key.as_str()).filter(|flag| flag.archived_at.is_none()) {
            None => problems.add(format_args!("flags[{index}].key"), format!("flag '{}' does not exist", wanted.key)),
            Some(flag) if flag.version != wanted.version => {
                problems.add(format_args!("flags[{index}].version"), stale(&wanted.key, wanted.version, flag.version));
            }
            Some(flag) => plans.push(known.plan(index, wanted, flag, &body.action, &mut problems)),
        }
    }
    problems.into_result().map_err(AppError::Invalid)?;
    let changes: Vec<Change> = plans.iter().flat_map(|plan| plan.changes.iter().cloned()).collect();
    if changes.len() > CHANGES_MAX {
        let message = format!("{} changes; at most {CHANGES_MAX} fit into one changeset: choose fewer", changes.len());
        return Err(AppError::field("flags", message));
    }
    let changeset = match changes.is_empty() {
        true => None,
        false => Some(changeset::submit(state, who, changes, &body.note).await?),
    };
    let is_applied = changeset.as_ref().is_some_and(|done| done.state == ChangesetState::Applied);
    let results = body.flags.into_iter().zip(plans).map(|(flag, plan)| plan.result(flag, is_applied)).collect();
    Ok(BulkResult { changeset, results })
}

impl Known {
    async fn find(state: &AppState, who: &InProject, wanted: &[BulkFlag]) -> Result<Self, AppError> {
        let mut db = state.pool.acquire().await?;
        let keys: Vec<String> = wanted.iter().map(|flag| flag.key.to_string()).collect();
        let environments = store::environment::list(&mut db, who.id()).await?;
        let flags = store::flag::list_by_key(&mut db, who.id(), &keys).await?;
        let ids: Vec<FlagId> = flags.iter().map(|flag| flag.id).collect();
        let configs = store::config::list(&mut db, &ids).await?;
        let kills = store::kill::list(&mut db, &ids).await?;
        Ok(Self {
            environments,
            flags: flags.into_iter().map(|flag| (flag.definition.key.to_string(), flag)).collect(),
            configs: configs.into_iter().map(|found| ((found.flag_id, found.environment_id), found)).collect(),
            killed: kills.into_iter().map(|kill| (kill.flag_id, kill.environment_id)).collect(),
        })
    }

    fn environment(&self, key: &EnvironmentKey) -> Option<EnvironmentId> {
        Some(self.environments.iter().find(|environment| environment.key == key.as_str())?.id)
    }

    /// Fails when the action makes no sense, whatever the flags.
    fn check_action(&self, action: &BulkAction) -> Result<(), AppError> {
        let check = |field: String, key: &EnvironmentKey| match self.environment(key) {
            Some(_) => Ok(()),
            None => Err(AppError::field(field, format!("environment '{key}' does not exist"))),
        };
        match action {
            BulkAction::TurnOn { environments } | BulkAction::TurnOff { environments } => {
                if environments.is_empty() {
                    return Err(AppError::field("action.environments", "name at least one environment"));
                }
                let mut keys = environments.iter().enumerate();
                keys.try_for_each(|(index, key)| check(format!("action.environments[{index}]"), key))
            }
            BulkAction::CopyConfig { from, to } => {
                if from == to {
                    return Err(AppError::field("action.to", format!("'{to}' is where it comes from")));
                }
                check("action.from".into(), from)?;
                check("action.to".into(), to)
            }
            BulkAction::AddTags { tags } | BulkAction::RemoveTags { tags } if tags.is_empty() => {
                Err(AppError::field("action.tags", "name at least one tag"))
            }
            _ => Ok(()),
        }
    }

    fn plan(&self, index: usize, wanted: &BulkFlag, flag: &Flag, action: &BulkAction, problems: &mut Problems) -> Plan {
        for (environment, seen) in &wanted.configs {
            let stored = self.environment(environment).and_then(|id| self.configs.get(&(flag.id, id)));
            let version = stored.map_or(0, |stored| stored.version);
            if version != *seen {
                let message = stale(format!("{} in {environment}", wanted.key), *seen, version);
                problems.add(format_args!("flags[{index}].configs.{environment}"), message);
            }
        }
        let mut plan = Plan::default();
        match action {
            BulkAction::TurnOn { environments } => self.turn(&mut plan, flag, environments, true),
            BulkAction::TurnOff { environments } => self.turn(&mut plan, flag, environments, false),
            BulkAction::CopyConfig { from, to } => self.copy_config(&mut plan, flag, from, to),
            BulkAction::Archive => {
                plan.change(Change::ArchiveFlag { flag: wanted.key.clone(), version: flag.version }, "archived");
            }
            BulkAction::AddTags { tags } => {
                let added: Vec<&String> = tags.iter().filter(|tag| !flag.tags.contains(tag)).collect();
                let all = flag.tags.iter().chain(added.iter().copied()).cloned().collect();
                plan.tag(flag, all, "tagged", "has them already", &added);
            }
            BulkAction::RemoveTags { tags } => {
                let gone: Vec<&String> = tags.iter().filter(|tag| flag.tags.contains(tag)).collect();
                let all = flag.tags.iter().filter(|tag| !gone.contains(tag)).cloned().collect();
                plan.tag(flag, all, "no longer tagged", "has none of them", &gone);
            }
            BulkAction::SetOwner { owner } => match &flag.owner {
                Some(known) if known.id == *owner => plan.skipped.push(format!("{} owns it already", known.name)),
                _ => {
                    let update = FlagChange { owner: Some(*owner), ..FlagChange::default() };
                    plan.update(flag, update, "has another owner");
                }
            },
        }
        plan
    }

    fn turn(&self, plan: &mut Plan, flag: &Flag, environments: &[EnvironmentKey], on: bool) {
        let word = if on { "on" } else { "off" };
        let mut seen = HashSet::new();
        for key in environments.iter().filter(|key| seen.insert(*key)) {
            let Some(id) = self.environment(key) else { continue };
            match self.configs.get(&(flag.id, id)) {
                None => plan.skipped.push(format!("has no config in {key}")),
                Some(stored) if stored.config.enabled == on => plan.skipped.push(format!("{word} already in {key}")),
                Some(stored) => {
                    let mut config = stored.config.clone();
                    config.enabled = on;
                    let is_killed = on && self.killed.contains(&(flag.id, id));
                    let but = if is_killed { ", where it is killed until somebody lifts that" } else { "" };
                    let (flag, environment) = (flag.definition.key.clone(), key.clone());
                    let change = Change::SaveConfig { flag, environment, version: stored.version, config };
                    plan.change(change, format!("turned {word} in {key}{but}"));
                }
            }
        }
    }

    fn copy_config(&self, plan: &mut Plan, flag: &Flag, from: &EnvironmentKey, to: &EnvironmentKey) {
        let find = |key| self.environment(key).and_then(|id| self.configs.get(&(flag.id, id)));
        match (find(from), find(to)) {
            (None, _) => plan.skipped.push(format!("has no config in {from}")),
            (Some(source), Some(target)) if source.config == target.config => {
                plan.skipped.push(format!("the same already in {to}"));
            }
            (Some(source), target) => {
                let change = Change::SaveConfig {
                    flag: flag.definition.key.clone(),
                    environment: to.clone(),
                    version: target.map_or(0, |target| target.version),
                    config: source.config.clone(),
                };
                plan.change(change, format!("set up in {to} as in {from}"));
            }
        }
    }
}

impl Plan {
    fn change(&mut self, change: Change, sentence: impl Into<String>) {
        self.changes.push(change);
        self.done.push(sentence.into());
    }

    fn update(&mut self, flag: &Flag, update: FlagChange, sentence: impl Into<String>) {
        let (key, version) = (flag.definition.key.clone(), flag.version);
        self.change(Change::UpdateFlag { flag: key, version, update }, sentence);
    }

    fn tag(&mut self, flag: &Flag, all: Vec<String>, done: &str, skipped: &str, changed: &[&String]) {
        if changed.is_empty() {
            self.skipped.push(skipped.into());
            return;
        }
        let words: Vec<&str> = changed.iter().map(|tag| tag.as_str()).collect();
        let update = FlagChange { tags: Some(all), ..FlagChange::default() };
        self.update(flag, update, format!("{done} {}", words.join(", ")));
    }

    fn result(self, flag: BulkFlag, is_applied: bool) -> BulkFlagResult {
        let outcome = match (self.changes.is_empty(), is_applied) {
            (true, _) => BulkOutcome::Skipped,
            (false, true) => BulkOutcome::Applied,
            (false, false) => BulkOutcome::Requested,
        };
        let sentence = self.done.into_iter().chain(self.skipped).collect::<Vec<_>>().join("; ");
        let sentence = match outcome {
            BulkOutcome::Requested => format!("waits for people to agree: {sentence}"),
            _ => sentence,
        };
        BulkFlagResult { key: flag.key, outcome, sentence }
    }
}

/// Why something that was seen cannot be acted on.
pub(super) fn stale(thing: impl std::fmt::Display, seen: u64, now: u64) -> String {
    format!("'{thing}' was changed meanwhile: you saw version {seen}, now it is {now}; read it again")
}
