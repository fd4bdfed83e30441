//! Two environments side by side, and bringing flags from one to the other.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde::Deserialize;
use shared::model::change::{CHANGES_MAX, Change};
use shared::model::flag::FlagConfig;
use shared::model::id::{EnvironmentId, FlagId, ProjectId, SegmentId};
use shared::model::key::{EnvironmentKey, FlagKey, SegmentKey};
use shared::model::problem::Problems;
use shared::model::segment::SegmentDefinition;
use shared::sentence;
use shared::wire::api::changeset::ChangesetDetail;
use shared::wire::api::compare::{ComparedState, ComparisonPage, FlagComparison, Promote, PromotedFlag};
use shared::wire::api::flag::StateShape;
use shared::wire::state::{Entity, StateKey};
use sqlx::PgConnection;
use utoipa::IntoParams;

use crate::app::changeset;
use crate::app::flag::bulk::stale;
use crate::app::flag::query::{FlagQuery, Sort, cursor_text, parse};
use crate::auth::permission::InProject;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::config::StoredConfig;
use crate::store::environment::Environment;
use crate::store::flag::Flag;
use crate::store::kill::Kill;
use crate::store::reference::Node;

/// Which environments to compare, and which flags of them.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct CompareQuery {
    /// Where flags would come from.
    pub from: EnvironmentKey,
    /// Where they would go.
    pub to: EnvironmentKey,
    /// As in the list of flags.
    pub q: Option<String>,
    /// `true`: only flags that differ.
    pub differs: Option<bool>,
    /// `next` of the page before.
    pub after: Option<String>,
    /// 1 to 100; 100 when absent.
    pub limit: Option<usize>,
}

/// Both configs of each flag, and what they refer to.
struct Sides {
    from: EnvironmentId,
    to: EnvironmentId,
    configs: HashMap<(FlagId, EnvironmentId), StoredConfig>,
    kills: Vec<Kill>,
    segments: HashMap<SegmentKey, (SegmentId, SegmentDefinition)>,
    /// Keys of segments' values that edges of the one have.
    live: HashSet<String>,
    /// Keys of flags that have a config there.
    present: HashSet<String>,
}

/// A page of flags in two environments.
pub async fn compare(state: &AppState, who: &InProject, query: CompareQuery) -> Result<ComparisonPage, AppError> {
    let project = who.id();
    let mut db = state.pool.acquire().await?;
    let environments = store::environment::list(&mut db, project).await?;
    let (from, to) = (find(&environments, &query.from)?, find(&environments, &query.to)?);
    check_apart(&query.from, &query.to)?;
    let CompareQuery { q, differs, after, limit, .. } = query;
    let list = FlagQuery { q, after, limit, sort: Some(Sort::Key), ..FlagQuery::default() };
    let mut parsed = parse(&list, &environments, who.actor.user, state.clock.now())?;
    parsed.filter.differs = differs.unwrap_or_default().then_some((from, to));
    let after = parsed.after.as_ref();
    let found = store::flag::list(&mut db, project, &parsed.filter, parsed.order, after, parsed.limit).await?;
    let mut flags = store::flag::list_by_id(&mut db, project, &found.ids).await?;
    flags.sort_by_key(|flag| found.ids.iter().position(|id| *id == flag.id));
    let sides = Sides::find(&mut db, project, &found.ids, from, to).await?;
    Ok(ComparisonPage {
        items: flags.into_iter().map(|flag| sides.compare(flag)).collect(),
        next: found.next.map(|cursor| cursor_text(&cursor, parsed.order.sort)),
        matching: found.matching,
    })
}

/// Sets flags up in one environment as they are in another, as one changeset.
pub async fn promote(state: &AppState, who: &InProject, body: Promote) -> Result<ChangesetDetail, AppError> {
    check_apart(&body.from, &body.to)?;
    if body.flags.is_empty() || body.flags.len() > CHANGES_MAX {
        let message = format!("{} flags; 1 to {CHANGES_MAX} can be promoted at once", body.flags.len());
        return Err(AppError::field("flags", message));
    }
    let mut db = state.pool.acquire().await?;
    let environments = store::environment::list(&mut db, who.id()).await?;
    let (from, to) = (find(&environments, &body.from)?, find(&environments, &body.to)?);
    let keys: Vec<String> = body.flags.iter().map(|flag| flag.key.to_string()).collect();
    let flags = store::flag::list_by_key(&mut db, who.id(), &keys).await?;
    let living = flags.iter().filter(|flag| flag.archived_at.is_none());
    let flags: HashMap<&str, FlagId> = living.map(|flag| (flag.definition.key.as_str(), flag.id)).collect();
    let ids: Vec<FlagId> = flags.values().copied().collect();
    let configs = store::config::list(&mut db, &ids).await?;
    drop(db);
    let configs: HashMap<_, _> =
        configs.into_iter().map(|config| ((config.flag_id, config.environment_id), config)).collect();
    let config = |key: &FlagKey, environment| configs.get(&(*flags.get(key.as_str())?, environment));
    let (mut changes, mut problems, mut seen) = (Vec::new(), Problems::default(), HashSet::new());
    for (index, wanted) in body.flags.iter().enumerate() {
        if !seen.insert(&wanted.key) {
            problems.add(format_args!("flags[{index}].key"), format!("'{}' is there twice", wanted.key));
            continue;
        }
        let (source, target) = (config(&wanted.key, from), config(&wanted.key, to));
        changes.extend(promotion(index, wanted, (&body.from, source), (&body.to, target), &mut problems));
    }
    problems.into_result().map_err(AppError::Invalid)?;
    if changes.is_empty() {
        let message = format!("all of them are set up in {} as in {} already", body.to, body.from);
        return Err(AppError::field("flags", message));
    }
    changeset::submit(state, who, changes, &body.note).await
}

