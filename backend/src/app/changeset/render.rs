//! From documents to table `state`: what edges must hold, byte for byte.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::value::RawValue;
use shared::model::environment::EnvironmentDefinition;
use shared::model::id::{EnvironmentId, FlagId, SegmentId};
use shared::model::segment::SegmentDefinition;
use shared::wire::state::{self, ENVIRONMENT_BYTES_MAX, Entity, Envelope, FlagBody, StateKey, VALUE_BYTES_MAX};
use sqlx::PgConnection;

use crate::app::changeset::draft::Draft;
use crate::error::AppError;
use crate::store;
use crate::store::environment::Environment;
use crate::store::state::StateRow;

/// A value that differs from what edges hold now, still without its number.
pub(super) struct Pending {
    key: StateKey,
    /// Absent when it is to be a tombstone.
    body: Option<String>,
    bytes: usize,
    /// How many more bytes it takes than before.
    growth: i64,
}

impl Pending {
    /// The environment whose answers it changes; none for an SDK key.
    pub(super) fn environment_touched(&self) -> Option<EnvironmentId> {
        (!matches!(self.key.entity, Entity::SdkKey(_))).then_some(self.key.environment)
    }
}

/// All values that the draft changes. Values that stay the same are not among them, so that an environment whose
/// answers do not change is not touched.
pub(super) async fn pending(db: &mut PgConnection, draft: &Draft) -> Result<Vec<Pending>, AppError> {
    let mut wanted: BTreeMap<StateKey, Option<String>> = BTreeMap::new();
    let flags: Vec<FlagId> = draft.flags.iter().copied().collect();
    for configured in store::config::list_configured(db, draft.project, &flags).await? {
        let key = StateKey { environment: configured.environment_id, entity: Entity::Flag(configured.flag_id) };
        wanted.insert(key, Some(text(&FlagBody { flag: configured.definition, config: configured.config })?));
    }
    let place =
        |flag| draft.environments.iter().map(move |e| StateKey { environment: e.id, entity: Entity::Flag(flag) });
    wanted.extend(draft.archived.iter().flat_map(|(flag, _)| place(*flag)).map(|key| (key, None)));
    add_segments(db, draft, &mut wanted).await?;
    wanted.extend(draft.bodies.iter().map(|(key, body)| (*key, Some(body.clone()))));

    let keys: Vec<String> = wanted.keys().map(ToString::to_string).collect();
    let held = store::state::list_by_key(db, &keys).await?;
    let held: HashMap<&str, &StateRow> = held.iter().map(|row| (row.key.as_str(), row)).collect();
    let mut pending = Vec::new();
    for (key, body) in wanted {
        let name = key.to_string();
        let before = held.get(name.as_str());
        if !differs(before.copied(), body.as_deref())? {
            continue;
        }
        let bytes = value(u64::MAX, false, body.as_deref())?.len();
        if bytes > VALUE_BYTES_MAX {
            let message =
                format!("{bytes} bytes to publish; at most {VALUE_BYTES_MAX} are allowed for one flag or segment");
            return Err(AppError::field("config", message));
        }
        let growth = bytes as i64 - before.map_or(0, |row| i64::from(row.bytes));
        pending.push(Pending { key, body, bytes, growth });
    }
    check_environment_sizes(draft, &pending)?;
    Ok(pending)
}

/// Segments have a row where a flag reaches them, directly or through other segments. Of those whose document is as it
/// was only rows that appear or go are wanted, so that a save renders no large segment in vain.
async fn add_segments(
    db: &mut PgConnection,
    draft: &Draft,
    wanted: &mut BTreeMap<StateKey, Option<String>>,
) -> Result<(), AppError> {
    let segments: Vec<SegmentId> = draft.segments.union(&draft.reached).copied().collect();
    if segments.is_empty() {
        return Ok(());
    }
    let needed: HashSet<_> = store::reference::list_needed(db, &segments).await?.into_iter().collect();
    let places = |segment| draft.environments.iter().map(move |environment| (segment, environment.id));
    let keys: Vec<_> = segments.into_iter().flat_map(places).map(|place| (place, segment_key(place))).collect();
    let names: Vec<String> = keys.iter().map(|(_, key)| key.to_string()).collect();
    let live: HashSet<String> = store::state::list_live(db, &names).await?.into_iter().collect();
    let mut rendered: BTreeMap<SegmentId, Vec<StateKey>> = BTreeMap::new();
    for (place, key) in keys {
        let is_live = live.contains(&key.to_string());
        if needed.contains(&place) && (!is_live || draft.segments.contains(&place.0)) {
            rendered.entry(place.0).or_default().push(key);
        } else if is_live && !needed.contains(&place) {
            wanted.insert(key, None);
        }
    }
    let ids: Vec<SegmentId> = rendered.keys().copied().collect();
    for (id, definition) in store::segment::list_definitions(db, &ids).await? {
        let body = text(&definition)?;
        let keys = rendered.remove(&id).unwrap_or_default();
        wanted.extend(keys.into_iter().map(|key| (key, Some(body.clone()))));
    }
    Ok(())
}

