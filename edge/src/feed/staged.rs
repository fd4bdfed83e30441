//! One environment between the bucket and what is answered from.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use shared::wire::state::Entity;
use tokio::time::Instant;
use tracing::warn;

use crate::count::Counters;
use crate::snapshot::{Change, Environment, Held};

/// See the module.
pub(super) struct Staged {
    pub(super) held: Held,
    pub(super) current: Option<Arc<Environment>>,
    pub(super) changes: HashMap<Entity, Change>,
    /// The keys seen since the read began, until the read has replaced what is held.
    pub(super) found: Option<HashSet<Entity>>,
    /// The `environment` value was seen since the read began, and is not older than the one held.
    pub(super) saw_environment: bool,
    pub(super) newest_is_environment: bool,
    pub(super) waiting_since: Option<Instant>,
    /// The read that goes on, or the last one, replaced what is held.
    pub(super) is_confirmed: bool,
    /// It appeared while the bucket was read from the beginning, not later.
    pub(super) began_in_read: bool,
}

impl Staged {
    pub(super) fn new(held: Held) -> Self {
        Self {
            held,
            current: None,
            changes: HashMap::new(),
            found: None,
            saw_environment: false,
            newest_is_environment: false,
            waiting_since: None,
            is_confirmed: false,
            began_in_read: false,
        }
    }

    pub(super) fn receive(&mut self, entity: Entity, change: Option<Change>, now: Instant) {
        if let Some(found) = &mut self.found
            && !matches!(change, Some(Change::Gone))
        {
            found.insert(entity);
        }
        match change {
            None => return,
            Some(Change::Put(envelope)) => {
                let staged = self.changes.get(&entity).and_then(|change| match change {
                    Change::Put(envelope) => Some(envelope.revision),
                    Change::Gone => None,
                });
                let known = staged.or_else(|| self.held.revision_of(entity));
                let is_environment = entity == Entity::Environment;
                let is_new = known.is_none_or(|known| envelope.revision > known);
                let is_repeat = known == Some(envelope.revision);
                // Revisions never go back, and a repeat changes nothing but the order: after it nothing is missing.
                let counts = is_new || (is_environment && is_repeat);
                if !counts {
                    return;
                }
                self.saw_environment |= is_environment;
                self.newest_is_environment = is_environment;
                if is_new {
                    self.changes.insert(entity, Change::Put(envelope));
                }
            }
            Some(Change::Gone) if entity == Entity::Environment => {
                warn!("the bucket lost an environment's value; it is answered on until it comes again");
                return;
            }
            Some(Change::Gone) => {
                if self.changes.remove(&entity).is_none() && self.held.revision_of(entity).is_none() {
                    return;
                }
                self.changes.insert(entity, Change::Gone);
                self.newest_is_environment = false;
            }
        }
        // A repeated `environment` value stages nothing; its wait would let a later change's first value swap alone.
        if self.has_something() {
            self.waiting_since.get_or_insert(now);
        }
    }

    /// There is something to swap.
    pub(super) fn has_something(&self) -> bool {
        !self.changes.is_empty() || (self.found.is_some() && self.saw_environment)
    }

    /// An environment is answered once its `environment` value was seen, never before.
    pub(super) fn can_be_ready(&self) -> bool {
        self.saw_environment || self.held.revision().is_some()
    }

    /// Not answered by what the bucket says: not ready, or held from before and not confirmed yet. What only tombstones
    /// are left of is nothing to wait for.
    pub(super) fn is_filling(&self) -> bool {
        if self.held.revision().is_some() {
            return !self.is_confirmed;
        }
        self.changes.values().any(|change| matches!(change, Change::Put(envelope) if !envelope.deleted))
    }

    pub(super) fn swap(&mut self, counters: &Counters) -> bool {
        let complete = if self.saw_environment { self.found.take() } else { None };
        self.is_confirmed |= complete.is_some();
        self.waiting_since = None;
        self.held.apply(std::mem::take(&mut self.changes), complete.as_ref(), counters)
    }
}
