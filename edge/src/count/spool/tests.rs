use shared::wire::count::{ENTRIES_MAX, Mode};
use uuid::Uuid;

use super::*;
use crate::count::EvaluationKey;

fn process(id: u128) -> ProcessId {
    Uuid::from_u128(id).into()
}

/// One gathering with so many evaluations of a flag.
fn count(identity: &mut Identity, flag: u128, count: u64) {
    let key = EvaluationKey {
        minute: 1,
        environment: Uuid::from_u128(1).into(),
        flag: Uuid::from_u128(flag).into(),
        place: "off".into(),
        variant: None,
        reason: None,
        mode: Mode::Single,
    };
    identity.open.add(key, count);
    identity.number_gathering();
}

/// Process, range, part and the evaluations of the first entry.
fn described(batch: &CountBatch) -> (ProcessId, u64, u64, u32, u64) {
    (batch.process, batch.first(), batch.sequence, batch.part, batch.evaluations[0].count)
}

/// All that waits, in batches of so many entries.
fn send_all(spool: &mut Spool, entries_max: usize) -> Vec<CountBatch> {
    let mut sent = Vec::new();
    while let Some(first) = spool.first() {
        assert!(first.close(entries_max));
        let batch = first.closed.clone().expect("a batch");
        assert!(spool.confirm(batch.confirmation()));
        sent.push(batch);
    }
    sent
}

#[test]
fn a_successor_sends_what_it_finds_under_the_old_identity_first() {
    let parent = tempfile::tempdir().expect("a folder");
    let folder = Folder::open(parent.path()).expect("free");
    let mut spool = Spool::open(&folder, process(7));
    count(&mut spool.own, 2, 3);
    assert!(spool.own.close(ENTRIES_MAX));
    count(&mut spool.own, 2, 4);
    count(&mut spool.own, 2, 4);
    Spool::write(&folder, &spool.payload().expect("JSON")).expect("written");

    let mut successor = Spool::open(&folder, process(8));
    count(&mut successor.own, 2, 5);
    assert_eq!((successor.unacked(), successor.unsent()), (1, 16));
    let sent: Vec<_> = send_all(&mut successor, ENTRIES_MAX).iter().map(described).collect();
    assert_eq!(sent, [(process(7), 1, 1, 0, 3), (process(7), 2, 3, 0, 8), (process(8), 1, 1, 0, 5)]);
}

#[test]
fn what_is_sealed_goes_out_in_the_same_parts_whatever_is_counted_and_wherever_it_is_read() {
    let mut spool = Spool::take_over(None, process(1)).expect("empty");
    for flag in 0..5 {
        count(&mut spool.own, flag, 10 + flag as u64);
    }
    assert!(spool.own.close(2));
    assert_eq!((spool.waiting(), spool.unacked(), spool.unsent()), (2, 1, 60));
    let copied = spool.payload().expect("JSON");
    count(&mut spool.own, 0, 7);
    assert_eq!((spool.waiting(), spool.unsent()), (3, 67));

    let sent = send_all(&mut spool, 2);
    let names: Vec<_> = sent.iter().map(described).collect();
    let own = process(1);
    assert_eq!(names, [(own, 1, 5, 0, 10), (own, 1, 5, 1, 12), (own, 1, 5, 2, 14), (own, 6, 6, 0, 7)]);
    let mut copy = Spool::take_over(Some(&copied), process(2)).expect("readable");
    assert_eq!(send_all(&mut copy, 2), sent[..3], "a copy says the same");
    assert!(copy.is_empty());
}

#[test]
fn who_sealed_sooner_has_a_range_that_overlaps() {
    let mut spool = Spool::take_over(None, process(1)).expect("empty");
    count(&mut spool.own, 1, 3);
    let copied = spool.payload().expect("JSON");
    count(&mut spool.own, 2, 4);
    let mut copy = Spool::take_over(Some(&copied), process(2)).expect("readable");
    assert_eq!(described(&send_all(&mut copy, 1)[0]), (process(1), 1, 1, 0, 3));
    assert_eq!(described(&send_all(&mut spool, 1)[1]), (process(1), 1, 2, 1, 4));
}

#[test]
fn what_too_many_restarts_cost_is_told() {
    let parent = tempfile::tempdir().expect("a folder");
    let folder = Folder::open(parent.path()).expect("free");
    let mut spool = Spool::open(&folder, process(1));
    for id in 2..=19 {
        let mut identity = Identity::new(process(id));
        count(&mut identity, 2, 2);
        assert!(identity.close(ENTRIES_MAX));
        count(&mut identity, 2, 1);
        spool.inherited.push_back(identity);
    }
    Spool::write(&folder, &spool.payload().expect("JSON")).expect("written");
    let successor = Spool::open(&folder, process(20));
    // All of the oldest two, and nothing of them under another name.
    assert_eq!((successor.inherited.len(), successor.lost_to_restarts), (INHERITED_MAX, 6));
    assert_eq!(successor.unsent(), 16 * 3);
    let left = successor.inherited_counts();
    assert_eq!(left.iter().map(|left| left.unsent).collect::<Vec<_>>(), [3; INHERITED_MAX]);
    assert_eq!(left[0].process, process(4));
}

