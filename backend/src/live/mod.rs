//! What happens right now, on every backend alike: which edge answers by which revision, and events for the UI.
//!
//! Kept in memory from what edges and other backends say; the leader writes edges to the database, so that a silent
//! one is still known after a restart. Times are measured on this backend's clock.

mod listen;
mod sample;
mod watch;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use listen::listen;
pub use sample::EdgeSample;
use shared::model::id::{EnvironmentId, ProcessId, ProjectId, UserId};
use shared::model::key::FlagKey;
use shared::wire::api::edge::{EdgeDetail, EdgeEnvironment, EdgeState, ReceiptDetail};
use shared::wire::api::event::Event;
use shared::wire::edge::{HEARTBEAT_SECONDS, Heartbeat, Receipt};
use time::{Duration, OffsetDateTime};
use tokio::sync::broadcast;
use watch::Watches;
pub use watch::{WatchedFlag, Watching};

use crate::store::edge::{Departure, StoredEdge};

/// An edge not heard for this long is silent.
pub const SILENT_AFTER: Duration = Duration::seconds(10);
/// No counter gets further within its life.
pub const REVISION_MAX: u64 = 1 << 53;
/// More edges than this are not followed.
const EDGES_MAX: usize = 1_000;
/// Receipts kept per edge and environment, for times of recent revisions.
const RECEIPTS_MAX: usize = 64;
/// Commits kept, for times of recent revisions.
const COMMITS_MAX: usize = 1_000;
/// Events a slow viewer may lag behind before it has to ask for everything again.
const EVENTS_MAX: usize = 1_024;
/// Names listed of edges that are waited for.
const WAITING_MAX: usize = 20;

/// An event with who may see it: members of a project, or everybody signed in.
#[derive(Clone, Debug)]
pub struct LiveEvent {
    /// Whose; absent for everybody.
    pub audience: Option<Audience>,
    /// What happened.
    pub event: Event,
}

/// Whom an event concerns.
#[derive(Clone, Copy, Debug)]
pub enum Audience {
    /// Members of a project.
    Project(ProjectId),
    /// Members of the project of an environment.
    Environment(EnvironmentId),
    /// Those of them who watch this flag.
    Watching(WatchedFlag),
}

/// See the module.
#[derive(Debug)]
pub struct Live {
    known: Mutex<Known>,
    events: broadcast::Sender<LiveEvent>,
    /// Whose permissions, sessions or tokens changed; absent when that may be anybody.
    people: broadcast::Sender<Option<UserId>>,
    watches: Arc<Watches>,
}

#[derive(Debug, Default)]
struct Known {
    edges: BTreeMap<ProcessId, Edge>,
    commits: BTreeMap<u64, OffsetDateTime>,
    /// Edges that left, not yet written to the database.
    departed: Vec<(StoredEdge, Departure)>,
}

#[derive(Debug)]
struct Edge {
    heartbeat: Heartbeat,
    last_heard_at: OffsetDateTime,
    /// When it sent that heartbeat; a receipt alone says nothing of counts.
    heartbeat_at: OffsetDateTime,
    counted_per_second_max: f64,
    /// Not yet written to the database by the leader.
    is_unsaved: bool,
    environments: HashMap<EnvironmentId, Applied>,
}

#[derive(Debug, Default)]
struct Applied {
    revision: u64,
    receipts: VecDeque<(u64, OffsetDateTime)>,
}

impl Default for Live {
    fn default() -> Self {
        Self {
            known: Mutex::default(),
            events: broadcast::channel(EVENTS_MAX).0,
            people: broadcast::channel(EVENTS_MAX).0,
            watches: Arc::default(),
        }
    }
}