/// The rows to write, with the rows of the environments they touch. Runs while the counter is held: kills are read
/// only now, so that no changeset can undo one.
pub(super) async fn finish(
    db: &mut PgConnection,
    draft: &Draft,
    pending: Vec<Pending>,
    revision: u64,
) -> Result<Vec<StateRow>, AppError> {
    let flags: Vec<FlagId> = pending.iter().filter_map(|p| flag_of(p.key)).collect();
    let kills = store::kill::list(db, &flags).await?;
    let is_killed = |key: StateKey| {
        flag_of(key).is_some_and(|flag| kills.iter().any(|k| k.flag_id == flag && k.environment_id == key.environment))
    };
    let mut growth: BTreeMap<EnvironmentId, i64> = draft.touched.iter().map(|id| (*id, 0)).collect();
    let mut rows = Vec::with_capacity(pending.len() + 1);
    for Pending { key, body, bytes, growth: more } in pending {
        *growth.entry(key.environment).or_default() += more;
        rows.push(row(key, revision, is_killed(key), body.as_deref(), bytes)?);
    }
    for (environment, more) in growth {
        if more != 0 {
            store::environment::add_state_bytes(db, environment, more).await?;
        }
        let known = draft.environments.iter().find(|e| e.id == environment);
        let known =
            known.ok_or_else(|| AppError::internal(format!("environment {environment} is of another project")))?;
        rows.push(environment_row(known, &draft.project_key, revision)?);
    }
    Ok(rows)
}

/// How many bytes a body takes where edges read it.
pub(in crate::app) fn published_bytes(body: &impl serde::Serialize) -> Result<usize, AppError> {
    Ok(value(u64::MAX, false, Some(&text(body)?))?.len())
}

/// Fails when a segment could not be published, also before any flag uses it.
pub(super) fn check_segment_size(definition: &SegmentDefinition) -> Result<(), AppError> {
    let bytes = published_bytes(definition)?;
    if bytes > VALUE_BYTES_MAX {
        let message = format!("{bytes} bytes to publish; at most {VALUE_BYTES_MAX} are allowed for one segment");
        return Err(AppError::field("included", message));
    }
    Ok(())
}

/// The row of an environment itself, which carries its revision.
pub(super) fn environment_row(
    environment: &Environment,
    project_key: &str,
    revision: u64,
) -> Result<StateRow, AppError> {
    let definition = EnvironmentDefinition {
        project: project_key.parse().map_err(AppError::internal)?,
        key: environment.key.parse().map_err(AppError::internal)?,
        unit_key: Some(environment.unit_key),
    };
    let body = text(&definition)?;
    row(StateKey { environment: environment.id, entity: Entity::Environment }, revision, false, Some(&body), 0)
}

/// The same row with other `killed`, under a new revision.
pub(super) fn with_killed(held: &StateRow, killed: bool, revision: u64) -> Result<StateRow, AppError> {
    let envelope: Envelope = serde_json::from_str(&held.value).map_err(AppError::internal)?;
    let value = text(&Envelope { revision, killed, ..envelope })?;
    Ok(StateRow { revision, killed, value, ..held.clone() })
}

fn row(key: StateKey, revision: u64, killed: bool, body: Option<&str>, bytes: usize) -> Result<StateRow, AppError> {
    Ok(StateRow {
        environment: key.environment,
        key: key.to_string(),
        revision,
        killed,
        deleted: body.is_none(),
        bytes: i32::try_from(bytes).unwrap_or(i32::MAX),
        value: value(revision, killed, body)?,
    })
}

fn value(revision: u64, killed: bool, body: Option<&str>) -> Result<String, AppError> {
    let deleted = body.is_none();
    let body = body.map(|json| RawValue::from_string(json.to_owned())).transpose().map_err(AppError::internal)?;
    text(&Envelope { format: state::FORMAT, revision, killed, deleted, body })
}

fn differs(before: Option<&StateRow>, body: Option<&str>) -> Result<bool, AppError> {
    let Some(before) = before else { return Ok(body.is_some()) };
    let envelope: Envelope = serde_json::from_str(&before.value).map_err(AppError::internal)?;
    Ok(envelope.body.as_ref().map(|held| held.get()) != body)
}

fn check_environment_sizes(draft: &Draft, pending: &[Pending]) -> Result<(), AppError> {
    for environment in &draft.environments {
        let growth: i64 = pending.iter().filter(|p| p.key.environment == environment.id).map(|p| p.growth).sum();
        let bytes = environment.state_bytes + growth;
        if growth > 0 && bytes > ENVIRONMENT_BYTES_MAX as i64 {
            let message = format!(
                "{} would hold {bytes} bytes; at most {ENVIRONMENT_BYTES_MAX} are allowed, archive flags first",
                environment.key
            );
            return Err(AppError::field("environment", message));
        }
    }
    Ok(())
}

fn segment_key((segment, environment): (SegmentId, EnvironmentId)) -> StateKey {
    StateKey { environment, entity: Entity::Segment(segment) }
}

fn flag_of(key: StateKey) -> Option<FlagId> {
    if let Entity::Flag(id) = key.entity { Some(id) } else { None }
}

fn text(value: &impl serde::Serialize) -> Result<String, AppError> {
    serde_json::to_string(value).map_err(AppError::internal)
}
