//! What refers to what: noted when a document is saved, checked once all of a changeset are, so that what refers and what
//! is referred to may come in any order. What is checked is what was saved, and whatever refers to it and may break with it; never the
//! whole project.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem::swap;

use shared::model::flag::{FlagConfig, FlagDefinition};
use shared::model::id::{EnvironmentId, FlagId, ProjectId, SegmentId};
use shared::model::key::{FlagKey, SegmentKey};
use shared::model::problem::{FieldProblem, Problems};
use shared::model::reach::Documents;
use shared::model::segment::SegmentDefinition;
use sqlx::PgConnection;

use crate::app::changeset::draft::Draft;
use crate::error::AppError;
use crate::store;
use crate::store::reference::Node;

/// How many of those who refer to what was saved are read at once, each with all it reaches: a segment may be used by
/// every flag.
const NODES_AT_ONCE: usize = 200;

/// What a document refers to.
#[derive(Clone, Debug, Default)]
pub(super) struct References {
    flags: Vec<FlagKey>,
    segments: Vec<SegmentKey>,
}

/// A config or segment that the changeset saved.
pub(super) struct Saved {
    pub(super) node: Node,
    /// Where it stands in the body; empty for the body itself.
    place: String,
    references: References,
    /// Whether it refers to something that it did not before: then those who refer to it reach more.
    is_wider: bool,
}

/// Documents around some nodes.
struct Around {
    /// All segments, and while an environment is looked at, its flags.
    documents: Documents,
    flags: BTreeMap<EnvironmentId, BTreeMap<FlagKey, (FlagDefinition, FlagConfig)>>,
    flag_keys: HashMap<FlagId, FlagKey>,
    segment_keys: HashMap<SegmentId, SegmentKey>,
}

impl From<&FlagConfig> for References {
    fn from(config: &FlagConfig) -> Self {
        let flags = config.prerequisites.iter().map(|prerequisite| prerequisite.flag.clone()).collect();
        Self { flags, segments: config.segments() }
    }
}

impl From<&SegmentDefinition> for References {
    fn from(segment: &SegmentDefinition) -> Self {
        Self { flags: Vec::new(), segments: segment.segments() }
    }
}

impl References {
    fn is_empty(&self) -> bool {
        self.flags.is_empty() && self.segments.is_empty()
    }

    fn is_wider_than(&self, before: &Self) -> bool {
        self.flags.iter().any(|key| !before.flags.contains(key))
            || self.segments.iter().any(|key| !before.segments.contains(key))
    }
}

impl Draft {
    /// Notes what a saved document refers to from now on. Before is absent when it is new.
    pub(super) async fn refer(
        &mut self,
        db: &mut PgConnection,
        node: Node,
        place: impl Into<String>,
        before: Option<References>,
        references: References,
    ) -> Result<(), AppError> {
        if before.is_none() && references.is_empty() {
            return Ok(());
        }
        // What it reached until now may be needed no more.
        let reached = store::reference::list_reached(db, &[node]).await?;
        self.reached.extend(segments_of(&reached));
        store::reference::save(db, self.project, node, &references.flags, &references.segments).await?;
        let was_wider = self.saved.iter().any(|saved| saved.node == node && saved.is_wider);
        let is_wider = was_wider || references.is_wider_than(&before.unwrap_or_default());
        self.saved.retain(|saved| saved.node != node);
        self.saved.push(Saved { node, place: place.into(), references, is_wider });
        Ok(())
    }

    /// Fails when something that was saved refers to what does not exist, to itself or to too much, or when something
    /// that refers to it does so from now on.
    pub(super) async fn check_references(&mut self, db: &mut PgConnection) -> Result<(), AppError> {
        if self.entries.len() > 1 {
            // A document may refer to what a later change made.
            for Saved { node, references, .. } in &self.saved {
                store::reference::save(db, self.project, *node, &references.flags, &references.segments).await?;
            }
        }
        self.check_archived(db).await?;
        self.check_saved(db).await?;
        let referring = self.list_referring(db).await?;
        for some in referring.chunks(NODES_AT_ONCE) {
            let reached = store::reference::list_reached(db, some).await?;
            let mut around = Around::load(db, self.project, &reached).await?;
            let mut problems = Problems::default();
            for node in some {
                let Some((place, name)) = self.describe(&around, *node) else { continue };
                for FieldProblem { field, message } in around.check(*node) {
                    problems.add(format!("{place}.{field}"), format!("{name}: {message}"));
                }
            }
            problems.into_result().map_err(AppError::Invalid)?;
        }
        Ok(())
    }

