//! What changes do, said before they are made or after: sentences, who moves, what is probably a mistake, what depends on
//! it.

mod around;
mod movement;
mod sentence;

use std::collections::HashMap;

use around::Around;
use serde::de::DeserializeOwned;
use serde_json::Value;
use shared::model::flag::{FlagConfig, FlagDefinition};
use shared::model::id::EnvironmentId;
use shared::wire::api::changeset::ChangeEffect;
use sqlx::PgConnection;

use crate::app::changeset::Prepared;
use crate::error::AppError;
use crate::store::changeset::Entry;
use crate::store::environment::Environment;

/// One touched thing as history keeps it.
#[derive(Clone, Copy)]
pub(in crate::app) struct Touched<'a> {
    /// What kind of thing.
    pub(in crate::app) entity: &'a str,
    /// Its key.
    pub(in crate::app) key: &'a str,
    /// Where.
    pub(in crate::app) environment: Option<EnvironmentId>,
    /// Before; absent when it is new.
    pub(in crate::app) before: Option<&'a Value>,
    /// After; absent when it is gone.
    pub(in crate::app) after: Option<&'a Value>,
}

impl<'a> From<&'a Entry> for Touched<'a> {
    fn from(entry: &'a Entry) -> Self {
        Self {
            entity: entry.entity,
            key: &entry.entity_key,
            environment: entry.environment,
            before: entry.before.as_ref(),
            after: entry.after.as_ref(),
        }
    }
}

/// What a prepared changeset does, with warnings and dependents; reads what it has just written.
pub(in crate::app) async fn of_prepared(
    db: &mut PgConnection,
    prepared: &Prepared,
    now_ms: i64,
) -> Result<Vec<ChangeEffect>, AppError> {
    let draft = &prepared.draft;
    let around = Around::load(db, draft).await?;
    let mut effects = Vec::with_capacity(draft.entries.len());
    for entry in &draft.entries {
        let mut effect = of_touched(entry.into(), &draft.environments, around.definitions())?;
        effect.warnings = around.warnings(entry, now_ms);
        effect.dependents = around.dependents(entry);
        effects.push(effect);
    }
    Ok(effects)
}

/// What a change of one thing does, as far as the thing itself says.
pub(in crate::app) fn of_touched(
    touched: Touched<'_>,
    environments: &[Environment],
    definitions: &HashMap<String, FlagDefinition>,
) -> Result<ChangeEffect, AppError> {
    let environment = touched.environment.and_then(|id| environments.iter().find(|known| known.id == id));
    let environment = environment.map(|known| known.key.parse()).transpose().map_err(AppError::internal)?;
    let movement = match (touched.entity, read::<FlagConfig>(touched.before), read::<FlagConfig>(touched.after)) {
        ("config", Some(before), Some(after)) => movement::between(&before, &after),
        _ => Vec::new(),
    };
    Ok(ChangeEffect {
        entity: touched.entity.to_owned(),
        key: touched.key.to_owned(),
        environment,
        sentences: sentence::of(touched, definitions.get(touched.key)),
        movement,
        warnings: Vec::new(),
        dependents: Vec::new(),
    })
}

/// A document of history; `None` when there is none, or a newer version wrote it.
fn read<T: DeserializeOwned>(document: Option<&Value>) -> Option<T> {
    T::deserialize(document?).ok()
}
