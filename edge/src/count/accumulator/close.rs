//! Takes batches out of what is open, each within its limits, in time linear in what is taken.

use std::collections::BTreeMap;

use serde::Serialize;
use shared::wire::count::{
    BATCH_BYTES_MAX, Confirmation, CountBatch, EvaluationCount, Exposures, KeyCount, UnitEvents, UnknownCount,
};

use crate::count::accumulator::{Accumulator, EvaluationKey, EventKey, ExposureKey, RequestKey, UnknownKey};

/// Room for the braces, names, process id, range and part of a batch.
const FRAME_BYTES: usize = 256;

/// What may still go into a batch.
struct Room {
    entries: usize,
    bytes: usize,
}

impl Room {
    /// Takes room for one entry; whether there was enough.
    fn take(&mut self, bytes: usize) -> bool {
        let fits = self.entries > 0 && self.bytes >= bytes;
        if fits {
            self.entries -= 1;
            self.bytes -= bytes;
        }
        fits
    }
}

impl Accumulator {
    /// Takes the oldest entries out as a batch of at most `entries_max`, within the limit of bytes; `None` when there are
    /// none. What is taken depends on nothing but what is in it (not on the batch's name, nor on the time), so that copies
    /// of a spool close the same batches. Versions that cut otherwise would not: what both hold may then be added twice.
    pub(in crate::count) fn close(&mut self, name: Confirmation, first: u64, entries_max: usize) -> Option<CountBatch> {
        if self.is_empty() {
            return None;
        }
        let mut room = Room { entries: entries_max, bytes: BATCH_BYTES_MAX - FRAME_BYTES };
        Some(CountBatch {
            process: name.process,
            first: Some(first),
            sequence: name.sequence,
            part: name.part,
            evaluations: take(&mut self.evaluations, &mut room, evaluation_count),
            keys: take(&mut self.keys, &mut room, key_count),
            unknown: take(&mut self.unknown, &mut room, unknown_count),
            exposures: self.close_exposures(&mut room),
            events: self.close_events(&mut room),
        })
    }

    fn close_exposures(&mut self, room: &mut Room) -> Vec<Exposures> {
        let mut closed = Vec::new();
        while let Some(mut group) = self.exposures.first_entry() {
            let mut exposures = exposures(group.key().clone(), Vec::new());
            // The frame of a group comes with its first unit.
            let mut frame = json_bytes(&exposures);
            while let Some(unit) = group.get().first().copied()
                && room.take(frame + json_bytes(&unit))
            {
                frame = 0;
                group.get_mut().pop_first();
                exposures.units.push(unit);
            }
            let is_whole = group.get().is_empty();
            if is_whole {
                group.remove();
            }
            if !exposures.units.is_empty() {
                closed.push(exposures);
            }
            if !is_whole {
                break;
            }
        }
        closed
    }

    fn close_events(&mut self, room: &mut Room) -> Vec<UnitEvents> {
        let mut closed = Vec::new();
        while let Some(mut group) = self.events.first_entry() {
            let mut events = unit_events(group.key().clone(), Vec::new());
            let mut frame = json_bytes(&events);
            while let Some((&unit, &(count, sum))) = group.get().first_key_value()
                && room.take(frame + json_bytes(&(unit, count, sum)))
            {
                frame = 0;
                group.get_mut().pop_first();
                events.units.push((unit, count, sum));
            }
            let is_whole = group.get().is_empty();
            if is_whole {
                group.remove();
            }
            if !events.units.is_empty() {
                closed.push(events);
            }
            if !is_whole {
                break;
            }
        }
        closed
    }
}

fn take<K: Ord + Clone, E: Serialize>(
    open: &mut BTreeMap<K, u64>,
    room: &mut Room,
    entry: impl Fn(K, u64) -> E,
) -> Vec<E> {
    let mut closed = Vec::new();
    while let Some(first) = open.first_entry() {
        let taken = entry(first.key().clone(), *first.get());
        if !room.take(json_bytes(&taken)) {
            break;
        }
        first.remove();
        closed.push(taken);
    }
    closed
}

/// The bytes of an entry and the comma behind it.
fn json_bytes(entry: &impl Serialize) -> usize {
    // Entries are plain data: writing them cannot fail.
    serde_json::to_vec(entry).map_or(0, |json| json.len() + 1)
}

pub(super) fn evaluation_count(key: EvaluationKey, count: u64) -> EvaluationCount {
    let EvaluationKey { minute, environment, flag, place, variant, reason, mode } = key;
    EvaluationCount { minute, environment, flag, place, variant, reason, mode, count }
}

pub(super) fn key_count(RequestKey { minute, environment, key }: RequestKey, count: u64) -> KeyCount {
    KeyCount { minute, environment, key, count }
}

pub(super) fn unknown_count(UnknownKey { minute, environment, key, flag }: UnknownKey, count: u64) -> UnknownCount {
    UnknownCount { minute, environment, key, flag, count }
}

pub(super) fn exposures(key: ExposureKey, units: Vec<u64>) -> Exposures {
    let ExposureKey { minute, environment, flag, place, variant } = key;
    Exposures { minute, environment, flag, place, variant, units }
}

pub(super) fn unit_events(
    EventKey { minute, environment, event }: EventKey,
    units: Vec<(u64, u64, f64)>,
) -> UnitEvents {
    UnitEvents { minute, environment, event, units }
}
