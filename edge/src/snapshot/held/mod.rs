//! One environment as the feed holds it: what came, byte for byte, and its compiled form.

mod compile;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use shared::evaluation::{FlagMap, SegmentLookup};
use shared::model::id::{EnvironmentId, FlagId, SdkKeyId, SegmentId};
use shared::model::key::SegmentKey;
use shared::wire::state::{Entity, Envelope};
use uuid::Uuid;

use crate::clock;
use crate::count::Counters;
use crate::metrics::EnvironmentStats;
use crate::snapshot::body::{Body, is_readable};
use crate::snapshot::{CountedFlag, Environment, FlagEntry, KeyHash, SdkKey, metadata};

/// The most revoked keys remembered that the bucket no longer names.
const REVOKED_KEPT_MAX: usize = 10_000;

/// What is held of one key of the bucket.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The changeset that wrote it.
    pub revision: u64,
    /// Off now, whatever the body says.
    pub killed: bool,
    /// A tombstone.
    pub deleted: bool,
    /// The last body that could be read.
    pub body: Option<Body>,
    /// A newer one that cannot.
    pub unreadable: Option<Body>,
}

/// What a message says of one key.
#[derive(Clone, Debug)]
pub enum Change {
    /// A new value.
    Put(Envelope),
    /// The bucket lost the key altogether.
    Gone,
}

/// One environment, whole.
#[derive(Debug)]
pub struct Held {
    id: EnvironmentId,
    entries: BTreeMap<Entity, Entry>,
    flags: HashMap<FlagId, Arc<CountedFlag>>,
    by_key: FlagMap<FlagEntry>,
    segments: HashMap<SegmentId, HeldSegment>,
    segment_ids: HashMap<SegmentKey, SegmentId>,
    keys: HashMap<SdkKeyId, (KeyHash, SdkKey)>,
    name: Arc<str>,
    unit_key: Option<Uuid>,
    stats: Arc<EnvironmentStats>,
}

#[derive(Debug)]
struct HeldSegment {
    key: SegmentKey,
    /// What is told to the flags that name it.
    form: SegmentLookup,
}

impl Held {
    /// An environment of which nothing is held yet.
    pub fn new(id: EnvironmentId) -> Self {
        Self {
            id,
            entries: BTreeMap::new(),
            flags: HashMap::new(),
            by_key: FlagMap::default(),
            segments: HashMap::new(),
            segment_ids: HashMap::new(),
            keys: HashMap::new(),
            name: id.to_string().into(),
            unit_key: None,
            stats: Arc::default(),
        }
    }

    /// Which environment.
    pub fn id(&self) -> EnvironmentId {
        self.id
    }

    /// The environment's revision; `None` before its `environment` value came.
    pub fn revision(&self) -> Option<u64> {
        self.entries.get(&Entity::Environment).map(|entry| entry.revision)
    }

    /// The environment itself was deleted.
    pub fn is_deleted(&self) -> bool {
        self.entries.get(&Entity::Environment).is_some_and(|entry| entry.deleted)
    }

    /// Revision of what is held of one key.
    pub fn revision_of(&self, entity: Entity) -> Option<u64> {
        self.entries.get(&entity).map(|entry| entry.revision)
    }

    /// Everything held, for the disk.
    pub fn entries(&self) -> impl Iterator<Item = (Entity, &Entry)> {
        self.entries.iter().map(|(entity, entry)| (*entity, entry))
    }

    /// SDK keys by hash.
    pub fn keys(&self) -> impl Iterator<Item = (KeyHash, SdkKey)> {
        self.keys.values().cloned()
    }

