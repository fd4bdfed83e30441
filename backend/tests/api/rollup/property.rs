//! Two leaders that add, crash and are cut off, while counts are rolled up and let go of: exact in every grain; and of ranges
//! that overlap, as copies of an edge's folder send them, never both.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

use backend::config::Counts;
use backend::leader::ingest::Ingester;
use backend::leader::{partition, retention, rollup};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use shared::wire::count::{Confirmation, CountBatch};
use sqlx::PgPool;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::ingest::{connect, number, run};
use crate::rollup::DAY;
use crate::rollup::case::{Case, batches, overlap};
use crate::support::{App, new_id};

const CASES: u64 = 30;

const SERIES: &str = "
select id, concat_ws(' ', environment_id, flag_id, place) || ' ' || variant || ' ' || reason || ' ' || mode as name from evaluation_series
union all select id, key_id || ' ' || environment_id from request_series
union all select id, environment_id || ' ' || process || ' ' || reason || ' ' || mode from edge_series
union all select id, environment_id || ' ' || key_id || ' ' || flag_key from unknown_series";

async fn stored(pool: &PgPool, table: &str, column: &str, from: i64) -> BTreeMap<(String, i64), i64> {
    let query = format!(
        "select name, extract(epoch from {column})::bigint / 60, count
         from {table} join ({SERIES}) as series on id = series
         where {column} >= to_timestamp({from}::bigint * 60)"
    );
    let rows: Vec<(String, i64, i64)> = sqlx::query_as(sqlx::AssertSqlSafe(query)).fetch_all(pool).await.expect("rows");
    rows.into_iter().map(|(series, at, count)| ((series, at), count)).collect()
}

/// Totals by series as readers find them: what is due in its finer grain, what is not in its own.
async fn read(pool: &PgPool) -> BTreeMap<String, i64> {
    let query = format!(
        "with due_days as (select period from due_rollups where grain = 'day'),
              due_hours as (select period from due_rollups where grain = 'hour'),
              counts as (
                  select series, count from day_counts where day not in (select * from due_days)
                  union all
                  select series, count from hour_counts
                  where date_trunc('day', hour, 'UTC') in (select * from due_days) and hour not in (select * from due_hours)
                  union all
                  select series, count from minute_counts where date_trunc('hour', minute, 'UTC') in (select * from due_hours)
              )
         select name, sum(count)::bigint from counts join ({SERIES}) as series on id = series group by name"
    );
    let rows: Vec<(String, i64)> = sqlx::query_as(sqlx::AssertSqlSafe(query)).fetch_all(pool).await.expect("rows");
    rows.into_iter().collect()
}

/// Gives batches to the database until none is left: some transactions are rolled back before their commit, some are cut
/// off with their connection at any moment, and then the same batches are given again.
async fn consume(app: &App, queue: &Mutex<VecDeque<CountBatch>>, now: OffsetDateTime, seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let url = &app.state.config.database.url;
    let mut ingester = Ingester::connect(url).await.expect("an ingester");
    loop {
        let some: Vec<CountBatch> = {
            let mut queue = queue.lock().expect("a queue");
            let many = random.random_range(1..=4).min(queue.len());
            queue.drain(..many).collect()
        };
        if some.is_empty() {
            return;
        }
        let again = || queue.lock().expect("a queue").extend(some.iter().cloned());
        match random.random_range(0..6) {
            // A crash before the commit.
            0 => match ingester.write(&some, now, 1).await {
                Ok(written) => {
                    drop(written);
                    again();
                }
                Err(_) => again(),
            },
            // A cut at any moment: nobody knows whether it was committed.
            1 => {
                let cut = Duration::from_micros(random.random_range(0..40_000));
                let done = tokio::time::timeout(cut, ingester.add(&some, now, 1)).await;
                if !matches!(done, Ok(Ok(_))) {
                    ingester = Ingester::connect(url).await.expect("an ingester");
                }
                again();
            }
            _ => {
                if ingester.add(&some, now, 1).await.is_err() {
                    again();
                }
            }
        }
    }
}

/// Rolls up and lets go at random, as if days went by.
async fn upkeep(client: &mut tokio_postgres::Client, now: OffsetDateTime, seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let counts = Counts { minutes_days: 2, hours_days: 5, ..Counts::default() };
    for _ in 0..12 {
        let later = now + time::Duration::minutes(random.random_range(0..4 * DAY));
        // Adding and rolling up may meet in a deadlock; whoever loses tries again.
        let done = match random.random_range(0..4) {
            0 => retention::pass(client, &counts, now + time::Duration::days(random.random_range(0..3))).await,
            1 => partition::keep(client, now).await,
            _ => rollup::pass(client, later).await.map(drop),
        };
        if let Err(error) = done {
            assert!(error.code().is_some_and(|code| code.code().starts_with("40")), "{error:?}");
        }
        tokio::time::sleep(Duration::from_millis(random.random_range(0..10))).await;
    }
}

