//! What takes back what the steps of a plan did.

use std::collections::HashSet;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use shared::model::change::{Change, FlagChange};
use shared::model::flag::{FlagConfig, FlagDefinition};
use shared::model::id::{ProjectId, UserId};
use shared::model::lifetime::Lifetime;
use shared::model::segment::SegmentDefinition;
use sqlx::PgConnection;

use crate::app::plan::wrong_state;
use crate::error::AppError;
use crate::store;
use crate::store::plan::Effect;

/// A flag as history keeps it.
#[derive(Deserialize)]
struct FlagRecord {
    definition: FlagDefinition,
    name: String,
    description: String,
    tags: Vec<String>,
    #[serde(default)]
    owner: Option<UserId>,
    #[serde(default)]
    lifetime: Lifetime,
}

/// A segment as history keeps it.
#[derive(Deserialize)]
struct SegmentRecord {
    definition: SegmentDefinition,
    name: String,
}

/// Changes that restore what was there before the first step, in the opposite order. Fails when somebody changed one of the
/// things since, or when a step made what cannot be unmade.
pub(super) async fn of(db: &mut PgConnection, project: ProjectId, effects: &[Effect]) -> Result<Vec<Change>, AppError> {
    let place = |effect: &Effect| (effect.entity.clone(), effect.entity_id, effect.environment_id);
    let mut seen = HashSet::new();
    let mut changes = Vec::new();
    for first in effects.iter().filter(|effect| seen.insert(place(effect))) {
        let last = effects.iter().rev().find(|effect| place(effect) == place(first)).unwrap_or(first);
        if first.before == last.after {
            continue;
        }
        let before = first.before.clone();
        let change = match first.entity.as_str() {
            "config" => config(db, project, first, before, last.after.as_ref()).await?,
            "flag" => flag(db, project, first, before, last.after.as_ref()).await?,
            "segment" => segment(db, project, first, before, last.after.as_ref()).await?,
            _ => return Err(lasting(first)),
        };
        changes.push(change);
    }
    changes.reverse();
    Ok(changes)
}

async fn config(
    db: &mut PgConnection,
    project: ProjectId,
    effect: &Effect,
    before: Option<Value>,
    after: Option<&Value>,
) -> Result<Change, AppError> {
    let (Some(before), Some(environment)) = (before, effect.environment_id) else { return Err(lasting(effect)) };
    let environments = store::environment::list(db, project).await?;
    let key = environments.iter().find(|known| known.id == environment).map(|known| known.key.parse());
    let key = key.ok_or_else(|| lasting(effect))?.map_err(AppError::internal)?;
    let flag = store::flag::find(db, project, &effect.entity_key).await?.ok_or_else(|| lasting(effect))?;
    let stored = store::config::list(db, &[flag.id]).await?.into_iter().find(|c| c.environment_id == environment);
    let stored = stored.ok_or_else(|| lasting(effect))?;
    check_unchanged(effect, after, &stored.config)?;
    let config: FlagConfig = read(before)?;
    Ok(Change::SaveConfig { flag: flag.definition.key, environment: key, version: stored.version, config })
}

async fn flag(
    db: &mut PgConnection,
    project: ProjectId,
    effect: &Effect,
    before: Option<Value>,
    after: Option<&Value>,
) -> Result<Change, AppError> {
    let Some(before) = before else { return Err(lasting(effect)) };
    let before: FlagRecord = read(before)?;
    let stored = store::flag::find(db, project, &effect.entity_key).await?.ok_or_else(|| lasting(effect))?;
    check_unchanged(effect, after.and_then(|after| after.get("definition")), &stored.definition)?;
    let update = FlagChange {
        name: Some(before.name),
        description: Some(before.description),
        tags: Some(before.tags),
        owner: before.owner,
        lifetime: Some(before.lifetime),
        kind: Some(before.definition.kind),
        client_visible: Some(before.definition.client_visible),
        variants: Some(before.definition.variants),
    };
    Ok(Change::UpdateFlag { flag: stored.definition.key, version: stored.version, update })
}

async fn segment(
    db: &mut PgConnection,
    project: ProjectId,
    effect: &Effect,
    before: Option<Value>,
    after: Option<&Value>,
) -> Result<Change, AppError> {
    let stored = store::segment::find(db, project, &effect.entity_key).await?;
    let before: Option<SegmentRecord> = before.map(read).transpose()?;
    match (stored, before) {
        (Some(stored), before) => {
            check_unchanged(effect, after.and_then(|after| after.get("definition")), &stored.definition)?;
            Ok(match before {
                Some(SegmentRecord { definition, name }) => {
                    Change::UpdateSegment { version: stored.version, definition, name }
                }
                None => Change::DeleteSegment { segment: stored.definition.key },
            })
        }
        (None, Some(SegmentRecord { definition, name })) => Ok(Change::CreateSegment { definition, name }),
        (None, None) => Err(lasting(effect)),
    }
}

fn check_unchanged(effect: &Effect, left: Option<&Value>, now: &impl serde::Serialize) -> Result<(), AppError> {
    let now = serde_json::to_value(now).map_err(AppError::internal)?;
    if left == Some(&now) {
        return Ok(());
    }
    let (noun, key) = (&effect.entity, &effect.entity_key);
    Err(wrong_state(format!(
        "somebody changed {noun} '{key}' after the plan did; stop and keep, then change it by hand"
    )))
}

fn lasting(effect: &Effect) -> AppError {
    let (noun, key) = (&effect.entity, &effect.entity_key);
    wrong_state(format!("what a step did to {noun} '{key}' cannot be taken back by itself; stop and keep"))
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, AppError> {
    serde_json::from_value(value).map_err(AppError::internal)
}
