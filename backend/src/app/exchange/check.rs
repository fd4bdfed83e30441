//! Whether a file can be imported at all, each problem with its place in the file. Nothing of a file is applied unless all
//! of it can be.

use std::collections::{BTreeMap, HashMap, HashSet};

use shared::model::attribute::ATTRIBUTES_MAX;
use shared::model::environment::{ENVIRONMENTS_MAX, HUES};
use shared::model::flag::{FlagConfig, FlagDefinition, VARIANTS_MAX};
use shared::model::key::{EnvironmentKey, FlagKey};
use shared::model::lifetime::LIFETIME_DAYS_MAX;
use shared::model::problem::Problems;
use shared::model::reach::Documents;
use shared::model::segment::SegmentDefinition;
use shared::wire::api::metric::METRICS_MAX;
use shared::wire::project_file::{FileFlag, ProjectFile};
use shared::wire::state::{FlagBody, VALUE_BYTES_MAX};

use crate::app::changeset::{check_name, check_texts, published_bytes};
use crate::app::exchange::current::Current;
use crate::error::AppError;
use crate::store;

/// Fails when anything is wrong with the file, or with what the project would be afterwards.
pub(super) fn check(file: &ProjectFile, current: &Current, remove: bool) -> Result<(), AppError> {
    let mut problems = Problems::default();
    environments(file, current, &mut problems);
    segments(file, current, remove, &mut problems)?;
    flags(file, current, &mut problems)?;
    register(file, current, remove, &mut problems)?;
    problems.into_result().map_err(AppError::Invalid)?;
    // Only of what is right by itself can be said what it reaches.
    let mut problems = Problems::default();
    references(file, current, remove, &mut problems);
    problems.into_result().map_err(AppError::Invalid)
}

fn environments(file: &ProjectFile, current: &Current, problems: &mut Problems) {
    let mut seen = HashSet::new();
    for (at, environment) in file.environments.iter().enumerate() {
        if !seen.insert(environment.key.as_str()) {
            problems.add(format_args!("environments[{at}].key"), format!("'{}' is there twice", environment.key));
        }
        named(&format!("environments[{at}]"), &environment.name, problems);
        if !(1..=HUES).contains(&environment.hue) {
            let message = format!("{} is not a hue; choose 1 to {HUES}", environment.hue);
            problems.add(format_args!("environments[{at}].hue"), message);
        }
    }
    seen.extend(current.environments.iter().map(|environment| environment.key.as_str()));
    if seen.len() > ENVIRONMENTS_MAX {
        let message = format!("{} environments with those here; a project has at most {ENVIRONMENTS_MAX}", seen.len());
        problems.add("environments", message);
    }
}

fn segments(file: &ProjectFile, current: &Current, remove: bool, problems: &mut Problems) -> Result<(), AppError> {
    let mut seen = HashSet::new();
    for (at, segment) in file.segments.iter().enumerate() {
        let path = format!("segments[{at}]");
        let key = &segment.definition.key;
        if !seen.insert(key) {
            problems.add(format_args!("{path}.definition.key"), format!("'{key}' is there twice"));
        }
        named(&path, &segment.name, problems);
        problems.add_at(&format!("{path}.definition"), segment.definition.validate());
        size(&format!("{path}.definition"), published_bytes(&segment.definition)?, problems);
    }
    if !remove {
        seen.extend(current.segments.keys());
    }
    let most = usize::try_from(store::segment::LIST_MAX).unwrap_or(usize::MAX);
    if seen.len() > most {
        problems.add("segments", format!("{} segments with those here; a project has at most {most}", seen.len()));
    }
    Ok(())
}

fn flags(file: &ProjectFile, current: &Current, problems: &mut Problems) -> Result<(), AppError> {
    let here = current.environments.iter().map(|environment| environment.key.as_str());
    let known: HashSet<&str> = here.chain(file.environments.iter().map(|e| e.key.as_str())).collect();
    let mut seen = HashSet::new();
    for (at, flag) in file.flags.iter().enumerate() {
        let path = format!("flags[{at}]");
        let key = &flag.definition.key;
        if !seen.insert(key) {
            problems.add(format_args!("{path}.definition.key"), format!("'{key}' is there twice"));
        }
        if current.archived.contains(key.as_str()) {
            let message = format!("flag '{key}' is archived here; restore it first, or take it out of the file");
            problems.add(format_args!("{path}.definition.key"), message);
        }
        problems.add_at(&format!("{path}.definition"), flag.definition.validate());
        match check_texts(&flag.name, &flag.description, &flag.tags) {
            Err(AppError::Invalid(found)) => problems.add_at(&path, Err(found)),
            other => other?,
        }
        if !flag.lifetime.is_valid() {
            let message = format!("a lifetime is usual, permanent, or 1 to {LIFETIME_DAYS_MAX} days");
            problems.add(format_args!("{path}.lifetime"), message);
        }
        against_current(&path, flag, current, problems);
        for (environment, config) in &flag.environments {
            let path = format!("{path}.environments.{environment}");
            if !known.contains(environment.as_str()) {
                let message = format!("there is no environment '{environment}', neither here nor in the file");
                problems.add(&path, message);
            }
            problems.add_at(&path, config.validate(&flag.definition));
            let body = FlagBody { flag: flag.definition.clone(), config: config.clone() };
            size(&path, published_bytes(&body)?, problems);
        }
    }
    Ok(())
}

