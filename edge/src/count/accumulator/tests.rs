use shared::wire::count::{BATCH_BYTES_MAX, Confirmation, CountBatch, ENTRIES_MAX};
use uuid::Uuid;

use super::*;

impl Accumulator {
    /// The next batch, under the longest name there is.
    pub(crate) fn close_next(&mut self) -> Option<CountBatch> {
        let name = Confirmation { process: Uuid::from_u128(5).into(), sequence: u64::MAX, part: u32::MAX };
        self.close(name, u64::MAX, ENTRIES_MAX)
    }

    /// Moves the evaluations of another one here.
    pub(in crate::count) fn append(&mut self, other: &mut Self) {
        for (key, count) in std::mem::take(&mut other.evaluations) {
            self.add(key, count);
        }
    }
}

fn key(minute: i64, flag: u128) -> EvaluationKey {
    EvaluationKey {
        minute,
        environment: Uuid::from_u128(1).into(),
        flag: Uuid::from_u128(flag).into(),
        place: "default".into(),
        variant: Some("on".into()),
        reason: Some(Reason::Static),
        mode: Mode::Single,
    }
}

fn unknown(minute: i64, flag: Option<&str>) -> UnknownKey {
    let flag = flag.map(|flag| flag.parse().expect("a key"));
    UnknownKey { minute, environment: Uuid::from_u128(1).into(), key: Uuid::from_u128(2).into(), flag }
}

fn exposure(minute: i64) -> ExposureKey {
    let (environment, flag) = (Uuid::from_u128(1).into(), Uuid::from_u128(2).into());
    ExposureKey { minute, environment, flag, place: "default".into(), variant: "on".parse().expect("a key") }
}

fn event(minute: i64) -> EventKey {
    EventKey { minute, environment: Uuid::from_u128(1).into(), event: "purchase".parse().expect("a name") }
}

/// Everything in batches, each held against its limits.
fn close_all(open: &mut Accumulator) -> Vec<CountBatch> {
    let batches: Vec<_> = std::iter::from_fn(|| open.close_next()).collect();
    for batch in &batches {
        let units = batch.exposures.iter().map(|of| of.units.len()).sum::<usize>()
            + batch.events.iter().map(|of| of.units.len()).sum::<usize>();
        let entries = batch.evaluations.len() + batch.keys.len() + batch.unknown.len() + units;
        assert!((1..=ENTRIES_MAX).contains(&entries), "{entries}");
        let bytes = serde_json::to_vec(batch).expect("JSON").len();
        assert!(bytes <= BATCH_BYTES_MAX, "{bytes}");
        assert!(batch.exposures.iter().all(|of| !of.units.is_empty()));
        assert!(batch.events.iter().all(|of| !of.units.is_empty()));
    }
    batches
}

#[test]
fn batches_keep_their_limits_and_lose_nothing() {
    let mut open = Accumulator::default();
    for flag in 0..25_000 {
        open.add(key(7, flag), 3);
    }
    open.add_key(7, Uuid::from_u128(1).into(), Uuid::from_u128(2).into(), 9);
    open.add_unknown(unknown(7, Some("typo")), 4);
    open.add_unknown(unknown(7, None), 5);
    open.add_exposures(exposure(6), 0..15_000);
    open.add_exposures(exposure(7), (0..15_000).map(|unit| u64::MAX - unit));
    for unit in 0..30_000 {
        open.add_event(event(7), u64::MAX - unit, 2, -1e12 / 3.0);
    }
    let batches = close_all(&mut open);
    assert!(open.is_empty());
    let evaluations = batches.iter().flat_map(|batch| &batch.evaluations).map(|entry| entry.count).sum::<u64>();
    let requests = batches.iter().flat_map(|batch| &batch.keys).map(|entry| entry.count).sum::<u64>();
    let unknown = batches.iter().flat_map(|batch| &batch.unknown).map(|entry| entry.count).sum::<u64>();
    assert_eq!((evaluations, requests, unknown), (75_000, 9, 9));
    let mut exposed: Vec<_> = batches.iter().flat_map(|batch| &batch.exposures).collect();
    exposed.sort_by_key(|of| of.minute);
    let exposed: Vec<_> = exposed.iter().flat_map(|of| of.units.iter().map(|unit| (of.minute, *unit))).collect();
    let distinct: BTreeSet<_> = exposed.iter().collect();
    assert_eq!((exposed.len(), distinct.len()), (30_000, 30_000));
    let events: Vec<_> = batches.iter().flat_map(|batch| &batch.events).flat_map(|of| &of.units).collect();
    let distinct: BTreeSet<u64> = events.iter().map(|event| event.0).collect();
    assert_eq!((events.len(), distinct.len()), (30_000, 30_000));
    assert!(events.iter().all(|event| event.1 == 2 && event.2 == -1e12 / 3.0));
}