#[tokio::test]
async fn counts_are_exact_in_every_grain_whatever_happens_at_once() {
    let seed = std::env::var("FLUXGATE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| new_id().as_u64_pair().1);
    println!("FLUXGATE_SEED={seed}");
    let app = App::start().await;
    let pool = &app.state.pool;
    let mut client = connect(&app).await;
    let midnight = app.state.clock.now().replace_time(time::Time::MIDNIGHT);
    let mut all_refused = 0;
    for number_of_case in 0..CASES {
        let seed = seed.wrapping_add(number_of_case);
        let mut random = StdRng::seed_from_u64(seed);
        let now = midnight + time::Duration::minutes(random.random_range(0..DAY));
        let batches = batches(&mut random, now);
        reset(pool, now).await;

        let mut queue: Vec<CountBatch> = batches.clone();
        for sent in &batches {
            queue.extend((0..random.random_range(0..3)).map(|_| sent.clone()));
        }
        for at in (1..queue.len()).rev() {
            queue.swap(at, random.random_range(0..=at));
        }
        let queue = Mutex::new(VecDeque::from(queue));
        tokio::join!(
            consume(&app, &queue, now, seed ^ 1),
            consume(&app, &queue, now, seed ^ 2),
            upkeep(&mut client, now, seed ^ 3),
        );

        let names = names(pool).await;
        let (added, refused): (Vec<_>, Vec<_>) = batches.iter().partition(|sent| names.contains(&sent.confirmation()));
        assert_eq!(added.len(), names.len(), "seed {seed}");
        for sent in &added {
            assert!(!added.iter().any(|other| overlap(sent, other)), "both of {sent:?}; seed {seed}");
        }
        for sent in &refused {
            assert!(added.iter().any(|other| overlap(sent, other)), "without a reason {sent:?}; seed {seed}");
        }
        all_refused += refused.len();
        let case = Case::of(added);
        let totals: BTreeMap<String, i64> =
            case.truth.iter().map(|(series, minutes)| (series.clone(), minutes.values().sum())).collect();
        assert_eq!(read(pool).await, totals, "as readers find it; seed {seed}");
        let far = now + time::Duration::days(3);
        rollup::pass(&mut client, far).await.expect("a pass");
        check_grains(pool, &case, seed).await;
        run(
            pool,
            "insert into due_rollups (grain, period)
             select distinct 'hour', date_trunc('hour', minute, 'UTC') from minute_counts, count_horizons where minute >= minutes_from
             union
             select distinct 'day', date_trunc('day', hour, 'UTC') from hour_counts, count_horizons where hour >= hours_from",
        )
        .await;
        assert!(rollup::pass(&mut client, far).await.expect("a pass") > 0);
        check_grains(pool, &case, seed).await;
        check_units(pool, &case, seed).await;
    }
    assert!(all_refused > 0, "nothing overlapped; seed {seed}");
}

/// What was added.
async fn names(pool: &PgPool) -> BTreeSet<Confirmation> {
    let rows: Vec<(Uuid, i64, i32)> =
        sqlx::query_as("select process, sequence, part from count_batches").fetch_all(pool).await.expect("batches");
    let name = |(process, sequence, part): (Uuid, i64, i32)| Confirmation {
        process: process.into(),
        sequence: sequence as u64,
        part: part as u32,
    };
    rows.into_iter().map(name).collect()
}

async fn reset(pool: &PgPool, now: OffsetDateTime) {
    run(
        pool,
        &format!(
            "truncate evaluation_series, request_series, edge_series, unknown_series, event_series, minute_counts,
                 hour_counts, day_counts, exposures, unit_events, due_rollups, count_batches, count_processes;
             update count_horizons set minutes_from = date_trunc('day', to_timestamp({now}), 'UTC') - interval '4 days',
                 hours_from = date_trunc('day', to_timestamp({now}), 'UTC') - interval '10 days',
                 series_generation = series_generation + 1",
            now = now.unix_timestamp()
        ),
    )
    .await;
}

async fn check_grains(pool: &PgPool, case: &Case, seed: u64) {
    assert_eq!(number(pool, "select count(*) from due_rollups").await, 0, "seed {seed}");
    let horizon = |column: &str| format!("select extract(epoch from {column})::bigint / 60 from count_horizons");
    let minutes_from = number(pool, &horizon("minutes_from")).await;
    let hours_from = number(pool, &horizon("hours_from")).await;
    for (table, column, grain, from) in [
        ("minute_counts", "minute", 1, minutes_from),
        ("hour_counts", "hour", 60, hours_from),
        ("day_counts", "day", DAY, 0),
    ] {
        assert_eq!(stored(pool, table, column, from).await, case.by(grain, from), "{table}; seed {seed}");
    }
}

async fn check_units(pool: &PgPool, case: &Case, seed: u64) {
    let pairs = async |query: &'static str| -> BTreeMap<i64, i64> {
        let rows: Vec<(i64, i64)> = sqlx::query_as(query).fetch_all(pool).await.expect(query);
        rows.into_iter().collect()
    };
    let exposed = pairs("select unit, extract(epoch from minute)::bigint / 60 from exposures").await;
    assert_eq!(exposed, case.exposed, "seed {seed}");
    let done = pairs("select unit, sum(count)::bigint from unit_events group by unit").await;
    assert_eq!(done, case.done, "seed {seed}");
    let summed = pairs("select unit, sum(sum)::bigint from unit_events group by unit").await;
    assert_eq!(summed, case.done, "seed {seed}");
    let rows: Vec<(Uuid, i64)> =
        sqlx::query_as("select process, received from count_processes").fetch_all(pool).await.expect("processes");
    let received: BTreeMap<Uuid, i64> = rows.into_iter().filter(|(_, received)| *received > 0).collect();
    assert_eq!(received, case.received, "seed {seed}");
}