    /// Takes changes over and compiles what they touch. With `complete`, the keys that a complete read found, everything
    /// else is let go, unless it is newer than what was read. Returns whether SDK keys changed.
    pub fn apply(
        &mut self,
        changes: HashMap<Entity, Change>,
        complete: Option<&HashSet<Entity>>,
        counters: &Counters,
    ) -> bool {
        let mut changes: Vec<(Entity, Change)> = changes.into_iter().collect();
        if let Some(found) = complete {
            let read = changes.iter().find_map(|(entity, change)| match change {
                Change::Put(envelope) if *entity == Entity::Environment => Some(envelope.revision),
                _ => None,
            });
            let read = read.or_else(|| self.revision()).unwrap_or(0);
            let lost = self.entries.iter().filter(|(entity, entry)| !found.contains(entity) && entry.revision <= read);
            changes.extend(lost.map(|(entity, _)| (*entity, Change::Gone)).collect::<Vec<_>>());
        }
        // Segments first: flags are compiled against them.
        changes.sort_by_key(|(entity, _)| matches!(entity, Entity::Flag(_)));
        let mut segments = HashSet::new();
        let mut flags = HashSet::new();
        let mut has_new_keys = false;
        for (entity, change) in changes {
            let is_same_body = self.take_over(entity, change);
            match entity {
                Entity::Flag(id) if is_same_body => self.place(id),
                Entity::Flag(id) => drop(flags.insert(id)),
                Entity::Segment(id) => self.compile_segment(id, &mut segments),
                Entity::SdkKey(id) => {
                    self.compile_key(id, counters);
                    has_new_keys = true;
                }
                Entity::Environment => self.read_name(),
            }
        }
        if !segments.is_empty() {
            let uses = |flag: &CountedFlag| flag.flag.segments().iter().any(|key| segments.contains(key));
            flags.extend(self.flags.iter().filter(|(_, flag)| uses(flag)).map(|(id, _)| *id));
        }
        for id in flags {
            self.compile_flag(id, counters);
            self.place(id);
        }
        if self.by_key.len() != self.flags.len() {
            self.place_all();
        }
        has_new_keys
    }

    /// Notes what came. Returns whether the body that answers are made from stayed the same.
    fn take_over(&mut self, entity: Entity, change: Change) -> bool {
        let old = self.entries.remove(&entity);
        let is_key = matches!(entity, Entity::SdkKey(_));
        let envelope = match change {
            Change::Put(envelope) => envelope,
            Change::Gone => {
                let revoked = old.filter(|_| is_key && self.is_refused(entity));
                if let Some(entry) = revoked
                    && self.keys.len() < REVOKED_KEPT_MAX
                {
                    self.entries.insert(entity, entry);
                }
                return false;
            }
        };
        let newest = envelope.body.as_deref().map(|json| Body::new(envelope.format, json));
        let was_tombstone = old.as_ref().is_some_and(|entry| entry.deleted);
        let (was_deleted, kept) = old.map_or((true, None), |entry| (entry.deleted, entry.body));
        let is_readable = newest.as_ref().is_some_and(|body| is_readable(entity, body));
        let is_same = newest == kept && was_deleted == envelope.deleted;
        let (body, unreadable) = match newest {
            Some(body) if is_readable => (Some(body), None),
            // A tombstone needs no body, but a deleted key must still be recognised to be refused.
            None if envelope.deleted => (kept.filter(|_| is_key), None),
            // Nothing to read is as unreadable as something strange.
            newest => (kept, Some(newest.unwrap_or(Body { format: envelope.format, json: "null".into() }))),
        };
        // Once refused, refused for good: a database restored from before the revocation does not lift it. Kept as a
        // tombstone with its body, which is what the disk remembers of it.
        let deleted = envelope.deleted || (is_key && was_tombstone) || self.is_refused(entity);
        let (revision, killed) = (envelope.revision, envelope.killed);
        self.entries.insert(entity, Entry { revision, killed, deleted, body, unreadable });
        is_same
    }

    fn is_refused(&self, entity: Entity) -> bool {
        match entity {
            Entity::SdkKey(id) => self.keys.get(&id).is_some_and(|(_, key)| key.is_revoked),
            _ => false,
        }
    }

    /// The immutable form, to be answered from.
    pub fn environment(&self, is_stale: bool) -> Environment {
        let revision = self.revision().unwrap_or(0);
        Environment {
            id: self.id,
            name: Arc::clone(&self.name),
            revision,
            swapped_at_ms: clock::now_ms(),
            is_stale,
            metadata: metadata(&self.name, revision, is_stale),
            flags: self.by_key.clone(),
            sorted: OnceLock::new(),
            boundaries: OnceLock::new(),
            unit_key: self.unit_key,
            unit_attributes: OnceLock::new(),
            stats: Arc::clone(&self.stats),
        }
    }
}
