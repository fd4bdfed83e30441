//! What a flag needs, and what needs it.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use shared::model::flag::PREREQUISITES_MAX;
use shared::model::id::{EnvironmentId, FlagId, ProjectId, SegmentId};
use shared::model::key::{EnvironmentKey, FlagKey};
use shared::sentence;
use shared::wire::api::flag::StateShape;
use shared::wire::api::prerequisite::{GraphFlag, GraphSegment, PrerequisiteGraph};
use sqlx::PgConnection;

use crate::app::flag;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::config::Configured;
use crate::store::reference::Node;

/// The most flags that are named beside a segment.
const USED_BY_MAX: i64 = 20;

/// A flag among what it needs and what needs it, in one environment.
pub async fn graph(
    state: &AppState,
    project: ProjectId,
    key: &FlagKey,
    environment: EnvironmentKey,
) -> Result<PrerequisiteGraph, AppError> {
    let mut db = state.pool.acquire().await?;
    let flag = flag::find(&mut db, project, key).await?;
    let place = store::environment::list(&mut db, project).await?.into_iter().find(|e| e.key == environment.as_str());
    let place = place.ok_or_else(|| AppError::not_found("environment", &environment))?.id;
    let node = Node::Config(flag.id, place);
    let reached = store::reference::list_reached(&mut db, &[node]).await?;
    let (children, needed_by_total) = needing(&mut db, place, flag.id).await?;
    let mut flags: BTreeSet<FlagId> = reached.iter().filter_map(flag_of).collect();
    flags.extend(children);
    let known = Known::load(&mut db, project, place, flags).await?;
    let needs = known.tree(key, |key| known.parents(key));
    let needs = needs.ok_or_else(|| AppError::not_found("config of the flag", format!("{key} in {environment}")))?;
    let children = known.children();
    let needed_by = known.tree(key, |key| children.get(key).cloned().unwrap_or_default());
    let segments: Vec<SegmentId> = reached.iter().filter_map(segment_of).collect();
    let segments = store::segment::list_reached(&mut db, project, &segments, USED_BY_MAX).await?;
    Ok(PrerequisiteGraph {
        environment,
        needs,
        needed_by: needed_by.map(|root| root.flags).unwrap_or_default(),
        needed_by_total,
        segments: segments.into_iter().map(segment).collect::<Result<_, _>>()?,
    })
}

/// Flags that need a flag, the nearest first, at most 64; and how many there are in all.
async fn needing(
    db: &mut PgConnection,
    environment: EnvironmentId,
    flag: FlagId,
) -> Result<(HashSet<FlagId>, u64), AppError> {
    let all = store::reference::list_referring(db, &[Node::Config(flag, environment)]).await?;
    let total = all.len().saturating_sub(1) as u64;
    let mut found = HashSet::new();
    let mut level = vec![flag];
    while !level.is_empty() && found.len() < PREREQUISITES_MAX {
        let most = i64::try_from(PREREQUISITES_MAX).unwrap_or(i64::MAX) * 2;
        let next = store::reference::list_needing_in(db, environment, &level, most).await?;
        level = next.into_iter().filter(|id| !found.contains(id)).collect();
        level.truncate(PREREQUISITES_MAX - found.len());
        found.extend(&level);
    }
    Ok((found, total))
}

/// Flags of an environment around one.
struct Known {
    flags: HashMap<FlagKey, (Configured, String)>,
    killed: HashSet<FlagId>,
}

impl Known {
    async fn load(
        db: &mut PgConnection,
        project: ProjectId,
        environment: EnvironmentId,
        flags: BTreeSet<FlagId>,
    ) -> Result<Self, AppError> {
        let ids: Vec<FlagId> = flags.into_iter().collect();
        let names: HashMap<FlagId, String> = store::flag::list_names(db, &ids).await?.into_iter().collect();
        let configured = store::config::list_configured(db, project, &ids).await?;
        let configured = configured.into_iter().filter(|found| found.environment_id == environment);
        let kills = store::kill::list(db, &ids).await?;
        let killed = kills.iter().filter(|kill| kill.environment_id == environment).map(|kill| kill.flag_id);
        let named = |configured: Configured| {
            let name = names.get(&configured.flag_id).cloned().unwrap_or_default();
            (configured.definition.key.clone(), (configured, name))
        };
        Ok(Self { flags: configured.map(named).collect(), killed: killed.collect() })
    }

    fn parents(&self, key: &FlagKey) -> Vec<FlagKey> {
        let config = self.flags.get(key).map(|(found, _)| &found.config);
        config.into_iter().flat_map(|config| &config.prerequisites).map(|needed| needed.flag.clone()).collect()
    }

    /// Who needs each flag, by key.
    fn children(&self) -> HashMap<FlagKey, Vec<FlagKey>> {
        let mut children: HashMap<FlagKey, Vec<FlagKey>> = HashMap::new();
        let mut keys: Vec<&FlagKey> = self.flags.keys().collect();
        keys.sort_unstable();
        for key in keys {
            for parent in self.parents(key) {
                children.entry(parent).or_default().push(key.clone());
            }
        }
        children
    }

    /// All that is reached from a flag, each once and as near to it as it is reached.
    fn tree(&self, root: &FlagKey, next: impl Fn(&FlagKey) -> Vec<FlagKey>) -> Option<GraphFlag> {
        let mut below: HashMap<FlagKey, Vec<FlagKey>> = HashMap::new();
        let (mut seen, mut open) = (HashSet::from([root.clone()]), VecDeque::from([root.clone()]));
        while let Some(key) = open.pop_front() {
            for other in next(&key) {
                if self.flags.contains_key(&other) && seen.insert(other.clone()) {
                    below.entry(key.clone()).or_default().push(other.clone());
                    open.push_back(other);
                }
            }
        }
        self.grown(root, &below)
    }

    fn grown(&self, key: &FlagKey, below: &HashMap<FlagKey, Vec<FlagKey>>) -> Option<GraphFlag> {
        let (Configured { flag_id, definition, config, .. }, name) = self.flags.get(key)?;
        let is_killed = self.killed.contains(flag_id);
        let flags = below.get(key).map_or(&[][..], Vec::as_slice);
        Some(GraphFlag {
            flag: key.clone(),
            name: name.clone(),
            shape: StateShape::of(config, is_killed),
            answer: sentence::config(definition, config, is_killed),
            prerequisites: config.prerequisites.clone(),
            flags: flags.iter().filter_map(|key| self.grown(key, below)).collect(),
        })
    }
}

fn segment(reached: store::segment::Reached) -> Result<GraphSegment, AppError> {
    let used_by = reached.used_by.iter().map(|key| key.parse()).collect::<Result<_, _>>();
    let used_by_segments = reached.used_by_segments.iter().map(|key| key.parse()).collect::<Result<_, _>>();
    Ok(GraphSegment {
        segment: reached.key.parse().map_err(AppError::internal)?,
        name: reached.name,
        flags: u64::try_from(reached.flags).unwrap_or(0),
        used_by: used_by.map_err(AppError::internal)?,
        used_by_segments: used_by_segments.map_err(AppError::internal)?,
    })
}

fn flag_of(node: &Node) -> Option<FlagId> {
    if let Node::Config(flag, _) = node { Some(*flag) } else { None }
}

fn segment_of(node: &Node) -> Option<SegmentId> {
    if let Node::Segment(segment) = node { Some(*segment) } else { None }
}
