//! Roll-ups, partitions and retention: the same counts in every grain, whatever happens at once.

mod case;
mod property;

use std::collections::HashMap;

use backend::config::Counts;
use backend::leader::ingest::Ingester;
use backend::leader::{partition, retention, rollup};
use shared::model::id::{EnvironmentId, FlagId, ProcessId, SdkKeyId};
use shared::wire::count::{CountBatch, Exposures, UnitEvents, UnknownCount};

use crate::ingest::{batch, connect, evaluated, minute_of, number, run, texts};
use crate::support::{App, new_id};

const DAY: i64 = 24 * 60;

#[tokio::test]
async fn a_partition_takes_over_what_the_default_held_of_its_day() {
    let app = App::start().await;
    let pool = &app.state.pool;
    let now = app.state.clock.now();
    let (environment, flag) = (EnvironmentId::from(new_id()), FlagId::from(new_id()));
    let mut ingester = Ingester::connect(&app.state.config.database.url).await.expect("an ingester");
    let sent = |sequence, back: i64| {
        let evaluations = vec![evaluated(environment, flag, minute_of(now) - back, 5)];
        CountBatch { evaluations, ..batch(ProcessId::from(flag.uuid()), sequence) }
    };
    ingester.add(&[sent(1, 0), sent(2, DAY), sent(3, 3 * DAY)], now, 1).await.expect("added");
    let in_default = "select count(*) from minute_counts_default";
    assert!(number(pool, in_default).await > 0, "nothing waits for a partition");
    let mut client = connect(&app).await;
    for _ in 0..2 {
        partition::keep(&mut client, now).await.expect("partitions");
        assert_eq!(number(pool, in_default).await, 0);
    }
    let partitions = "select count(*) from pg_inherits where inhparent = 'minute_counts'::regclass";
    assert_eq!(number(pool, partitions).await, 1 + 7 + 1 + 3, "the default, seven days back, today, three ahead");
    ingester.add(&[sent(4, 0), sent(5, DAY)], now, 1).await.expect("added");
    assert_eq!(number(pool, "select sum(count)::bigint from minute_counts join edge_series on id = series").await, 25);
    let fill =
        "select count(*) from pg_class where relname like 'minute_counts_2%' and 'fillfactor=70' = any(reloptions)
                and relkind = 'r'";
    assert_eq!(number(pool, fill).await, 11);

    // Four days later the first of them are over.
    let later = now + time::Duration::days(4);
    retention::pass(&mut client, &Counts::default(), later).await.expect("a pass");
    partition::keep(&mut client, later).await.expect("partitions");
    assert_eq!(number(pool, partitions).await, 1 + 7 + 1 + 3);
}

