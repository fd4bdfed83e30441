//! Which minute, hour or day a count goes to.

use backend::leader::ingest::Ingester;
use shared::model::id::{EnvironmentId, FlagId, SdkKeyId};
use shared::wire::count::{CountBatch, UnknownCount};

use crate::ingest::{batch, direct, evaluated, minute_of, run, texts};
use crate::support::new_id;

#[tokio::test]
async fn a_minute_that_no_right_clock_can_have_sent_goes_to_the_minute_of_receipt() {
    let mut direct = direct().await;
    let (environment, flag, minute) = (new_id().into(), new_id().into(), minute_of(direct.now));
    let evaluations = [17, minute + 24 * 60, minute + 6, minute + 5, minute - 30 * 24 * 60].into_iter();
    let evaluations = evaluations.map(|minute| evaluated(environment, flag, minute, 10)).collect();
    let added = direct.add(&[CountBatch { evaluations, ..batch(new_id().into(), 1) }]).await;
    assert_eq!(added.clock_wrong, 30);
    let received = format!(
        "select count from minute_counts join evaluation_series on id = series where minute = to_timestamp({minute}::bigint * 60)"
    );
    assert_eq!(direct.number(&received).await, 30);
    let oldest = "select sum(count)::bigint from hour_counts join evaluation_series on id = series";
    assert_eq!(direct.number(oldest).await, 10, "what is old and may be right is kept where it belongs");
}

#[tokio::test]
async fn late_counts_go_to_the_grain_that_is_still_kept() {
    let mut direct = direct().await;
    let (environment, flag) = (EnvironmentId::from(new_id()), FlagId::from(new_id()));
    run(&direct.app.state.pool, "update count_horizons set hours_from = minutes_from - interval '10 days'").await;
    let minutes_from = direct.number("select extract(epoch from minutes_from)::bigint / 60 from count_horizons").await;
    let process = new_id().into();
    for sequence in 1..=2 {
        let minutes = [minutes_from, minutes_from - 1, minutes_from - 59, minutes_from - 10 * 1_440 - 1];
        let evaluations = minutes.iter().map(|minute| evaluated(environment, flag, *minute, 1)).collect();
        direct.add(&[CountBatch { evaluations, ..batch(process, sequence) }]).await;
    }
    let pool = &direct.app.state.pool;
    let counts = |table: &str, column: &str| {
        format!(
            "select (extract(epoch from {column})::bigint / 60 - {minutes_from}) || '=' || count
             from {table} join evaluation_series on id = series order by 1"
        )
    };
    assert_eq!(texts(pool, &counts("minute_counts", "minute")).await, ["0=2"]);
    assert_eq!(texts(pool, &counts("hour_counts", "hour")).await, ["-60=4"]);
    assert_eq!(texts(pool, &counts("day_counts", "day")).await, [format!("{}=2", -11 * 1_440)]);
    let marks = format!(
        "select grain || (extract(epoch from period)::bigint / 60 - {minutes_from}) from due_rollups order by 1"
    );
    assert_eq!(texts(pool, &marks).await, ["day-1440", "day0", "hour0"]);
}

#[tokio::test]
async fn a_coarser_resolution_makes_fewer_rows_of_the_same_counts() {
    let mut direct = direct().await;
    let (environment, flag) = (new_id().into(), new_id().into());
    let hour = minute_of(direct.now) - minute_of(direct.now).rem_euclid(60);
    let evaluations = (0..30).map(|minute| evaluated(environment, flag, hour - 60 + minute, 1)).collect();
    let sent = CountBatch { evaluations, ..batch(new_id().into(), 1) };
    direct.ingester.add(&[sent], direct.now, 15).await.expect("added");
    let rows = "select (extract(epoch from minute)::bigint / 60 - $) || '=' || count from minute_counts join evaluation_series on id = series order by minute";
    let rows = texts(&direct.app.state.pool, &rows.replace('$', &(hour - 60).to_string())).await;
    assert_eq!(rows, ["0=15", "15=15"]);
}

#[tokio::test]
async fn what_two_leaders_add_to_a_minute_meets_in_one_row() {
    let mut direct = direct().await;
    let mut other = Ingester::connect(&direct.app.state.config.database.url).await.expect("an ingester");
    let (now, minute, process) = (direct.now, minute_of(direct.now), new_id().into());
    let (environment, flag) = (EnvironmentId::from(new_id()), FlagId::from(new_id()));
    let sent = |sequence, minute| {
        let evaluations = vec![evaluated(environment, flag, minute, 1)];
        CountBatch { evaluations, ..batch(process, sequence) }
    };
    // Both know the series as it is now; the second then begins a minute that was begun meanwhile.
    direct.add(&[sent(1, minute - 1)]).await;
    other.add(&[sent(2, minute - 1)], now, 1).await.expect("added");
    direct.add(&[sent(3, minute)]).await;
    other.add(&[sent(4, minute)], now, 1).await.expect("added");
    direct.add(&[sent(5, minute), sent(6, minute - 1), sent(7, minute + 1)]).await;
    let counts = format!(
        "select extract(epoch from minute)::bigint / 60 - {minute} || ' ' || count
         from minute_counts join evaluation_series on id = series order by minute"
    );
    assert_eq!(texts(&direct.app.state.pool, &counts).await, ["-1 3", "0 3", "1 1"]);
}

#[tokio::test]
async fn what_stands_for_others_is_as_late_as_they_are() {
    let mut direct = direct().await;
    let (environment, key) = (EnvironmentId::from(new_id()), SdkKeyId::from(new_id()));
    let (minute, process) = (minute_of(direct.now), new_id().into());
    let unknown = |flag: Option<u64>, minute| {
        let flag = flag.map(|at| format!("flag-{at:05}").parse().expect("a key"));
        UnknownCount { minute, environment, key, flag, count: 1 }
    };
    let mut full: Vec<UnknownCount> = (0..1_000).map(|at| unknown(Some(at), minute - 1)).collect();
    full.push(unknown(None, minute - 1));
    direct.add(&[CountBatch { unknown: full, ..batch(process, 1) }]).await;
    // One too many, later than the others of its batch.
    let late = vec![unknown(None, minute - 1), unknown(Some(1_000), minute)];
    direct.add(&[CountBatch { unknown: late, ..batch(process, 2) }]).await;
    let last = "select extract(epoch from last_at)::bigint / 60 from unknown_series where flag_key = ''";
    assert_eq!(direct.number(last).await, minute);
    direct.add(&[CountBatch { unknown: vec![unknown(None, minute)], ..batch(process, 3) }]).await;
    let counts =
        "select count::text from minute_counts join unknown_series on id = series where flag_key = '' order by minute";
    assert_eq!(texts(&direct.app.state.pool, counts).await, ["2", "2"]);
}
