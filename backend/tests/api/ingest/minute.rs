//! Which minute, hour or day a count goes to.

use shared::model::id::{EnvironmentId, FlagId};
use shared::wire::count::CountBatch;

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
