//! What a file would change of flags.
//!
//! A variant comes before what serves it and goes after it, in however many slices: first every flag gets the variants of
//! the file beside those it has, then configs are saved, each after those of the flags it needs, and last the variants go
//! that the file does not hold.

use std::collections::{BTreeMap, BTreeSet};

use shared::model::change::{Change, FlagChange, NewFlag};
use shared::model::flag::FlagConfig;
use shared::model::key::{EnvironmentKey, FlagKey};
use shared::model::variant::Variant;
use shared::sentence;
use shared::wire::api::import::{ImportAction, ImportNoun};
use shared::wire::project_file::FileFlag;

use crate::app::exchange::current::CurrentFlag;
use crate::app::exchange::diff::{Comparison, renamed};
use crate::app::exchange::order::order;

/// What is to be saved once all flags exist with all variants.
#[derive(Default)]
struct Later {
    /// By environment and flag, with the version that is replaced.
    configs: BTreeMap<EnvironmentKey, BTreeMap<FlagKey, (u64, FlagConfig)>>,
    /// Flags whose new variants wait for others to agree, and so does what may serve them; with where.
    waiting: BTreeMap<FlagKey, BTreeSet<EnvironmentKey>>,
    /// Flags that lose variants.
    narrow: Vec<Narrow>,
}

/// A flag that loses variants once nothing serves them.
struct Narrow {
    flag: FlagKey,
    /// Of the flag by then.
    version: u64,
    variants: Vec<Variant>,
    /// Protected environments where it has a config.
    touched: BTreeSet<EnvironmentKey>,
}

/// Notes what happens to flags and by which changes.
pub(super) fn compare(comparison: &mut Comparison<'_>) {
    let mut later = Later::default();
    let mut flags: Vec<&FileFlag> = comparison.file.flags.iter().collect();
    flags.sort_by_key(|flag| &flag.definition.key);
    for flag in flags {
        match comparison.current.flags.get(&flag.definition.key) {
            None => create(comparison, flag, &mut later),
            Some(known) => change(comparison, flag, known, &mut later),
        }
    }
    save_configs(comparison, &mut later);
    for Narrow { flag, version, variants, mut touched } in later.narrow {
        // Whoever served or needed one of them may do so until what waits is applied.
        touched.extend(comparison.waits.iter().cloned());
        let update = FlagChange { variants: Some(variants), ..FlagChange::default() };
        comparison.change(Change::UpdateFlag { flag, version, update }, &touched);
    }
}

/// Archives what the file does not hold, whoever needs another flag before that one.
pub(super) fn remove(comparison: &mut Comparison<'_>) {
    let (file, current) = (comparison.file, comparison.current);
    let kept: BTreeSet<&FlagKey> = file.flags.iter().map(|flag| &flag.definition.key).collect();
    let gone = current.flags.iter().filter(|(key, _)| !kept.contains(key));
    let needs = |known: &CurrentFlag| -> Vec<FlagKey> {
        known.configs.values().flat_map(|(config, _)| needed(config)).cloned().collect()
    };
    let gone: BTreeMap<FlagKey, Vec<FlagKey>> = gone.map(|(key, known)| (key.clone(), needs(known))).collect();
    for flag in order(&gone).into_iter().rev() {
        let Some(known) = current.flags.get(&flag) else { continue };
        let told = vec!["− Archived; it can be restored".into()];
        comparison.item(ImportAction::Remove, ImportNoun::Flag, flag.as_str(), told);
        let configured = known.configs.keys().filter(|key| current.is_protected(key));
        // Whoever needed it may do so until what waits is applied.
        let touched: BTreeSet<EnvironmentKey> = configured.chain(&comparison.waits).cloned().collect();
        comparison.change(Change::ArchiveFlag { flag, version: known.flag.version }, &touched);
    }
}

fn create(comparison: &mut Comparison<'_>, flag: &FileFlag, later: &mut Later) {
    let key = &flag.definition.key;
    let mut told = vec![format!("+ Name: {}", sentence::value(flag.name.trim()))];
    let mut configs = BTreeMap::new();
    for (environment, config) in &flag.environments {
        told.push(format!("+ {environment}: {}", sentence::config(&flag.definition, config, false)));
        if config.prerequisites.is_empty() && !comparison.current.is_protected(environment) {
            configs.insert(environment.clone(), config.clone());
        } else {
            let here = later.configs.entry(environment.clone()).or_default();
            here.insert(key.clone(), (0, config.clone()));
        }
    }
    comparison.item(ImportAction::Create, ImportNoun::Flag, key.as_str(), told);
    let FileFlag { definition, name, description, tags, lifetime, .. } = flag.clone();
    // Whoever imports it is whom to ask about it: people are not in the file.
    let new = NewFlag { definition, name, description, tags, owner: None, lifetime, configs };
    comparison.free.push(Change::CreateFlag(new));
}