    async fn check_saved(&mut self, db: &mut PgConnection) -> Result<(), AppError> {
        let saved: Vec<&Saved> = self.saved.iter().filter(|saved| !saved.references.is_empty()).collect();
        if saved.is_empty() {
            return Ok(());
        }
        let nodes: Vec<Node> = saved.iter().map(|saved| saved.node).collect();
        let reached = store::reference::list_reached(db, &nodes).await?;
        let mut around = Around::load(db, self.project, &reached).await?;
        let mut problems = Problems::default();
        for Saved { node, place, .. } in saved {
            for FieldProblem { field, message } in around.check(*node) {
                problems.add(if place.is_empty() { field } else { format!("{place}.{field}") }, message);
            }
        }
        self.reached.extend(segments_of(&reached));
        problems.into_result().map_err(AppError::Invalid)
    }

    /// Nodes that were not saved themselves, but may break with what was: those of an environment together.
    async fn list_referring(&self, db: &mut PgConnection) -> Result<Vec<Node>, AppError> {
        let wider: Vec<Node> = self.saved.iter().filter(|saved| saved.is_wider).map(|saved| saved.node).collect();
        let mut found = BTreeSet::new();
        if !wider.is_empty() {
            found.extend(store::reference::list_referring(db, &wider).await?);
        }
        if !self.narrower.is_empty() {
            found.extend(store::reference::list_children(db, &self.narrower).await?);
        }
        for saved in &self.saved {
            found.remove(&saved.node);
        }
        let mut found: Vec<Node> = found.into_iter().collect();
        found.sort_by_key(|node| if let Node::Config(_, environment) = node { Some(*environment) } else { None });
        Ok(found)
    }

    /// The path of a node that the body does not hold, and its name in a sentence.
    fn describe(&self, around: &Around, node: Node) -> Option<(String, String)> {
        match node {
            Node::Config(flag, environment) => {
                let key = around.flag_keys.get(&flag)?;
                let environment = &self.environments.iter().find(|known| known.id == environment)?.key;
                Some((format!("flags[{key}].environments.{environment}"), format!("flag '{key}' in {environment}")))
            }
            Node::Segment(segment) => {
                let key = around.segment_keys.get(&segment)?;
                Some((format!("segments[{key}]"), format!("segment '{key}'")))
            }
        }
    }
}

impl Around {
    async fn load(db: &mut PgConnection, project: ProjectId, nodes: &[Node]) -> Result<Self, AppError> {
        let mut around = Self {
            documents: Documents::default(),
            flags: BTreeMap::new(),
            flag_keys: HashMap::new(),
            segment_keys: HashMap::new(),
        };
        for found in store::reference::list_configs(db, project, nodes).await? {
            let key = found.definition.key.clone();
            around.flag_keys.insert(found.flag_id, key.clone());
            around.flags.entry(found.environment_id).or_default().insert(key, (found.definition, found.config));
        }
        for (id, definition) in store::reference::list_segments(db, project, nodes).await? {
            around.segment_keys.insert(id, definition.key.clone());
            around.documents.segments.insert(definition.key.clone(), definition);
        }
        Ok(around)
    }

    fn check(&mut self, node: Node) -> Vec<FieldProblem> {
        let found = match node {
            Node::Config(flag, environment) => {
                let (Some(key), Some(flags)) = (self.flag_keys.get(&flag), self.flags.get_mut(&environment)) else {
                    return Vec::new();
                };
                swap(flags, &mut self.documents.flags);
                let found = self.documents.flags.get(key).map(|(_, config)| self.documents.check_flag(key, config));
                swap(flags, &mut self.documents.flags);
                found
            }
            Node::Segment(segment) => {
                let key = self.segment_keys.get(&segment);
                key.and_then(|key| self.documents.segments.get(key)).map(|found| self.documents.check_segment(found))
            }
        };
        found.and_then(Result::err).unwrap_or_default()
    }
}

fn segments_of(nodes: &[Node]) -> impl Iterator<Item = SegmentId> {
    nodes.iter().filter_map(|node| if let Node::Segment(segment) = node { Some(*segment) } else { None })
}
