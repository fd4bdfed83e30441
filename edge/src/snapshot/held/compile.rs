//! Compiling what changed of an environment.

use std::collections::HashSet;
use std::sync::Arc;

use shared::evaluation::{Flag, FlagMap, Segment, SegmentLookup};
use shared::model::environment::EnvironmentDefinition;
use shared::model::flag::FlagKind;
use shared::model::id::{FlagId, RuleId, SdkKeyId, SegmentId};
use shared::model::key::SegmentKey;
use shared::model::sdk_key::SdkKeyDefinition;
use shared::model::segment::SegmentDefinition;
use shared::wire::state::{Entity, FlagBody};
use tracing::warn;
use xxhash_rust::xxh3::xxh3_64;

use crate::count::{Cells, Counters, Shape};
use crate::snapshot::body::{
    Body, LenientDefinition, LenientEnvironment, LenientFlag, LenientSegment, hash_from_hex, is_said_revoked, lenient,
};
use crate::snapshot::held::{Held, HeldSegment};
use crate::snapshot::{CountedFlag, FlagEntry, SdkKey};

impl Held {
    pub(super) fn compile_segment(&mut self, id: SegmentId, touched: &mut HashSet<SegmentKey>) {
        if let Some(old) = self.segments.remove(&id) {
            self.name_segment(&old.key);
            touched.insert(old.key);
        }
        let Some(entry) = self.entries.get(&Entity::Segment(id)).filter(|entry| !entry.deleted) else { return };
        let segment = match entry.body.as_ref().map(Body::parse::<SegmentDefinition>) {
            Some(Ok(definition)) => {
                let form = match Segment::compile(&definition) {
                    Ok(segment) => SegmentLookup::Ready(Arc::new(segment)),
                    Err(reason) => SegmentLookup::Broken(reason),
                };
                Some((definition.key, form))
            }
            _ => lenient::<LenientSegment>(entry).map(|found| (found.key, SegmentLookup::Unreadable)),
        };
        let Some((key, form)) = segment else {
            warn!(environment.id = %self.id, segment.id = %id, "a segment that not even names itself is left out");
            return;
        };
        self.segments.insert(id, HeldSegment { key: key.clone(), form });
        self.name_segment(&key);
        touched.insert(key);
    }

    /// Finds the segment of a key anew: of several, as a restored database may leave them, the one written last.
    fn name_segment(&mut self, key: &SegmentKey) {
        let of_key = self.segments.iter().filter(|(_, segment)| segment.key == *key).map(|(id, _)| *id);
        match of_key.max_by_key(|id| (self.revision_of(Entity::Segment(*id)), *id)) {
            Some(id) => drop(self.segment_ids.insert(key.clone(), id)),
            None => drop(self.segment_ids.remove(key)),
        }
    }

    pub(super) fn compile_key(&mut self, id: SdkKeyId, counters: &Counters) {
        let old = self.keys.remove(&id);
        let Some(entry) = self.entries.get(&Entity::SdkKey(id)) else { return };
        let Some(Ok(definition)) = entry.body.as_ref().map(Body::parse::<SdkKeyDefinition>) else {
            // A tombstone of a key never seen is no different from a key never seen.
            if !entry.deleted {
                warn!(environment.id = %self.id, key.id = %id, "an SDK key that cannot be read is left out");
            }
            return;
        };
        let Some(hash) = hash_from_hex(&definition.hash) else {
            warn!(environment.id = %self.id, key.id = %id, "an SDK key whose hash is not SHA-256 in hex is left out");
            return;
        };
        let requests = match old {
            Some((_, key)) => key.requests,
            None => counters.key(self.id, id),
        };
        let key = SdkKey {
            id,
            environment: self.id,
            kind: definition.kind,
            origins: definition.origins.into(),
            expires_at_ms: definition.expires_at.map(|at| at.unix_ms()),
            is_revoked: definition.revoked || entry.deleted || is_said_revoked(entry),
            requests,
        };
        self.keys.insert(id, (hash, key));
    }