fn change(comparison: &mut Comparison<'_>, flag: &FileFlag, known: &CurrentFlag, later: &mut Later) {
    let (key, before, after) = (&flag.definition.key, &known.flag.definition, &flag.definition);
    let mut told: Vec<String> = renamed(&known.flag.name, flag.name.trim()).into_iter().collect();
    let words = words(flag, known, &mut told);
    told.extend(sentence::definition_changes(before, after));
    for (environment, config) in &flag.environments {
        let (version, lines) = match known.configs.get(environment) {
            Some((same, _)) if same == config => continue,
            Some((other, version)) => (*version, sentence::changes(other, config)),
            None => (0, vec![format!("+ {}", sentence::config(after, config, false))]),
        };
        told.extend(lines.iter().map(|line| format!("{environment}: {line}")));
        later.configs.entry(environment.clone()).or_default().insert(key.clone(), (version, config.clone()));
    }
    for environment in known.configs.keys().filter(|key| !flag.environments.contains_key(*key)) {
        comparison.note(format!("{key} has a config in {environment} that the file does not hold; it stays"));
    }
    let mut version = known.flag.version;
    if let Some(update) = words {
        comparison.free.push(Change::UpdateFlag { flag: key.clone(), version, update });
        version += 1;
    }
    let gone = before.variants.iter().filter(|v| !after.variants.iter().any(|w| w.key == v.key));
    let widened: Vec<Variant> = after.variants.iter().chain(gone).cloned().collect();
    let is_narrow = widened.len() > after.variants.len();
    let mut update = FlagChange {
        kind: (before.kind != after.kind).then_some(after.kind),
        client_visible: (before.client_visible != after.client_visible).then_some(after.client_visible),
        ..FlagChange::default()
    };
    // Without the order, which the last change sets.
    let adds = after.variants.iter().any(|variant| !before.variants.contains(variant));
    if adds || (!is_narrow && before.variants != after.variants) {
        update.variants = Some(widened);
    }
    let configured = known.configs.keys().filter(|key| comparison.current.is_protected(key));
    let touched: BTreeSet<EnvironmentKey> = configured.cloned().collect();
    if update != FlagChange::default() {
        if !touched.is_empty() && update.variants.is_some() {
            later.waiting.insert(key.clone(), touched.clone());
        }
        comparison.change(Change::UpdateFlag { flag: key.clone(), version, update }, &touched);
        version += 1;
    }
    if is_narrow {
        let variants = after.variants.clone();
        later.narrow.push(Narrow { flag: key.clone(), version, variants, touched });
    }
    comparison.item(ImportAction::Change, ImportNoun::Flag, key.as_str(), told);
}

/// What changes of a flag that only people read.
fn words(flag: &FileFlag, known: &CurrentFlag, told: &mut Vec<String>) -> Option<FlagChange> {
    let listed = |tags: &[String]| if tags.is_empty() { "none".to_owned() } else { tags.join(", ") };
    if known.flag.description != flag.description {
        told.push("~ Description changed".into());
    }
    if known.flag.tags != flag.tags {
        told.push(format!("~ Tags: {} → {}", listed(&known.flag.tags), listed(&flag.tags)));
    }
    if known.flag.lifetime != flag.lifetime {
        told.push("~ Lifetime changed".into());
    }
    let name = flag.name.trim();
    let update = FlagChange {
        name: (known.flag.name != name).then(|| name.to_owned()),
        description: (known.flag.description != flag.description).then(|| flag.description.clone()),
        tags: (known.flag.tags != flag.tags).then(|| flag.tags.clone()),
        lifetime: (known.flag.lifetime != flag.lifetime).then_some(flag.lifetime),
        ..FlagChange::default()
    };
    (update != FlagChange::default()).then_some(update)
}

/// Saves configs environment by environment, each after those of the flags it needs.
fn save_configs(comparison: &mut Comparison<'_>, later: &mut Later) {
    let (file, current) = (comparison.file, comparison.current);
    for (environment, mut configs) in std::mem::take(&mut later.configs) {
        let mut needs: BTreeMap<&FlagKey, Vec<&FlagKey>> = BTreeMap::new();
        for (key, known) in &current.flags {
            if let Some((config, _)) = known.configs.get(&environment) {
                needs.insert(key, needed(config));
            }
        }
        for flag in &file.flags {
            if let Some(config) = flag.environments.get(&environment) {
                needs.insert(&flag.definition.key, needed(config));
            }
        }
        let is_protected = comparison.current.is_protected(&environment);
        // Flags whose config here waits, with what it waits for.
        let mut waiting: BTreeMap<FlagKey, BTreeSet<EnvironmentKey>> = later.waiting.clone();
        for key in order(&needs) {
            let Some((version, config)) = configs.remove(key) else { continue };
            let mut touched = waiting.get(key).cloned().unwrap_or_default();
            touched
                .extend(config.prerequisites.iter().filter_map(|needed| waiting.get(&needed.flag)).flatten().cloned());
            if is_protected {
                touched.insert(environment.clone());
            }
            if !touched.is_empty() {
                waiting.insert(key.clone(), touched.clone());
            }
            let save = Change::SaveConfig { flag: key.clone(), environment: environment.clone(), version, config };
            comparison.change(save, &touched);
        }
    }
}

fn needed(config: &FlagConfig) -> Vec<&FlagKey> {
    config.prerequisites.iter().map(|prerequisite| &prerequisite.flag).collect()
}
