//! How a flag or a segment was at a revision or a moment, and what lies between two of them.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use shared::model::flag::{FlagConfig, FlagDefinition};
use shared::model::id::{ProjectId, UserId};
use shared::model::key::{FlagKey, SegmentKey};
use shared::model::lifetime::Lifetime;
use shared::model::segment::SegmentDefinition;
use shared::model::timestamp::Timestamp;
use shared::sentence;
use shared::wire::api::flag::{FlagDetail, FlagEnvironment, FlagOwner, KillDetail};
use shared::wire::api::history::{EnvironmentDiff, FlagDiff, FlagThen, SegmentThen};
use shared::wire::api::segment::SegmentDetail;
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::begin_bounded;
use crate::store::environment::Environment;
use crate::store::history::ThenRow;

/// Entries that say how a flag was.
const FLAG: [&str; 3] = ["flag", "config", "kill"];

/// When somebody looks at something.
#[derive(Clone, Copy, Debug)]
pub enum Moment {
    /// Right after a revision.
    Revision(u64),
    /// At a time.
    At(OffsetDateTime),
}

/// A flag as history keeps it. What a newer version adds is not needed to show it.
#[derive(Deserialize)]
pub(super) struct DescribedFlag {
    pub(super) definition: FlagDefinition,
    pub(super) name: String,
    #[serde(default)]
    pub(super) description: String,
    #[serde(default)]
    pub(super) tags: Vec<String>,
    #[serde(default)]
    pub(super) owner: Option<UserId>,
    #[serde(default)]
    pub(super) lifetime: Lifetime,
    #[serde(default)]
    pub(super) archived: bool,
}

/// A segment as history keeps it.
#[derive(Deserialize)]
pub(super) struct DescribedSegment {
    pub(super) definition: SegmentDefinition,
    pub(super) name: String,
}

#[derive(Deserialize)]
struct DescribedKill {
    reason: String,
    #[serde(default)]
    until: Option<Timestamp>,
}

/// A flag as it was, archived ones included.
pub async fn flag_at(
    state: &AppState,
    project: ProjectId,
    key: &FlagKey,
    moment: Moment,
) -> Result<FlagThen, AppError> {
    let mut tx = begin_bounded(&state.pool).await?;
    let (revision, at) = resolve(&mut tx, project, moment).await?;
    let environments = store::environment::list(&mut tx, project).await?;
    let rows = store::history::entries_at(&mut tx, project, key.as_str(), &FLAG, revision).await?;
    let flag = flag_of(&rows, &environments)?;
    let (mut flag, owner) = flag.ok_or_else(|| AppError::not_found("flag", format!("{key} at r{revision}")))?;
    if let Some(id) = owner {
        flag.owner = store::user::name(&mut tx, id).await?.map(|name| FlagOwner { id, name });
    }
    Ok(FlagThen { revision, at: at.into(), flag })
}

/// A segment as it was, also one that is gone.
pub async fn segment_at(
    state: &AppState,
    project: ProjectId,
    key: &SegmentKey,
    moment: Moment,
) -> Result<SegmentThen, AppError> {
    let mut tx = begin_bounded(&state.pool).await?;
    let (revision, at) = resolve(&mut tx, project, moment).await?;
    let rows = store::history::entries_at(&mut tx, project, key.as_str(), &["segment"], revision).await?;
    // A key may have been given to another segment after the first was removed: the newest one counts.
    let row = rows.iter().max_by_key(|row| row.revision).filter(|row| row.after.is_some());
    let row = row.ok_or_else(|| AppError::not_found("segment", format!("{key} at r{revision}")))?;
    let described: DescribedSegment = read(row, "segment")?;
    let segment = SegmentDetail {
        definition: described.definition,
        name: described.name,
        version: u64::try_from(row.version).unwrap_or(0),
        changed_at: row.at.into(),
        changed_by: row.who.clone().unwrap_or_default(),
        used_by: Vec::new(),
        used_by_segments: Vec::new(),
    };
    Ok(SegmentThen { revision, at: at.into(), segment })
}

/// What lies between two revisions of a flag.
pub async fn flag_diff(
    state: &AppState,
    project: ProjectId,
    key: &FlagKey,
    (from, to): (u64, u64),
) -> Result<FlagDiff, AppError> {
    let mut tx = begin_bounded(&state.pool).await?;
    let environments = store::environment::list(&mut tx, project).await?;
    let mut sides = Vec::with_capacity(2);
    for revision in [from, to] {
        resolve(&mut tx, project, Moment::Revision(revision)).await?;
        sides.push(store::history::entries_at(&mut tx, project, key.as_str(), &FLAG, revision).await?);
    }
    let (old, new) = (&sides[0], &sides[1]);
    let document = |rows: &[ThenRow]| latest(rows, "flag", None).and_then(|row| row.after.clone());
    let (before, after) = (document(old), document(new));
    if before.is_none() && after.is_none() {
        return Err(AppError::not_found("flag", format!("{key} at r{from} and r{to}")));
    }
    let sentences = if before == after { Vec::new() } else { sentence::entry("flag", before.as_ref(), after.as_ref()) };
    let mut differing = Vec::new();
    for environment in &environments {
        differing.extend(environment_diff(environment, old, new)?);
    }
    Ok(FlagDiff { from, to, sentences, before, after, environments: differing })
}

