//! Between what is held and how it lies on disk.

use std::collections::{BTreeMap, HashMap};

use serde_json::value::RawValue;
use shared::model::id::EnvironmentId;
use shared::wire::state::{Entity, Envelope, FORMAT, StateKey};
use tracing::warn;

use crate::disk::Record;
use crate::snapshot::{Body, Change, Entry, Held};

type Changes = HashMap<Entity, Change>;

/// Everything held, as records.
pub(super) fn records<'h>(environments: impl Iterator<Item = &'h Held>) -> Vec<Record> {
    let mut records = Vec::new();
    for held in environments {
        for (entity, entry) in held.entries() {
            let key = StateKey { environment: held.id(), entity }.to_string();
            records.push(record(key, entry));
        }
    }
    records
}

fn record(key: String, entry: &Entry) -> Record {
    let newest = entry.unreadable.as_ref().or(entry.body.as_ref());
    let envelope = Envelope {
        format: newest.map_or(FORMAT, |body| body.format),
        revision: entry.revision,
        killed: entry.killed,
        deleted: entry.deleted,
        body: newest.and_then(raw),
    };
    let readable = entry.body.as_ref().filter(|_| entry.unreadable.is_some()).and_then(raw);
    Record { key, envelope, readable }
}

fn raw(body: &Body) -> Option<Box<RawValue>> {
    RawValue::from_string(body.json.as_ref().into()).ok()
}

/// What one source knows of one environment.
#[derive(Default)]
pub(super) struct Layer {
    /// Bodies that could be read once, where the newest cannot.
    pub(super) readable: Changes,
    /// The newest of every key.
    pub(super) newest: Changes,
}

impl Layer {
    /// The environment's revision; `None` without its `environment` value.
    pub(super) fn revision(&self) -> Option<u64> {
        match self.newest.get(&Entity::Environment) {
            Some(Change::Put(envelope)) => Some(envelope.revision),
            _ => None,
        }
    }
}

/// The records of one source, by environment.
pub(super) fn layers(records: &[Record]) -> BTreeMap<EnvironmentId, Layer> {
    let mut environments: BTreeMap<EnvironmentId, Layer> = BTreeMap::new();
    for record in records {
        let key: StateKey = match record.key.parse() {
            Ok(key) => key,
            Err(error) => {
                warn!(%error, "a line of the last good state is left out");
                continue;
            }
        };
        let layer = environments.entry(key.environment).or_default();
        if let Some(body) = &record.readable {
            let envelope = Envelope { format: FORMAT, body: Some(body.clone()), ..record.envelope.clone() };
            layer.readable.insert(key.entity, Change::Put(envelope));
        }
        layer.newest.insert(key.entity, Change::Put(record.envelope.clone()));
    }
    environments
}
