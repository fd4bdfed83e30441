//! What stands around the things that a changeset touches: what they reach, and what depends on them.

use std::collections::{BTreeSet, HashMap};

use shared::lint::{self, Warning};
use shared::model::flag::{FlagConfig, FlagDefinition};
use shared::model::id::{EnvironmentId, FlagId, SegmentId};
use shared::model::reach::Documents;
use shared::model::segment::SegmentDefinition;
use shared::wire::api::changeset::Dependent;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::app::changeset::draft::Draft;
use crate::app::changeset::effect::read;
use crate::error::AppError;
use crate::store;
use crate::store::changeset::Entry;
use crate::store::reference::Node;

/// The most dependents that are named of one thing.
const DEPENDENTS_MAX: usize = 100;
/// Beyond this many touched things nobody reads warnings of each, and finding them would take too long.
const LINTED_MAX: usize = 50;

/// See the module.
pub(super) struct Around {
    /// By environment, all that the touched things reach.
    documents: HashMap<EnvironmentId, Documents>,
    definitions: HashMap<String, FlagDefinition>,
    dependents: HashMap<Uuid, Vec<(Option<EnvironmentId>, Dependent)>>,
}

impl Around {
    pub(super) async fn load(db: &mut PgConnection, draft: &Draft) -> Result<Self, AppError> {
        let mut around = Self { documents: HashMap::new(), definitions: HashMap::new(), dependents: HashMap::new() };
        let is_linted = draft.entries.len() <= LINTED_MAX;
        let reached = if is_linted { store::reference::list_reached(db, &nodes(draft)).await? } else { Vec::new() };
        let mut flags: BTreeSet<FlagId> = draft.flags.iter().copied().collect();
        let mut segments: BTreeSet<SegmentId> = BTreeSet::new();
        for node in reached {
            match node {
                Node::Config(flag, _) => flags.insert(flag),
                Node::Segment(segment) => segments.insert(segment),
            };
        }
        let flags: Vec<FlagId> = flags.into_iter().collect();
        for found in store::config::list_configured(db, draft.project, &flags).await? {
            let key = found.definition.key.clone();
            around.definitions.insert(key.to_string(), found.definition.clone());
            if is_linted {
                let documents = around.documents.entry(found.environment_id).or_default();
                documents.flags.insert(key, (found.definition, found.config));
            }
        }
        if is_linted {
            let segments: Vec<SegmentId> = segments.into_iter().collect();
            for (_, definition) in store::segment::list_definitions(db, &segments).await? {
                for environment in looked_at(draft) {
                    let documents = around.documents.entry(environment).or_default();
                    documents.segments.insert(definition.key.clone(), definition.clone());
                }
            }
        }
        around.load_dependents(db, draft).await?;
        Ok(around)
    }

    async fn load_dependents(&mut self, db: &mut PgConnection, draft: &Draft) -> Result<(), AppError> {
        let touched = |entity: &str| -> Vec<Uuid> {
            draft.entries.iter().filter(|entry| entry.entity == entity).filter_map(|entry| entry.entity_id).collect()
        };
        let mut flags = touched("flag");
        flags.extend(touched("config"));
        for found in store::reference::list_dependents(db, &flags, &touched("segment")).await? {
            let environment = found.environment_id.and_then(|id| draft.environments.iter().find(|e| e.id == id));
            let key = environment.map(|known| known.key.parse()).transpose().map_err(AppError::internal)?;
            let entity = if found.is_segment { "segment" } else { "flag" };
            let dependent = Dependent { entity: entity.into(), key: found.key, environment: key };
            self.dependents.entry(found.of).or_default().push((found.environment_id, dependent));
        }
        Ok(())
    }

    /// Definitions of the flags around, by key.
    pub(super) fn definitions(&self) -> &HashMap<String, FlagDefinition> {
        &self.definitions
    }

    /// What is probably a mistake in a thing as it is after the change.
    pub(super) fn warnings(&self, entry: &Entry, now_ms: i64) -> Vec<Warning> {
        match entry.entity {
            "config" => {
                let (Some(documents), Some(definition), Some(config)) = (
                    entry.environment.and_then(|id| self.documents.get(&id)),
                    self.definitions.get(&entry.entity_key),
                    read::<FlagConfig>(entry.after.as_ref()),
                ) else {
                    return Vec::new();
                };
                lint::flag(definition, &config, documents, now_ms)
            }
            "segment" => {
                let after = entry.after.as_ref().and_then(|after| after.get("definition"));
                let Some(definition) = read::<SegmentDefinition>(after) else { return Vec::new() };
                // Segments are the same everywhere; any environment's documents do.
                let documents = self.documents.values().find(|known| known.segments.contains_key(&definition.key));
                documents.map(|known| lint::segment(&definition, known, now_ms)).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    /// What else depends on a thing: of a config, only what does in its environment.
    pub(super) fn dependents(&self, entry: &Entry) -> Vec<Dependent> {
        let Some(found) = entry.entity_id.and_then(|id| self.dependents.get(&id)) else { return Vec::new() };
        let is_here = |at: &Option<EnvironmentId>| entry.environment.is_none() || *at == entry.environment;
        let here = found.iter().filter(|(at, _)| is_here(at)).map(|(_, dependent)| dependent.clone());
        here.take(DEPENDENTS_MAX).collect()
    }
}

/// Environments in which configs are looked at; any one where only segments are, which are the same everywhere.
fn looked_at(draft: &Draft) -> BTreeSet<EnvironmentId> {
    let configs = draft.entries.iter().filter(|entry| entry.entity == "config");
    let mut found: BTreeSet<EnvironmentId> = configs.filter_map(|entry| entry.environment).collect();
    if found.is_empty() {
        found.extend(draft.environments.first().map(|environment| environment.id));
    }
    found
}

/// The configs and segments that a draft writes.
fn nodes(draft: &Draft) -> Vec<Node> {
    let node = |entry: &Entry| match (entry.entity, entry.entity_id?, entry.environment) {
        ("config", id, Some(environment)) => Some(Node::Config(id.into(), environment)),
        ("segment", id, _) if entry.after.is_some() => Some(Node::Segment(id.into())),
        _ => None,
    };
    draft.entries.iter().filter_map(node).collect()
}