impl Live {
    /// Follows events from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<LiveEvent> {
        self.events.subscribe()
    }

    /// Tells viewers; without any it is lost, which is what they want.
    pub fn tell(&self, audience: Option<Audience>, event: Event) {
        let receivers = self.events.send(LiveEvent { audience, event }).unwrap_or(0);
        tracing::trace!(receivers, "told viewers");
    }

    /// Hears from now on whose permissions, sessions or tokens changed.
    pub fn subscribe_people(&self) -> broadcast::Receiver<Option<UserId>> {
        self.people.subscribe()
    }

    /// Tells streams that are open to look again at what somebody may see; at what anybody may when nobody is named.
    pub fn tell_people(&self, person: Option<UserId>) {
        let receivers = self.people.send(person).unwrap_or(0);
        tracing::trace!(receivers, "told streams whose permissions changed");
    }

    /// Somebody watches a flag as long as the answer is kept; `None` when too many others are watched.
    pub fn watch(&self, flag: WatchedFlag, key: FlagKey) -> Option<Watching> {
        self.watches.add(flag, key)
    }

    /// Flags that somebody watches.
    pub fn watched(&self) -> Vec<(WatchedFlag, FlagKey)> {
        self.watches.list()
    }

    /// Notes when a revision was committed; the first note counts.
    pub fn note_commit(&self, revision: u64, at: OffsetDateTime) {
        let mut known = self.lock();
        known.commits.entry(revision).or_insert(at);
        while known.commits.len() > COMMITS_MAX {
            known.commits.pop_first();
        }
    }

    /// Takes over edges that were known before a restart.
    pub fn load(&self, stored: Vec<StoredEdge>) {
        let mut known = self.lock();
        for edge in stored {
            known.edges.entry(edge.heartbeat.process).or_insert_with(|| {
                let loaded = Edge::new(edge.heartbeat, edge.last_heard_at, false);
                Edge { counted_per_second_max: edge.counted_per_second_max, ..loaded }
            });
        }
    }

    /// An edge said how it is. True when that is news to viewers.
    pub fn heard(&self, heartbeat: Heartbeat, now: OffsetDateTime) -> bool {
        let mut known = self.lock();
        for predecessor in heartbeat.predecessors.iter().filter(|old| **old != heartbeat.process) {
            known.depart(*predecessor, Departure::Replaced);
        }
        let Some(edge) = known.edge(&heartbeat, now) else { return false };
        let is_news = edge.heartbeat != heartbeat || now - edge.last_heard_at > SILENT_AFTER;
        for at in &heartbeat.environments {
            edge.environments.entry(at.environment).or_default().reached(at.revision, None);
        }
        edge.note_rate(&heartbeat, now);
        edge.heartbeat = heartbeat;
        edge.heartbeat_at = now;
        edge.last_heard_at = now;
        edge.is_unsaved = true;
        is_news
    }

    /// An edge applied a revision; answers how far that revision has come.
    pub fn receipt(&self, receipt: &Receipt, now: OffsetDateTime) -> ReceiptDetail {
        let Receipt { process, environment, revision, .. } = *receipt;
        let mut known = self.lock();
        let unseen = Heartbeat {
            process,
            name: receipt.name.clone(),
            version: String::new(),
            predecessors: Vec::new(),
            environments: Vec::new(),
            unreadable: Vec::new(),
            memory_bytes: 0,
            counted: 0,
            unsent: 0,
            lost: 0,
            inherited: Vec::new(),
        };
        if let Some(edge) = known.edge(&unseen, now) {
            edge.environments.entry(environment).or_default().reached(revision, Some(now));
            edge.last_heard_at = now;
        }
        known.receipt_detail(environment, revision)
    }

    /// An edge said goodbye and counts no more.
    pub fn depart(&self, process: ProcessId, how: Departure) {
        self.lock().depart(process, how);
    }

    /// Somebody dismissed an edge; it counts no more unless it is heard again.
    pub fn forget(&self, process: ProcessId) -> bool {
        self.lock().edges.remove(&process).is_some()
    }

    /// Edges that left and are not written down yet.
    pub fn departed(&self) -> Vec<(StoredEdge, Departure)> {
        self.lock().departed.clone()
    }

    /// An edge that left was written down.
    pub fn departure_written(&self, process: ProcessId) {
        self.lock().departed.retain(|(edge, _)| edge.heartbeat.process != process);
    }

    /// How far a revision of an environment has come.
    pub fn receipt_detail(&self, environment: EnvironmentId, revision: u64) -> ReceiptDetail {
        self.lock().receipt_detail(environment, revision)
    }

    /// All edges by name, given the newest revision of each environment.
    pub fn edges(&self, newest: &HashMap<EnvironmentId, u64>, now: OffsetDateTime) -> Vec<EdgeDetail> {
        let known = self.lock();
        let mut edges: Vec<EdgeDetail> = known.edges.values().map(|edge| known.detail(edge, newest, now)).collect();
        edges.sort_by(|a, b| (&a.name, a.process).cmp(&(&b.name, b.process)));
        edges
    }

    /// The newest revision that any edge says it has of one of these environments. What no counter can have reached is
    /// not believed: it would use up all numbers.
    pub fn newest_revision(&self, environments: &[(EnvironmentId, u64)]) -> u64 {
        let known = self.lock();
        let said = known
            .edges
            .values()
            .flat_map(|edge| environments.iter().filter_map(|(id, _)| edge.environments.get(id)).map(|at| at.revision));
        said.filter(|revision| *revision <= REVISION_MAX).max().unwrap_or(0)
    }

    /// Edges heard since the last call, for the leader to write down.
    pub fn take_unsaved(&self) -> Vec<StoredEdge> {
        let mut known = self.lock();
        let unsaved =
            known.edges.values_mut().filter_map(|edge| std::mem::take(&mut edge.is_unsaved).then(|| edge.stored()));
        unsaved.collect()
    }

    /// The name of an edge that is not silent.
    pub fn heard_lately(&self, process: ProcessId, now: OffsetDateTime) -> Option<String> {
        let known = self.lock();
        let edge = known.edges.get(&process).filter(|edge| now - edge.last_heard_at <= SILENT_AFTER)?;
        Some(edge.heartbeat.name.clone())
    }

    /// How many edges are silent, so that a change of it can be told.
    pub fn silent(&self, now: OffsetDateTime) -> usize {
        self.lock().edges.values().filter(|edge| now - edge.last_heard_at > SILENT_AFTER).count()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Edge {
    fn new(heartbeat: Heartbeat, last_heard_at: OffsetDateTime, is_unsaved: bool) -> Self {
        let mut environments: HashMap<EnvironmentId, Applied> = HashMap::new();
        for at in &heartbeat.environments {
            environments.entry(at.environment).or_default().reached(at.revision, None);
        }
        let (heartbeat_at, counted_per_second_max) = (last_heard_at, 0.0);
        Self { heartbeat, last_heard_at, heartbeat_at, counted_per_second_max, is_unsaved, environments }
    }

    fn stored(&self) -> StoredEdge {
        StoredEdge {
            heartbeat: self.heartbeat.clone(),
            last_heard_at: self.last_heard_at,
            counted_per_second_max: self.counted_per_second_max,
        }
    }

    /// How fast it counts, for the bound of what it may count unheard. Heartbeats that were held up on their way and come
    /// at once still stand for their usual distance.
    fn note_rate(&mut self, heartbeat: &Heartbeat, now: OffsetDateTime) {
        // What is known of receipts alone has no version and no counts.
        if self.heartbeat.version.is_empty() {
            return;
        }
        let seconds = (now - self.heartbeat_at).as_seconds_f64().max(HEARTBEAT_SECONDS as f64);
        let counted = heartbeat.counted.saturating_sub(self.heartbeat.counted);
        self.counted_per_second_max = self.counted_per_second_max.max(counted as f64 / seconds);
    }
}

impl Applied {
    fn reached(&mut self, revision: u64, at: Option<OffsetDateTime>) {
        self.revision = self.revision.max(revision);
        if let Some(at) = at
            && self.receipts.back().is_none_or(|(last, _)| *last < revision)
        {
            self.receipts.push_back((revision, at));
            if self.receipts.len() > RECEIPTS_MAX {
                self.receipts.pop_front();
            }
        }
    }

    /// When it first answered by this revision or a newer one, as far as this backend saw it.
    fn since(&self, revision: u64) -> Option<OffsetDateTime> {
        // The oldest receipt kept may be later than the first one that would do.
        if self.receipts.len() == RECEIPTS_MAX && self.receipts.front().is_some_and(|(first, _)| *first > revision) {
            return None;
        }
        self.receipts.iter().find(|(reached, _)| *reached >= revision).map(|(_, at)| *at)
    }
}

impl Known {
    fn depart(&mut self, process: ProcessId, how: Departure) {
        if let Some(edge) = self.edges.remove(&process)
            && self.departed.len() < EDGES_MAX
        {
            self.departed.push((edge.stored(), how));
        }
    }

    fn edge(&mut self, heartbeat: &Heartbeat, now: OffsetDateTime) -> Option<&mut Edge> {
        if !self.edges.contains_key(&heartbeat.process) && self.edges.len() >= EDGES_MAX {
            tracing::warn!(edge.name = heartbeat.name, "there are more edges than can be followed");
            return None;
        }
        Some(self.edges.entry(heartbeat.process).or_insert_with(|| {
            let is_unsaved = !heartbeat.version.is_empty();
            Edge::new(heartbeat.clone(), now, is_unsaved)
        }))
    }

    fn lag_ms(&self, applied: &Applied, revision: u64) -> Option<u64> {
        let lag = applied.since(revision)? - *self.commits.get(&revision)?;
        Some(u64::try_from(lag.whole_milliseconds()).unwrap_or(0))
    }

    fn receipt_detail(&self, environment: EnvironmentId, revision: u64) -> ReceiptDetail {
        let mut waiting = Vec::new();
        let mut lags = Vec::new();
        for edge in self.edges.values() {
            match edge.environments.get(&environment).filter(|applied| applied.revision >= revision) {
                Some(applied) => lags.push(self.lag_ms(applied, revision)),
                None => waiting.push(edge.heartbeat.name.clone()),
            }
        }
        let slowest = lags.iter().copied().collect::<Option<Vec<u64>>>().and_then(|lags| lags.into_iter().max());
        let live = u32::try_from(lags.len()).unwrap_or(u32::MAX);
        let edges = u32::try_from(self.edges.len()).unwrap_or(u32::MAX);
        let slowest_ms = slowest.filter(|_| waiting.is_empty());
        waiting.truncate(WAITING_MAX);
        ReceiptDetail { environment, revision, live, edges, slowest_ms, waiting }
    }

    fn detail(&self, edge: &Edge, newest: &HashMap<EnvironmentId, u64>, now: OffsetDateTime) -> EdgeDetail {
        let is_behind = newest.iter().any(|(environment, revision)| {
            edge.environments.get(environment).is_none_or(|applied| applied.revision < *revision)
        });
        let state = match () {
            () if now - edge.last_heard_at > SILENT_AFTER => EdgeState::Silent,
            () if is_behind => EdgeState::Behind,
            () => EdgeState::Live,
        };
        let mut environments: Vec<EdgeEnvironment> = edge
            .environments
            .iter()
            .map(|(environment, applied)| EdgeEnvironment {
                environment: *environment,
                revision: applied.revision,
                lag_ms: self.lag_ms(applied, applied.revision),
            })
            .collect();
        environments.sort_by_key(|at| at.environment);
        EdgeDetail {
            process: edge.heartbeat.process,
            name: edge.heartbeat.name.clone(),
            version: edge.heartbeat.version.clone(),
            state,
            last_heard_at: edge.last_heard_at.into(),
            environments,
            memory_bytes: edge.heartbeat.memory_bytes,
            counted: edge.heartbeat.counted,
            unsent: edge.heartbeat.unsent,
            unreadable: edge.heartbeat.unreadable.clone(),
        }
    }
}
