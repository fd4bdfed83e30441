//! What arrived and is not yet answered from; decides when an environment switches, and switches it at once.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use shared::model::id::EnvironmentId;
use shared::wire::edge::EnvironmentRevision;
use shared::wire::state::StateKey;
use tokio::time::Instant;

use crate::count::Counters;
use crate::disk::Record;
use crate::feed::image::{self, Layer};
use crate::feed::staged::Staged;
use crate::snapshot::{Change, Held, Keys, Snapshot};

/// A running watch that waited so long for an environment's value swaps what it has.
pub(super) const WAIT_MAX: Duration = Duration::from_secs(1);
/// The most keys named as unreadable.
const UNREADABLE_MAX: usize = 100;

/// Everything held and staged, of all environments.
pub(super) struct Stage {
    environments: BTreeMap<EnvironmentId, Staged>,
    /// Everything that was in the bucket when the read began has arrived.
    is_read: bool,
    keys: Arc<Keys>,
    counters: Arc<Counters>,
}

impl Stage {
    pub(super) fn new(counters: Arc<Counters>) -> Self {
        Self { environments: BTreeMap::new(), is_read: false, keys: Arc::default(), counters }
    }

    /// Takes over what lay on disk or in a bundle; it stays unconfirmed until the bucket was read. The newest source of
    /// an environment replaces the others, of equally new ones the last; what any of them knows as refused stays so.
    pub(super) fn load(&mut self, sources: &[&[Record]]) {
        let mut environments: BTreeMap<EnvironmentId, Vec<Layer>> = BTreeMap::new();
        for records in sources {
            for (environment, layer) in image::layers(records) {
                environments.entry(environment).or_default().push(layer);
            }
        }
        for (environment, mut layers) in environments {
            layers.sort_by_key(Layer::revision);
            let mut held = Held::new(environment);
            for Layer { readable, newest } in layers {
                let found = newest.keys().copied().collect();
                held.apply(readable, None, &self.counters);
                held.apply(newest, Some(&found), &self.counters);
            }
            if held.revision().is_some() {
                let staged = Staged { began_in_read: true, ..Staged::new(held) };
                self.environments.insert(environment, staged);
                self.refresh(environment);
            }
        }
        self.collect_keys();
    }

    /// Takes what was loaded for all there is, without a bucket to confirm it.
    pub(super) fn confirm(&mut self) {
        self.environments.values_mut().for_each(|staged| staged.is_confirmed = true);
    }

    /// Everything held, for the disk.
    pub(super) fn records(&self) -> Vec<Record> {
        image::records(self.environments.values().map(|staged| &staged.held).filter(|held| held.revision().is_some()))
    }

    /// The bucket is read anew from here on: what was staged comes again, what is held stays until it is replaced.
    pub(super) fn begin_read(&mut self) {
        self.is_read = false;
        self.environments.retain(|_, staged| staged.held.revision().is_some());
        for staged in self.environments.values_mut() {
            staged.changes.clear();
            staged.found = Some(HashSet::new());
            staged.saw_environment = false;
            staged.newest_is_environment = false;
            staged.waiting_since = None;
            staged.is_confirmed = false;
        }
    }

    /// The read that began is complete.
    pub(super) fn is_read(&self) -> bool {
        self.is_read
    }

    /// Stages one message; `None` is one whose envelope cannot be read. Returns whether it is the first of its
    /// environment.
    pub(super) fn receive(&mut self, key: StateKey, change: Option<Change>, now: Instant) -> bool {
        let is_first = !self.environments.contains_key(&key.environment);
        let began_in_read = !self.is_read;
        let staged = self.environments.entry(key.environment).or_insert_with(|| Staged {
            found: Some(HashSet::new()),
            began_in_read,
            ..Staged::new(Held::new(key.environment))
        });
        staged.receive(key.entity, change, now);
        is_first
    }

    /// Nothing is pending: swaps every environment whose newest message is its `environment` value.
    pub(super) fn settle(&mut self, now: Instant) -> Vec<EnvironmentRevision> {
        if !self.is_read {
            self.is_read = true;
            // The wait is that of a running watch, however long the read took.
            let waiting = self.environments.values_mut().filter(|staged| staged.waiting_since.is_some());
            waiting.for_each(|staged| staged.waiting_since = Some(now));
        }
        let due = |staged: &Staged| staged.newest_is_environment && staged.has_something();
        self.swap(due)
    }

