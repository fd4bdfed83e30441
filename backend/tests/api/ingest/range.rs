//! A count that two processes send under one name, cut otherwise, is added once.

use backend::leader::ingest::Ingester;
use shared::model::id::ProcessId;
use shared::wire::count::CountBatch;

use crate::ingest::{Direct, batch, direct, evaluated, new_id, run, texts};

/// Part of a range with one evaluation.
fn part(process: ProcessId, first: u64, last: u64, part: u32) -> CountBatch {
    let environment = process.uuid().into();
    let evaluations = vec![evaluated(environment, new_id().into(), 29_000_000, 1)];
    CountBatch { first: Some(first), part, evaluations, ..batch(process, last) }
}

/// How many are new, repeated and refused.
async fn add(direct: &mut Direct, batches: &[CountBatch]) -> (u64, u64, u64) {
    let added = direct.add(batches).await;
    (added.batches, added.repeated, added.refused)
}

async fn stored(direct: &Direct) -> Vec<String> {
    let batches = "
        select coalesce(first_sequence::text, '?') || '–' || sequence || ' ' || part
        from count_batches
        order by sequence, part";
    texts(&direct.app.state.pool, batches).await
}

#[tokio::test]
async fn what_overlaps_another_range_is_refused_and_parts_of_one_are_all_added() {
    let mut direct = direct().await;
    let process = ProcessId::from(new_id());
    let of = |first, last, number| part(process, first, last, number);
    assert_eq!(add(&mut direct, &[of(4, 6, 0), of(10, 12, 0), of(4, 6, 1)]).await, (3, 0, 0));
    let (inside, around, left, right, both) = (of(5, 5, 0), of(3, 7, 0), of(1, 4, 0), of(6, 9, 0), of(6, 10, 0));
    let (same_begin, same_end, far) = (of(4, 5, 0), of(5, 6, 7), of(11, 40, 0));
    let all = [inside, around, left, right, both, same_begin, same_end, far];
    assert_eq!(add(&mut direct, &all).await, (0, 0, 8));
    // Between them, beside them and of another process there is room; a part may come late, and again.
    let fits = [of(1, 3, 0), of(7, 9, 0), of(13, 13, 0), of(4, 6, 2), of(4, 6, 0), part(new_id().into(), 5, 5, 0)];
    assert_eq!(add(&mut direct, &fits).await, (5, 1, 0));
    assert_eq!(direct.number("select sum(received)::bigint from count_processes").await, 8);
    assert_eq!(direct.number("select sum(count)::bigint from minute_counts join edge_series on id = series").await, 8);
}

#[tokio::test]
async fn of_batches_in_one_transaction_the_first_range_counts() {
    let mut direct = direct().await;
    let (process, other) = (ProcessId::from(new_id()), ProcessId::from(new_id()));
    let of = |first, last, number| part(process, first, last, number);
    let sent = [
        of(2, 3, 0),
        of(1, 5, 0),
        of(2, 3, 1),
        of(3, 3, 0),
        of(2, 3, 1),
        part(other, 1, 5, 0),
        of(4, 8, 0),
        of(8, 9, 0),
        of(1, 1, 0),
        of(1, 9, 0),
    ];
    // (3, 3, 0) goes by the name of (2, 3, 0).
    assert_eq!(add(&mut direct, &sent).await, (5, 2, 3));
    assert_eq!(stored(&direct).await, ["1–1 0", "2–3 0", "2–3 1", "1–5 0", "4–8 0"]);
}

#[tokio::test]
async fn two_leaders_at_once_take_one_of_two_ranges() {
    let mut direct = direct().await;
    let mut other = Ingester::connect(&direct.app.state.config.database.url).await.expect("an ingester");
    for _ in 0..20 {
        let process = ProcessId::from(new_id());
        let (one, two) = ([part(process, 1, 2, 0)], [part(process, 2, 3, 0)]);
        let now = direct.now;
        let (one, two) = tokio::join!(direct.ingester.add(&one, now, 1), other.add(&two, now, 1));
        let (one, two) = (one.expect("added"), two.expect("added"));
        assert_eq!((one.batches + two.batches, one.refused + two.refused), (1, 1));
    }
}

#[tokio::test]
async fn a_leader_of_the_version_before_writes_down_sequences_alone() {
    let mut direct = direct().await;
    let process = ProcessId::from(new_id());
    let of = |first, last, number| part(process, first, last, number);
    for _ in 0..2 {
        run(
            &direct.app.state.pool,
            &format!(
                "insert into count_batches (process, sequence, received_at) values ('{process}', 5, now()), ('{process}', 9, now())
                 on conflict do nothing"
            ),
        )
        .await;
    }
    assert_eq!(stored(&direct).await, ["?–5 0", "?–9 0"]);
    // It may have been the begin of any range with that end, whose other parts it left.
    assert_eq!(add(&mut direct, &[of(2, 5, 0), of(2, 5, 1)]).await, (1, 1, 0));
    assert_eq!(add(&mut direct, &[of(1, 3, 0), of(5, 7, 0), of(8, 10, 0)]).await, (0, 0, 3));
    assert_eq!(add(&mut direct, &[batch(process, 6), batch(process, 9)]).await, (1, 1, 0));
}

#[tokio::test]
async fn a_range_that_begins_in_what_was_forgotten_is_refused() {
    let mut direct = direct().await;
    let process = ProcessId::from(new_id());
    let of = |first, last, number| part(process, first, last, number);
    assert_eq!(add(&mut direct, &[of(1, 5, 0), of(1, 5, 1), of(6, 9, 0)]).await, (3, 0, 0));
    run(
        &direct.app.state.pool,
        "update count_batches set received_at = received_at - interval '41 days' where sequence = 5",
    )
    .await;
    let mut upkeep = crate::ingest::connect(&direct.app).await;
    backend::leader::retention::pass(&mut upkeep, &direct.app.state.config.counts, direct.now).await.expect("a pass");
    assert_eq!(stored(&direct).await, ["6–9 0"]);
    let late = [of(1, 5, 0), of(1, 3, 0), of(3, 7, 0), of(5, 20, 0), of(6, 9, 1), of(10, 11, 0)];
    assert_eq!(add(&mut direct, &late).await, (2, 2, 2));
}