    pub(super) fn read_name(&mut self) {
        let Some(entry) = self.entries.get(&Entity::Environment) else { return };
        let named = match entry.body.as_ref().map(Body::parse::<EnvironmentDefinition>) {
            Some(Ok(definition)) => {
                self.unit_key = definition.unit_key;
                Some((definition.project, definition.key))
            }
            _ => lenient::<LenientEnvironment>(entry).map(|found| (found.project, found.key)),
        };
        if let Some((project, key)) = named {
            self.name = format!("{project}/{key}").into();
        }
    }

    pub(super) fn compile_flag(&mut self, id: FlagId, counters: &Counters) {
        let old = self.flags.remove(&id);
        if let Some(old) = &old
            && self.by_key.get(old.flag.key.as_str()).is_some_and(|entry| Arc::ptr_eq(&entry.flag, old))
        {
            self.by_key.remove(old.flag.key.as_str());
        }
        let Some(entry) = self.entries.get(&Entity::Flag(id)).filter(|entry| !entry.deleted) else { return };
        let (flag, rules, is_experiment) = match entry.body.as_ref().map(Body::parse::<FlagBody>) {
            Some(Ok(body)) => {
                let flag = Flag::compile(&body.flag, &body.config, |key| self.segment(key));
                let rules: Box<[RuleId]> = body.config.rules.iter().map(|rule| rule.id).collect();
                (flag, rules, body.flag.kind == FlagKind::Experiment)
            }
            _ => match lenient::<LenientFlag>(entry) {
                Some(LenientFlag { flag: LenientDefinition { key, client_visible } }) => {
                    let reason = "the flag was written by a newer version than this edge can read";
                    (Flag::unreadable(key, client_visible, reason), Box::default(), false)
                }
                None => {
                    warn!(environment.id = %self.id, flag.id = %id, "a flag that not even names itself is left out");
                    return;
                }
            },
        };
        let shape = Shape::of(&flag, rules);
        let cells: Arc<Cells> = match &old {
            Some(old) if old.cells.fit(&shape) => Arc::clone(&old.cells),
            _ => counters.flag(self.id, id, shape),
        };
        let digest = xxh3_64(entry.body.as_ref().map_or(flag.key.as_str(), |body| &body.json).as_bytes());
        self.flags.insert(id, Arc::new(CountedFlag { flag, digest, cells, is_experiment }));
    }

    /// Lets flags be found by their keys anew: of several of one key, as a restored database may leave them, the one
    /// written last.
    pub(super) fn place_all(&mut self) {
        let mut ids: Vec<FlagId> = self.flags.keys().copied().collect();
        ids.sort_by_key(|id| (self.revision_of(Entity::Flag(*id)), *id));
        self.by_key = FlagMap::default();
        for id in ids {
            if let Some(twin) = self.flags.get(&id).and_then(|flag| self.by_key.get(flag.flag.key.as_str())) {
                let key = twin.flag.flag.key.clone();
                warn!(environment.id = %self.id, flag.key = %key, "two flags have the same key; the newer one answers");
            }
            self.place(id);
        }
    }

    /// Lets a flag be found by its key, killed or not.
    pub(super) fn place(&mut self, id: FlagId) {
        if let Some(flag) = self.flags.get(&id) {
            let entry = self.entry(id, flag);
            self.by_key.insert(entry);
        }
    }

    pub(super) fn entry(&self, id: FlagId, flag: &Arc<CountedFlag>) -> FlagEntry {
        let is_killed = self.entries.get(&Entity::Flag(id)).is_some_and(|entry| entry.killed);
        FlagEntry { flag: Arc::clone(flag), is_killed }
    }

    fn segment(&self, key: &SegmentKey) -> SegmentLookup {
        let held = self.segment_ids.get(key).and_then(|id| self.segments.get(id));
        held.map_or(SegmentLookup::Missing, |segment| segment.form.clone())
    }
}