    /// Swaps every environment that waited too long.
    pub(super) fn force(&mut self, now: Instant) -> Vec<EnvironmentRevision> {
        if !self.is_read {
            return Vec::new();
        }
        let late = |staged: &Staged| {
            let is_late = staged.waiting_since.is_some_and(|since| now.duration_since(since) >= WAIT_MAX);
            is_late && staged.has_something() && staged.can_be_ready()
        };
        self.swap(late)
    }

    /// When [`Self::force`] is due next.
    pub(super) fn force_at(&self) -> Option<Instant> {
        let waiting = self.environments.values().filter(|staged| staged.can_be_ready() && staged.has_something());
        waiting.filter_map(|staged| staged.waiting_since).min().filter(|_| self.is_read).map(|since| since + WAIT_MAX)
    }

    fn swap(&mut self, is_due: impl Fn(&Staged) -> bool) -> Vec<EnvironmentRevision> {
        let due = self.environments.iter().filter(|(_, staged)| is_due(staged)).map(|(id, _)| *id);
        let due: Vec<EnvironmentId> = due.collect();
        let mut has_new_keys = false;
        for id in &due {
            if let Some(staged) = self.environments.get_mut(id) {
                has_new_keys |= staged.swap(&self.counters);
            }
            self.refresh(*id);
        }
        if has_new_keys {
            self.collect_keys();
        }
        let revision = |id: &EnvironmentId| self.environments.get(id).and_then(|staged| staged.held.revision());
        due.iter().filter_map(|id| Some(EnvironmentRevision { environment: *id, revision: revision(id)? })).collect()
    }

    fn refresh(&mut self, id: EnvironmentId) {
        if let Some(staged) = self.environments.get_mut(&id) {
            let is_there = staged.held.revision().is_some() && !staged.held.is_deleted();
            staged.current = is_there.then(|| Arc::new(staged.held.environment(!staged.is_confirmed)));
        }
    }

    fn collect_keys(&mut self) {
        let ready = self.environments.values().filter(|staged| staged.current.is_some());
        self.keys = Arc::new(ready.flat_map(|staged| staged.held.keys()).collect());
    }

    /// What is answered from next.
    pub(super) fn snapshot(&mut self, is_live: bool) -> Snapshot {
        let mut environments = hashbrown::HashMap::new();
        for (id, staged) in &mut self.environments {
            let Some(current) = &mut staged.current else { continue };
            let is_stale = !is_live || !staged.is_confirmed;
            if current.is_stale != is_stale {
                *current = Arc::new(current.marked(is_stale));
            }
            environments.insert(*id, Arc::clone(current));
        }
        let is_settled = |staged: &Staged| staged.is_confirmed || !staged.is_filling();
        Snapshot {
            keys: Arc::clone(&self.keys),
            is_live,
            knows_all_keys: is_live && !environments.is_empty() && self.environments.values().all(is_settled),
            is_filling: self.environments.values().any(|staged| staged.began_in_read && staged.is_filling()),
            unreadable: self.unreadable(),
            environments,
        }
    }