fn environment_diff(
    environment: &Environment,
    old: &[ThenRow],
    new: &[ThenRow],
) -> Result<Option<EnvironmentDiff>, AppError> {
    let id = Some(environment.id.uuid());
    let mut sentences = Vec::new();
    for entity in ["config", "kill"] {
        let document = |rows: &[ThenRow]| latest(rows, entity, id).and_then(|row| row.after.clone());
        let (before, after) = (document(old), document(new));
        if before != after {
            sentences.extend(sentence::entry(entity, before.as_ref(), after.as_ref()));
        }
    }
    if sentences.is_empty() {
        return Ok(None);
    }
    let config = |rows: &[ThenRow]| {
        let row = latest(rows, "config", id).filter(|row| row.after.is_some());
        row.map(|row| read::<FlagConfig>(row, "config")).transpose()
    };
    Ok(Some(EnvironmentDiff {
        environment: environment.key.parse().map_err(AppError::internal)?,
        sentences,
        before: config(old)?,
        after: config(new)?,
        kill_before: kill_of(old, environment)?,
        kill_after: kill_of(new, environment)?,
    }))
}

/// A revision that there is, with its moment.
pub(super) async fn resolve(
    db: &mut PgConnection,
    project: ProjectId,
    moment: Moment,
) -> Result<(u64, OffsetDateTime), AppError> {
    match moment {
        Moment::Revision(revision) => {
            let found = store::history::find_moment(db, revision).await?;
            found.map(|at| (revision, at)).ok_or_else(|| AppError::not_found("revision", revision))
        }
        Moment::At(at) => {
            let found = store::history::revision_at(db, project, at).await?;
            found.ok_or_else(|| AppError::not_found("revision at", Timestamp::from(at)))
        }
    }
}

/// What history says of a thing in one place. A key that was given again is the newer thing's.
pub(super) fn latest<'r>(rows: &'r [ThenRow], entity: &str, environment: Option<uuid::Uuid>) -> Option<&'r ThenRow> {
    let rows = rows.iter().filter(|row| row.entity == entity && row.environment_id == environment);
    rows.max_by_key(|row| row.revision)
}

/// A document as this version knows it.
pub(super) fn read<T: DeserializeOwned>(row: &ThenRow, entity: &str) -> Result<T, AppError> {
    let document = row.after.as_ref().unwrap_or(&Value::Null);
    T::deserialize(document).map_err(|error| {
        tracing::error!(entity, revision = row.revision, error = %error, "an entry of the history cannot be read");
        let message = format!("the {entity} as of r{} is written in a way that this version cannot read", row.revision);
        AppError::field("revision", message)
    })
}

/// The flag and the id of its owner.
fn flag_of(rows: &[ThenRow], environments: &[Environment]) -> Result<Option<(FlagDetail, Option<UserId>)>, AppError> {
    let Some(row) = latest(rows, "flag", None).filter(|row| row.after.is_some()) else { return Ok(None) };
    let described: DescribedFlag = read(row, "flag")?;
    let mut items = Vec::new();
    for environment in environments {
        items.extend(environment_of(rows, environment)?);
    }
    let days = described.lifetime.days(described.definition.kind);
    let flag = FlagDetail {
        id: row.entity_id.into(),
        definition: described.definition,
        name: described.name,
        description: described.description,
        tags: described.tags,
        owner: None,
        lifetime: described.lifetime,
        ends_at: days.map(|days| (row.first_at + time::Duration::days(i64::from(days))).into()),
        archived_at: described.archived.then(|| row.at.into()),
        created_by: row.first_who.clone().unwrap_or_default(),
        created_at: row.first_at.into(),
        version: u64::try_from(row.version).unwrap_or(0),
        environments: items,
    };
    Ok(Some((flag, described.owner)))
}

fn environment_of(rows: &[ThenRow], environment: &Environment) -> Result<Option<FlagEnvironment>, AppError> {
    let id = Some(environment.id.uuid());
    let Some(row) = latest(rows, "config", id).filter(|row| row.after.is_some()) else { return Ok(None) };
    let here = rows.iter().filter(|row| row.environment_id.is_none() || row.environment_id == id);
    let revision = here.map(|row| row.revision).max().unwrap_or(row.revision);
    Ok(Some(FlagEnvironment {
        environment: environment.key.parse().map_err(AppError::internal)?,
        config: read(row, "config")?,
        version: u64::try_from(row.version).unwrap_or(0),
        revision: u64::try_from(revision).unwrap_or(0),
        kill: kill_of(rows, environment)?,
        changed_at: row.at.into(),
        changed_by: row.who.clone().unwrap_or_default(),
        note: row.note.clone(),
    }))
}

fn kill_of(rows: &[ThenRow], environment: &Environment) -> Result<Option<KillDetail>, AppError> {
    let row = latest(rows, "kill", Some(environment.id.uuid())).filter(|row| row.after.is_some());
    let Some(row) = row else { return Ok(None) };
    let kill: DescribedKill = read(row, "kill")?;
    Ok(Some(KillDetail {
        reason: kill.reason,
        until: kill.until,
        killed_at: row.at.into(),
        killed_by: row.who.clone().unwrap_or_default(),
    }))
}