/// What brings one flag over; nothing when it is the same there, or something is wrong.
fn promotion(
    index: usize,
    wanted: &PromotedFlag,
    (from, source): (&EnvironmentKey, Option<&StoredConfig>),
    (to, target): (&EnvironmentKey, Option<&StoredConfig>),
    problems: &mut Problems,
) -> Option<Change> {
    let Some(source) = source else {
        problems.add(format_args!("flags[{index}].key"), format!("flag '{}' has no config in {from}", wanted.key));
        return None;
    };
    let version = target.map_or(0, |target| target.version);
    if version != wanted.version {
        let message = stale(format!("{} in {to}", wanted.key), wanted.version, version);
        problems.add(format_args!("flags[{index}].version"), message);
    }
    if let Some(seen) = wanted.from_version.filter(|seen| *seen != source.version) {
        let message = stale(format!("{} in {from}", wanted.key), seen, source.version);
        problems.add(format_args!("flags[{index}].from_version"), message);
    }
    if target.is_some_and(|target| target.config == source.config) {
        return None;
    }
    let (flag, environment, config) = (wanted.key.clone(), to.clone(), source.config.clone());
    Some(Change::SaveConfig { flag, environment, version, config })
}

impl Sides {
    async fn find(
        db: &mut PgConnection,
        project: ProjectId,
        flags: &[FlagId],
        from: EnvironmentId,
        to: EnvironmentId,
    ) -> Result<Self, AppError> {
        let configs = store::config::list_readable(db, flags).await?;
        let nodes: Vec<Node> = flags.iter().map(|flag| Node::Config(*flag, from)).collect();
        let reached = store::reference::list_reached(db, &nodes).await?;
        let segments = store::reference::list_segments(db, project, &reached).await?;
        let names: Vec<String> = segments.iter().map(|(id, _)| segment_state_key(to, *id)).collect();
        let live = store::state::list_live(db, &names).await?;
        let needed = configs.iter().filter(|config| config.environment_id == from);
        let needed = needed.flat_map(|config| config.config.prerequisites.iter().map(|p| p.flag.to_string()));
        let needed: Vec<String> = needed.collect::<BTreeSet<_>>().into_iter().collect();
        let present = store::config::list_present(db, project, to, &needed).await?;
        Ok(Self {
            from,
            to,
            configs: configs.into_iter().map(|found| ((found.flag_id, found.environment_id), found)).collect(),
            kills: store::kill::list(db, flags).await?,
            segments: segments.into_iter().map(|(id, found)| (found.key.clone(), (id, found))).collect(),
            live: live.into_iter().collect(),
            present: present.into_iter().collect(),
        })
    }

    fn compare(&self, flag: Flag) -> FlagComparison {
        let from = self.configs.get(&(flag.id, self.from)).map(|stored| &stored.config);
        let to = self.configs.get(&(flag.id, self.to)).map(|stored| &stored.config);
        let changes = match (from, to) {
            (Some(from), Some(to)) => sentence::changes(to, from),
            (Some(from), None) => vec![format!("+ {}", sentence::config(&flag.definition, from, false))],
            (None, _) => Vec::new(),
        };
        let differs = from != to;
        FlagComparison {
            differs,
            changes,
            segments: from.filter(|_| differs).map(|from| self.new_segments(from)).unwrap_or_default(),
            missing: from.filter(|_| differs).map(|from| self.missing(from)).unwrap_or_default(),
            from: self.state(&flag, self.from),
            to: self.state(&flag, self.to),
            key: flag.definition.key,
            name: flag.name,
        }
    }

    fn state(&self, flag: &Flag, environment: EnvironmentId) -> Option<ComparedState> {
        let stored = self.configs.get(&(flag.id, environment))?;
        let is_killed = self.kills.iter().any(|k| k.flag_id == flag.id && k.environment_id == environment);
        Some(ComparedState {
            shape: StateShape::of(&stored.config, is_killed),
            brief: sentence::brief(&stored.config, is_killed),
            sentence: sentence::config(&flag.definition, &stored.config, is_killed),
            version: stored.version,
        })
    }

    /// Segments that the config reaches, directly or through others, and that the other environment has not yet.
    fn new_segments(&self, config: &FlagConfig) -> Vec<SegmentKey> {
        let mut left = config.segments();
        let mut reached = BTreeSet::new();
        while let Some(key) = left.pop() {
            if let Some((_, definition)) = self.segments.get(&key).filter(|_| reached.insert(key.clone())) {
                left.extend(definition.segments());
            }
        }
        let is_new = |key: &SegmentKey| {
            self.segments.get(key).is_some_and(|(id, _)| !self.live.contains(&segment_state_key(self.to, *id)))
        };
        reached.into_iter().filter(is_new).collect()
    }

    fn missing(&self, config: &FlagConfig) -> Vec<FlagKey> {
        let needed = config.prerequisites.iter().map(|prerequisite| &prerequisite.flag);
        needed.filter(|key| !self.present.contains(key.as_str())).cloned().collect()
    }
}

fn find(environments: &[Environment], key: &EnvironmentKey) -> Result<EnvironmentId, AppError> {
    let found = environments.iter().find(|environment| environment.key == key.as_str());
    found.map(|environment| environment.id).ok_or_else(|| AppError::not_found("environment", key))
}

fn check_apart(from: &EnvironmentKey, to: &EnvironmentKey) -> Result<(), AppError> {
    if from == to { Err(AppError::field("to", format!("'{to}' is where flags come from"))) } else { Ok(()) }
}

fn segment_state_key(environment: EnvironmentId, segment: SegmentId) -> String {
    StateKey { environment, entity: Entity::Segment(segment) }.to_string()
}
