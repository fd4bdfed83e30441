//! What edges may send, and what must come of it.

use std::collections::{BTreeMap, BTreeSet};

use rand::RngExt;
use rand::rngs::StdRng;
use shared::evaluation::Reason;
use shared::model::id::SdkKeyId;
use shared::wire::count::{CountBatch, EvaluationCount, Exposures, KeyCount, Mode, UnitEvents, UnknownCount};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::ingest::{batch, evaluated, minute_of};
use crate::rollup::DAY;

/// Counts by series, as text, and minute.
type Truth = BTreeMap<String, BTreeMap<i64, i64>>;

/// What must come of batches.
#[derive(Default)]
pub(super) struct Case {
    pub(super) truth: Truth,
    pub(super) received: BTreeMap<Uuid, i64>,
    pub(super) exposed: BTreeMap<i64, i64>,
    pub(super) done: BTreeMap<i64, i64>,
}

/// Batches of three processes, some of them with ranges that overlap.
pub(super) fn batches(random: &mut StdRng, now: OffsetDateTime) -> Vec<CountBatch> {
    let mut batches = Vec::new();
    for process in 0..3_u128 {
        let process = Uuid::from_u128(1_001 + process);
        let gatherings = random.random_range(1..=12);
        // The one who counted, and copies of its folder.
        for _ in 0..random.random_range(1..=3) {
            for (first, last) in ranges(random, gatherings) {
                for part in 0..random.random_range(1..=3) {
                    let mut sent = CountBatch { first: Some(first), part, ..batch(process.into(), last) };
                    if first == last && random.random_bool(0.5) {
                        sent.first = None;
                    }
                    for _ in 0..random.random_range(1..=6) {
                        add_entry(random, now, &mut sent);
                    }
                    batches.push(sent);
                }
            }
        }
    }
    // Copies that sealed at the same time send the same.
    let mut names = BTreeSet::new();
    let mut is_first = BTreeMap::new();
    batches.retain(|sent| {
        let range = (sent.process, sent.sequence);
        *is_first.entry(range).or_insert(sent.first()) == sent.first() && names.insert(sent.confirmation())
    });
    batches
}

/// Cuts what was gathered somehow.
fn ranges(random: &mut StdRng, gatherings: u64) -> Vec<(u64, u64)> {
    let mut ranges = Vec::new();
    let mut first = 1;
    while first <= gatherings {
        let last = random.random_range(first..=gatherings.min(first + 3));
        ranges.push((first, last));
        first = last + 1;
    }
    ranges
}

pub(super) fn overlap(one: &CountBatch, other: &CountBatch) -> bool {
    let is_same = (one.first(), one.sequence) == (other.first(), other.sequence);
    one.process == other.process && !is_same && one.first() <= other.sequence && other.first() <= one.sequence
}

fn add_entry(random: &mut StdRng, now: OffsetDateTime, sent: &mut CountBatch) {
    // Many of the last hours, some of every day that is believed.
    let back = if random.random_bool(0.5) { random.random_range(-5..180) } else { random.random_range(-5..20 * DAY) };
    let minute = minute_of(now) - back;
    let environment = Uuid::from_u128(random.random_range(1..=2)).into();
    let count = random.random_range(1..1_000_u64);
    match random.random_range(0..8) {
        0 => {
            let key = Uuid::from_u128(random.random_range(1..=2)).into();
            sent.keys.push(KeyCount { minute, environment, key, count });
        }
        1 => {
            let key = SdkKeyId::from(Uuid::from_u128(1));
            let flag = Some(["a", "b"][random.random_range(0..2)].parse().expect("a key"));
            sent.unknown.push(UnknownCount { minute, environment, key, flag, count });
        }
        2 => sent.exposures.push(Exposures {
            minute,
            environment: Uuid::from_u128(1).into(),
            flag: Uuid::from_u128(9).into(),
            place: "default".into(),
            variant: "on".parse().expect("a variant"),
            units: (0..3).map(|_| random.random_range(0..20)).collect(),
        }),
        3 => {
            let units = vec![(random.random_range(0..20_u64), count, count as f64)];
            let event = "purchase".parse().expect("an event");
            sent.events.push(UnitEvents { minute, environment, event, units });
        }
        _ => {
            let flag = Uuid::from_u128(random.random_range(1..=3)).into();
            let variant = [None, Some("on"), Some("off")][random.random_range(0..3)].map(Into::into);
            let mode = if random.random_bool(0.5) { Mode::Single } else { Mode::Bulk };
            let reason = [None, Some(Reason::Split), Some(Reason::Static)][random.random_range(0..3)];
            let entry = evaluated(environment, flag, minute, count);
            sent.evaluations.push(EvaluationCount { variant, mode, reason, ..entry });
        }
    }
}

impl Case {
    pub(super) fn of<'a>(batches: impl IntoIterator<Item = &'a CountBatch>) -> Self {
        let mut case = Self::default();
        batches.into_iter().for_each(|sent| case.add(sent));
        case
    }

    fn add(&mut self, sent: &CountBatch) {
        for KeyCount { minute, environment, key, count } in &sent.keys {
            self.note(format!("{key} {environment}"), *minute, *count);
        }
        for UnknownCount { minute, environment, key, flag, count } in &sent.unknown {
            let flag = flag.as_ref().expect("it is told");
            self.note(format!("{environment} {key} {flag}"), *minute, *count);
            *self.received.entry(sent.process.uuid()).or_default() += *count as i64;
        }
        for Exposures { minute, units, .. } in &sent.exposures {
            for unit in units {
                let first = self.exposed.entry(*unit as i64).or_insert(*minute);
                *first = (*minute).min(*first);
            }
        }
        for (unit, count, _) in sent.events.iter().flat_map(|events| &events.units) {
            *self.done.entry(*unit as i64).or_default() += *count as i64;
        }
        for EvaluationCount { minute, environment, flag, variant, reason, mode, count, .. } in &sent.evaluations {
            let (variant, reason) = (variant.as_deref().unwrap_or_default(), reason.map_or("", Reason::as_str));
            let mode = if *mode == Mode::Single { "single" } else { "bulk" };
            self.note(format!("{environment} {flag} default {variant} {reason} {mode}"), *minute, *count);
            self.note(format!("{environment} {} {reason} {mode}", sent.process), *minute, *count);
            *self.received.entry(sent.process.uuid()).or_default() += *count as i64;
        }
    }

    fn note(&mut self, series: String, minute: i64, count: u64) {
        *self.truth.entry(series).or_default().entry(minute).or_default() += count as i64;
    }

    /// The truth in a coarser grain, from some minute on.
    pub(super) fn by(&self, grain: i64, from: i64) -> BTreeMap<(String, i64), i64> {
        let mut rows = BTreeMap::new();
        for (series, minutes) in &self.truth {
            for (minute, count) in minutes.iter().filter(|(minute, _)| **minute >= from) {
                *rows.entry((series.clone(), minute - minute.rem_euclid(grain))).or_default() += count;
            }
        }
        rows
    }
}