#[test]
fn only_the_batch_in_flight_can_be_confirmed() {
    let mut spool = Spool::take_over(None, process(1)).expect("empty");
    let confirm =
        |spool: &mut Spool, id, sequence, part| spool.confirm(Confirmation { process: process(id), sequence, part });
    assert!(!confirm(&mut spool, 1, 1, 0));
    count(&mut spool.own, 2, 3);
    count(&mut spool.own, 3, 3);
    assert!(!confirm(&mut spool, 1, 2, 0), "it is not closed yet");
    assert!(spool.own.close(1));
    count(&mut spool.own, 2, 4);
    assert_eq!((spool.waiting(), spool.unacked()), (3, 1));
    for (id, sequence, part) in [(1, 3, 0), (2, 2, 0), (1, 2, 1), (1, 1, 0)] {
        assert!(!confirm(&mut spool, id, sequence, part), "{id} {sequence} {part}");
    }
    assert!(confirm(&mut spool, 1, 2, 0));
    assert!(!confirm(&mut spool, 1, 2, 0), "it is gone");
    assert_eq!((spool.waiting(), spool.unsent()), (2, 7));
}

/// As the version before wrote it: without reasons, unknown flags and experiments.
#[test]
fn a_spool_of_the_version_before_is_sent() {
    let spooled = r#"[{"process":"00000000-0000-0000-0000-000000000007","next_sequence":3,"closed":{"process":
        "00000000-0000-0000-0000-000000000007","sequence":2,"evaluations":[{"minute":29000000,"environment":
        "00000000-0000-0000-0000-000000000001","flag":"00000000-0000-0000-0000-000000000002","place":"off",
        "variant":"off","mode":"single","count":5}]},"open":{"evaluations":[{"minute":29000001,"environment":
        "00000000-0000-0000-0000-000000000001","flag":"00000000-0000-0000-0000-000000000002","place":
        "error GENERAL","mode":"bulk","count":4}],"keys":[{"minute":29000001,"environment":
        "00000000-0000-0000-0000-000000000001","key":"00000000-0000-0000-0000-000000000003","count":6}]}}]"#;
    let mut spool = Spool::take_over(Some(spooled.as_bytes()), process(8)).expect("readable");
    assert_eq!(spool.unsent(), 9);
    let sent = send_all(&mut spool, ENTRIES_MAX);
    let names: Vec<_> = sent.iter().map(described).collect();
    assert_eq!(names, [(process(7), 2, 2, 0, 5), (process(7), 3, 3, 0, 4)]);
    assert_eq!((sent[1].keys[0].count, sent[1].evaluations[0].reason), (6, None));
}

/// Written before gatherings were numbered, with all that is counted: what is open is the range of the next sequence.
#[test]
fn a_spool_without_ranges_is_sent() {
    let spooled = r#"[{"process":"00000000-0000-0000-0000-000000000007","next_sequence":3,"closed":{"process":
        "00000000-0000-0000-0000-000000000007","sequence":2,"evaluations":[{"minute":29000000,"environment":
        "00000000-0000-0000-0000-000000000001","flag":"00000000-0000-0000-0000-000000000002","place":"off",
        "variant":"off","reason":"DISABLED","mode":"single","count":5}],"unknown":[{"minute":29000000,"environment":
        "00000000-0000-0000-0000-000000000001","key":"00000000-0000-0000-0000-000000000003","count":1}]},"open":
        {"evaluations":[{"minute":29000001,"environment":"00000000-0000-0000-0000-000000000001","flag":
        "00000000-0000-0000-0000-000000000002","place":"default","variant":"on","reason":"SPLIT","mode":"single",
        "count":4}],"keys":[],"unknown":[{"minute":29000001,"environment":"00000000-0000-0000-0000-000000000001","key":
        "00000000-0000-0000-0000-000000000003","flag":"typo","count":2}],"exposures":[{"minute":29000001,"environment":
        "00000000-0000-0000-0000-000000000001","flag":"00000000-0000-0000-0000-000000000002","place":"default",
        "variant":"on","units":[7]}],"events":[{"minute":29000001,"environment":"00000000-0000-0000-0000-000000000001",
        "event":"purchase","units":[[7,1,2.5]]}]}}]"#;
    let mut spool = Spool::take_over(Some(spooled.as_bytes()), process(8)).expect("readable");
    assert_eq!(spool.unsent(), 12);
    // Written anew before it is sealed it is still the same.
    let anew = spool.payload().expect("JSON");
    let sent = send_all(&mut spool, 3);
    let names: Vec<_> = sent.iter().map(|batch| (batch.first(), batch.sequence, batch.part)).collect();
    assert_eq!(names, [(2, 2, 0), (3, 3, 0), (3, 3, 1)]);
    assert_eq!((sent[1].exposures[0].units.as_slice(), sent[2].events[0].units[0]), (&[7][..], (7, 1, 2.5)));
    let mut copy = Spool::take_over(Some(&anew), process(9)).expect("readable");
    assert_eq!(send_all(&mut copy, 3), sent);
}