    fn unreadable(&self) -> Vec<String> {
        let entries = self.environments.iter().flat_map(|(id, staged)| {
            let unreadable = staged.held.entries().filter(|(_, entry)| entry.unreadable.is_some());
            unreadable.map(|(entity, _)| StateKey { environment: *id, entity }.to_string())
        });
        entries.take(UNREADABLE_MAX).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use shared::wire::state::{Entity, Envelope};
    use uuid::Uuid;

    use super::*;

    fn environment() -> EnvironmentId {
        Uuid::from_u128(1).into()
    }

    fn flag(id: u128) -> Entity {
        Entity::Flag(Uuid::from_u128(id).into())
    }

    fn put(stage: &mut Stage, entity: Entity, revision: u64) {
        put_at(stage, entity, revision, Instant::now());
    }

    fn put_at(stage: &mut Stage, entity: Entity, revision: u64, now: Instant) {
        let body = match entity {
            Entity::Flag(id) => json!({
                "flag": {
                    "key": format!("f{id}"), "value_type": "string", "kind": "release", "client_visible": false,
                    "variants": [{"key": "v", "value": revision.to_string()}],
                },
                "config": {"enabled": true, "default_serve": {"variant": "v"}},
            }),
            _ => json!({"project": "shop", "key": "production"}),
        };
        let envelope = json!({"format": 1, "revision": revision, "body": body});
        let envelope: Envelope = serde_json::from_str(&envelope.to_string()).expect("an envelope");
        let key = StateKey { environment: environment(), entity };
        stage.receive(key, Some(Change::Put(envelope)), now);
    }

    fn flags_of(stage: &mut Stage) -> Option<usize> {
        stage.snapshot(true).environments.get(&environment()).map(|environment| environment.flags.len())
    }

    fn read_of_two_flags() -> Stage {
        let mut stage = Stage::new(Arc::default());
        stage.begin_read();
        put(&mut stage, flag(1), 4);
        put(&mut stage, flag(2), 5);
        put(&mut stage, Entity::Environment, 5);
        assert_eq!(stage.settle(Instant::now()).len(), 1);
        stage
    }

    #[test]
    fn an_environment_is_not_ready_before_its_value_was_seen_however_long_that_takes() {
        let mut stage = Stage::new(Arc::default());
        stage.begin_read();
        put(&mut stage, flag(1), 4);
        assert!(stage.settle(Instant::now()).is_empty());
        assert!(stage.force(Instant::now() + 2 * WAIT_MAX).is_empty());
        assert_eq!(flags_of(&mut stage), None);
        let snapshot = stage.snapshot(true);
        assert!(snapshot.is_filling && !snapshot.knows_all_keys);
    }

    #[test]
    fn a_complete_read_replaces_what_is_held_unless_that_is_newer() {
        let mut stage = read_of_two_flags();
        stage.begin_read();
        put(&mut stage, flag(1), 3);
        put(&mut stage, Entity::Environment, 4);
        assert!(stage.settle(Instant::now()).is_empty(), "an older bucket replaces nothing");
        assert!(stage.snapshot(true).environments[&environment()].is_stale);
        put(&mut stage, flag(1), 6);
        put(&mut stage, Entity::Environment, 6);
        assert_eq!(stage.settle(Instant::now()).len(), 1);
        assert_eq!(flags_of(&mut stage), Some(1));
        assert!(stage.snapshot(true).knows_all_keys);
    }

    #[test]
    fn a_reading_that_finds_everything_as_it_is_confirms_it_and_shares_the_compiled_flags() {
        let mut stage = read_of_two_flags();
        let before = stage.snapshot(true);
        stage.begin_read();
        put(&mut stage, flag(1), 4);
        put(&mut stage, flag(2), 5);
        put(&mut stage, Entity::Environment, 5);
        assert_eq!(stage.settle(Instant::now()).len(), 1);
        let after = stage.snapshot(true);
        let compiled = |snapshot: &Snapshot, key: &str| {
            Arc::clone(&snapshot.environments[&environment()].flag(key).expect("a flag").flag)
        };
        let key = format!("f{}", Uuid::from_u128(1));
        assert!(Arc::ptr_eq(&compiled(&before, &key), &compiled(&after, &key)));
    }

    #[test]
    fn what_was_staged_waits_for_the_environment_or_for_a_second() {
        let mut stage = read_of_two_flags();
        put(&mut stage, flag(3), 6);
        assert!(stage.settle(Instant::now()).is_empty());
        assert!(stage.force(Instant::now()).is_empty());
        assert_eq!(flags_of(&mut stage), Some(2));
        let swapped = stage.force(Instant::now() + WAIT_MAX);
        assert_eq!(swapped, [EnvironmentRevision { environment: environment(), revision: 5 }]);
        assert_eq!(flags_of(&mut stage), Some(3));
    }

    #[test]
    fn a_repeated_environment_value_does_not_shorten_the_wait_of_a_later_change() {
        let mut stage = read_of_two_flags();
        put(&mut stage, Entity::Environment, 5);
        assert!(stage.settle(Instant::now()).is_empty());
        let later = Instant::now() + 2 * WAIT_MAX;
        put_at(&mut stage, flag(1), 6, later);
        assert!(stage.force(later).is_empty(), "half a change would be answered");
        assert_eq!(stage.force_at(), Some(later + WAIT_MAX));
    }

    #[test]
    fn what_lies_on_disk_comes_back_unconfirmed() {
        let stage = read_of_two_flags();
        let mut restarted = Stage::new(Arc::default());
        restarted.load(&[&stage.records()]);
        assert_eq!(flags_of(&mut restarted), Some(2));
        let snapshot = restarted.snapshot(true);
        assert!(snapshot.environments[&environment()].is_stale && !snapshot.knows_all_keys);
        assert_eq!(snapshot.environments[&environment()].revision, 5);
    }
}