#[test]
fn a_hundred_thousand_different_rows_of_one_interval_go_out_in_parts() {
    let mut open = Accumulator::default();
    for flag in 0..100_000 {
        open.add(key(7, flag), 1);
    }
    assert_eq!(open.shrink(), Lost::default());
    assert!(open.evaluations.keys().all(|key| key.minute == 0), "they are folded, not lost");
    let batches = close_all(&mut open);
    assert!(batches.len() >= 10);
    assert_eq!(batches.iter().flat_map(|batch| &batch.evaluations).count(), 100_000);
}

#[test]
fn a_full_accumulator_folds_its_oldest_minutes_and_loses_nothing() {
    let mut open = Accumulator::default();
    for minute in 0..600 {
        for flag in 0..99 {
            open.add(key(minute, flag), 1);
        }
        open.add_unknown(unknown(minute, Some("typo")), 1);
    }
    assert_eq!(open.shrink(), Lost::default());
    assert!(open.len() <= FOLD_ABOVE, "{}", open.len());
    assert_eq!(open.total(), 60_000);
    assert!(open.evaluations.keys().any(|key| key.minute == 599), "the newest minutes stay fine");
}

#[test]
fn a_wait_of_a_month_fits_and_loses_nothing() {
    let mut open = Accumulator::default();
    let mut counted = 0;
    for minute in (0..30 * 24 * 60).step_by(10) {
        for flag in 0..40 {
            open.add(key(minute, flag), 1);
            counted += 1;
        }
        if minute % 60 == 0 {
            assert_eq!(open.shrink(), Lost::default());
            assert!(open.len() <= FOLD_ABOVE, "{}", open.len());
        }
    }
    assert_eq!(open.total(), counted);
}

#[test]
fn what_is_too_much_even_then_goes_oldest_first_and_is_told() {
    let mut open = Accumulator::default();
    for flag in 0..KEPT_MAX as u128 + 10 {
        open.add(key(7, flag), 2);
    }
    open.add_key(7, Uuid::from_u128(1).into(), Uuid::from_u128(2).into(), 9);
    open.add_exposures(exposure(1), 0..60_000);
    open.add_exposures(exposure(2), 0..60_000);
    for unit in 0..EVENTS_WAITING_MAX as u64 + 7 {
        open.add_event(event(3), unit, 1, 0.0);
    }
    assert_eq!(open.shrink(), Lost { evaluations: 20, exposures: 20_000, events: 7 });
    assert_eq!((open.len(), open.exposures(), open.events()), (KEPT_MAX, EXPOSURES_WAITING_MAX, EVENTS_WAITING_MAX));
    assert_eq!(open.exposures[&exposure(1)].len(), 40_000);
    assert_eq!(open.shrink(), Lost::default());
}

#[test]
fn an_accumulator_survives_the_spool() {
    let mut open = Accumulator::default();
    open.add(key(1, 2), 3);
    open.add_key(1, Uuid::from_u128(1).into(), Uuid::from_u128(2).into(), 4);
    open.add_unknown(unknown(1, Some("typo")), 5);
    open.add_unknown(unknown(1, None), 6);
    open.add_exposures(exposure(1), [u64::MAX, 7]);
    open.add_event(event(1), u64::MAX, 2, 0.1 + 0.2);
    let json = serde_json::to_string(&open).expect("JSON");
    assert_eq!(serde_json::from_str::<Accumulator>(&json).expect("an accumulator"), open);
}