#[tokio::test]
async fn what_is_over_its_time_goes_and_its_counts_stay_in_a_coarser_grain() {
    let app = App::start().await;
    let pool = &app.state.pool;
    let now = app.state.clock.now();
    let (environment, flag, key) = (EnvironmentId::from(new_id()), FlagId::from(new_id()), SdkKeyId::from(new_id()));
    let mut ingester = Ingester::connect(&app.state.config.database.url).await.expect("an ingester");
    let minute = minute_of(now);
    let sent = CountBatch {
        evaluations: (0..20).map(|day| evaluated(environment, flag, minute - day * DAY, 1)).collect(),
        unknown: vec![UnknownCount { minute, environment, key, flag: Some("gone".parse().expect("a key")), count: 3 }],
        exposures: vec![Exposures {
            minute,
            environment,
            flag,
            place: "default".into(),
            variant: "on".parse().expect("a variant"),
            units: vec![1],
        }],
        events: vec![UnitEvents {
            minute,
            environment,
            event: "e".parse().expect("an event"),
            units: vec![(1, 1, 0.0)],
        }],
        ..batch(new_id().into(), 1)
    };
    ingester.add(&[sent], now, 1).await.expect("added");
    run(
        pool,
        "insert into edge_samples (process, minute, edge_name, memory_bytes, counted, unsent, revisions_behind)
         select gen_random_uuid(), now() - at * interval '1 day', 'e', 1, 1, 1, 1 from generate_series(0, 40) as at;
         insert into count_losses (process, cause, edge_name, from_at, to_at, lost_max, is_final)
         select gen_random_uuid(), 'killed', 'e', now(), now() - at * interval '100 day', 1, true from generate_series(0, 6) as at",
    )
    .await;
    let mut client = connect(&app).await;
    let counts = Counts { minutes_days: 2, hours_days: 5, days_days: 100, units_days: 10, ..Counts::default() };
    let evaluations = |table: &str| {
        format!(
            "select coalesce(sum(count), 0)::bigint from {table} join evaluation_series on id = series where reason = 'STATIC'"
        )
    };
    retention::pass(&mut client, &counts, now).await.expect("a pass");
    rollup::pass(&mut client, now + time::Duration::days(2)).await.expect("a pass");
    retention::pass(&mut client, &counts, now).await.expect("a pass");
    for (table, kept) in [("minute_counts", 3), ("hour_counts", 6), ("day_counts", 20)] {
        assert_eq!(number(pool, &evaluations(table)).await, kept, "{table}");
    }
    assert_eq!(number(pool, "select count(*) from edge_samples").await, 31);
    assert_eq!(number(pool, "select count(*) from count_losses").await, 4 + 1);
    assert_eq!(number(pool, "select (select count(*) from exposures) + (select count(*) from unit_events)").await, 2);

    let month = now + time::Duration::days(31);
    retention::pass(&mut client, &counts, month).await.expect("a pass");
    assert_eq!(number(pool, "select (select count(*) from exposures) + (select count(*) from unit_events)").await, 0);
    assert_eq!(number(pool, "select count(*) from unknown_series").await, 0, "nobody asked for 30 days");
    assert_eq!(number(pool, &evaluations("minute_counts")).await, 0);
    assert_eq!(number(pool, &evaluations("day_counts")).await, 20);
    let orphans = "select count(*) from (select series from minute_counts union all select series from hour_counts
                   union all select series from day_counts) as counts
                   where series not in (select id from evaluation_series union all select id from edge_series)";
    assert_eq!(number(pool, orphans).await, 0);

    // A flag that is evaluated after its series went gets another, also from whoever knew the old one.
    let years = now + time::Duration::days(150);
    retention::pass(&mut client, &counts, years).await.expect("a pass");
    let series = "select (select count(*) from evaluation_series) + (select count(*) from event_series)";
    assert_eq!(number(pool, series).await, 0);
    let evaluations_now = vec![evaluated(environment, flag, minute_of(years), 4)];
    let sent = CountBatch { evaluations: evaluations_now, ..batch(new_id().into(), 1) };
    ingester.add(&[sent], years, 1).await.expect("added");
    assert_eq!(number(pool, &evaluations("minute_counts")).await, 4);
}

#[tokio::test]
async fn an_hour_that_goes_on_waits_and_late_counts_mark_it_again() {
    let app = App::start().await;
    let pool = &app.state.pool;
    let hour = app.state.clock.now().replace_time(time::macros::time!(10:00)) - time::Duration::DAY;
    let mut ingester = Ingester::connect(&app.state.config.database.url).await.expect("an ingester");
    let (environment, flag) = (EnvironmentId::from(new_id()), FlagId::from(new_id()));
    let sent = |sequence| {
        let evaluations = vec![evaluated(environment, flag, minute_of(hour) + 59, 1)];
        CountBatch { evaluations, ..batch(flag.uuid().into(), sequence) }
    };
    let mut client = connect(&app).await;
    let marks = "select grain from due_rollups order by grain";
    ingester.add(&[sent(1)], hour, 1).await.expect("added");
    assert_eq!(rollup::pass(&mut client, hour + time::Duration::minutes(59)).await.expect("a pass"), 0);
    assert_eq!(rollup::pass(&mut client, hour + time::Duration::HOUR).await.expect("a pass"), 1);
    assert_eq!(texts(pool, marks).await, ["day"], "the day goes on");
    let midnight = hour + time::Duration::hours(14);
    assert_eq!(rollup::pass(&mut client, midnight).await.expect("a pass"), 1);
    ingester.add(&[sent(2)], midnight, 1).await.expect("added");
    assert_eq!(texts(pool, marks).await, ["day", "hour"]);
    assert_eq!(rollup::pass(&mut client, midnight).await.expect("a pass"), 2);
    let sums: HashMap<&str, i64> = HashMap::from([
        (
            "hour_counts",
            number(pool, "select sum(count)::bigint from hour_counts join edge_series on id = series").await,
        ),
        ("day_counts", number(pool, "select sum(count)::bigint from day_counts join edge_series on id = series").await),
    ]);
    assert_eq!(sums, HashMap::from([("hour_counts", 2), ("day_counts", 2)]));
}