/// What a flag that exists cannot become, and what its configs here would lose.
fn against_current(path: &str, flag: &FileFlag, current: &Current, problems: &mut Problems) {
    let Some(known) = current.flags.get(&flag.definition.key) else { return };
    let before = &known.flag.definition;
    if before.value_type != flag.definition.value_type {
        let message = "is another type than here; a type cannot change, use another key";
        problems.add(format_args!("{path}.definition.value_type"), message);
        return;
    }
    let added = flag.definition.variants.iter().filter(|v| !before.variants.iter().any(|w| w.key == v.key)).count();
    if before.variants.len() + added > VARIANTS_MAX {
        let message = format!(
            "{} variants with those that go; a flag has at most {VARIANTS_MAX} in between, remove some first",
            before.variants.len() + added
        );
        problems.add(format_args!("{path}.definition.variants"), message);
    }
    for (environment, (config, _)) in &known.configs {
        if !flag.environments.contains_key(environment) {
            problems.add_at(&format!("{path}.environments.{environment}"), config.validate(&flag.definition));
        }
    }
}

fn register(file: &ProjectFile, current: &Current, remove: bool, problems: &mut Problems) -> Result<(), AppError> {
    let mut seen = HashSet::new();
    for (at, attribute) in file.attributes.iter().enumerate() {
        if !seen.insert(attribute.name.as_str()) {
            problems.add(format_args!("attributes[{at}].name"), "is there twice");
        }
        problems.add_at(&format!("attributes[{at}]"), attribute.validate());
    }
    if !remove {
        seen.extend(current.attributes.iter().map(|known| known.attribute.name.as_str()));
    }
    if seen.len() > ATTRIBUTES_MAX {
        let message = format!("{} attributes with those here; at most {ATTRIBUTES_MAX} are registered", seen.len());
        problems.add("attributes", message);
    }
    let mut seen = HashSet::new();
    for (at, metric) in file.metrics.iter().enumerate() {
        if !seen.insert(metric.name.trim()) {
            problems.add(format_args!("metrics[{at}].name"), "is there twice");
        }
        named(&format!("metrics[{at}]"), &metric.name, problems);
    }
    if !remove {
        seen.extend(current.metrics.iter().map(|known| known.name.as_str()));
    }
    if seen.len() > METRICS_MAX {
        let message = format!("{} metrics with those here; a project has at most {METRICS_MAX}", seen.len());
        problems.add("metrics", message);
    }
    Ok(())
}

/// What the project would be, environment by environment: that all that is named exists, that nothing needs itself, and
/// that nothing reaches too much.
fn references(file: &ProjectFile, current: &Current, remove: bool, problems: &mut Problems) {
    let mut documents = Documents::default();
    if !remove {
        let here = current.segments.iter().map(|(key, known)| (key.clone(), bare_segment(&known.definition)));
        documents.segments.extend(here);
    }
    let new = file.segments.iter().map(|s| (s.definition.key.clone(), bare_segment(&s.definition)));
    documents.segments.extend(new);
    for (at, segment) in file.segments.iter().enumerate() {
        problems.add_at(&format!("segments[{at}].definition"), documents.check_segment(&segment.definition));
    }
    let places: HashMap<&FlagKey, usize> =
        file.flags.iter().enumerate().map(|(at, flag)| (&flag.definition.key, at)).collect();
    let mut keys: Vec<&EnvironmentKey> = file.environments.iter().map(|environment| &environment.key).collect();
    let here: Vec<EnvironmentKey> = current.environments.iter().filter_map(|e| e.key.parse().ok()).collect();
    keys.extend(here.iter().filter(|key| !file.environments.iter().any(|e| e.key == **key)));
    for environment in keys {
        documents.flags = in_environment(file, current, environment, remove);
        for (key, (_, config)) in &documents.flags {
            let place = match places.get(key) {
                Some(at) => format!("flags[{at}].environments.{environment}"),
                None => format!("flags[{key}].environments.{environment}"),
            };
            problems.add_at(&place, documents.check_flag(key, config));
        }
    }
}

/// The flags of an environment as they would be, without what refers to nothing.
fn in_environment(
    file: &ProjectFile,
    current: &Current,
    environment: &EnvironmentKey,
    remove: bool,
) -> BTreeMap<FlagKey, (FlagDefinition, FlagConfig)> {
    let mut flags = BTreeMap::new();
    for (key, known) in current.flags.iter().filter(|_| !remove) {
        if let Some((config, _)) = known.configs.get(environment) {
            flags.insert(key.clone(), bare_flag(&known.flag.definition, config));
        }
    }
    for flag in &file.flags {
        let key = &flag.definition.key;
        let here = current.flags.get(key).and_then(|known| known.configs.get(environment)).map(|(config, _)| config);
        if let Some(config) = flag.environments.get(environment).or(here) {
            flags.insert(key.clone(), bare_flag(&flag.definition, config));
        }
    }
    flags
}

fn bare_segment(definition: &SegmentDefinition) -> SegmentDefinition {
    SegmentDefinition {
        key: definition.key.clone(),
        excluded: Vec::new(),
        included: Vec::new(),
        conditions: definition.conditions.clone(),
    }
}

fn bare_flag(definition: &FlagDefinition, config: &FlagConfig) -> (FlagDefinition, FlagConfig) {
    let mut definition = definition.clone();
    definition.variants.iter_mut().for_each(|variant| variant.value = String::new());
    (definition, FlagConfig { targets: Vec::new(), ..config.clone() })
}

fn named(path: &str, name: &str, problems: &mut Problems) {
    if let Err(AppError::Invalid(found)) = check_name(name) {
        problems.add_at(path, Err(found));
    }
}

fn size(path: &str, bytes: usize, problems: &mut Problems) {
    if bytes > VALUE_BYTES_MAX {
        let message =
            format!("{bytes} bytes to publish; at most {VALUE_BYTES_MAX} are allowed for one flag or segment");
        problems.add(path, message);
    }
}
