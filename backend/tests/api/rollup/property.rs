//! Two leaders that add, crash and are cut off, while counts are rolled up and let go of: exact in every grain.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

use backend::config::Counts;
use backend::leader::ingest::Ingester;
use backend::leader::{partition, retention, rollup};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use shared::evaluation::Reason;
use shared::model::id::SdkKeyId;
use shared::wire::count::{CountBatch, EvaluationCount, Exposures, KeyCount, Mode, UnitEvents, UnknownCount};
use sqlx::PgPool;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::ingest::{batch, connect, evaluated, minute_of, number, run};
use crate::rollup::DAY;
use crate::support::{App, new_id};

const CASES: u64 = 30;

/// Counts by series, as text, and minute.
type Truth = BTreeMap<String, BTreeMap<i64, i64>>;

/// What a case sends and what must come of it.
struct Case {
    now: OffsetDateTime,
    batches: Vec<CountBatch>,
    truth: Truth,
    received: BTreeMap<Uuid, i64>,
    exposed: BTreeMap<i64, i64>,
    done: BTreeMap<i64, i64>,
}

fn case(random: &mut StdRng, now: OffsetDateTime) -> Case {
    let id = |at: u128| Uuid::from_u128(at + 1);
    let mut case = Case {
        now,
        batches: Vec::new(),
        truth: Truth::new(),
        received: BTreeMap::new(),
        exposed: BTreeMap::new(),
        done: BTreeMap::new(),
    };
    for process in 0..3_u128 {
        let process = id(1_000 + process);
        for sequence in 1..=random.random_range(1..=6) {
            let mut sent = batch(process.into(), sequence);
            for _ in 0..random.random_range(1..=12) {
                case.add_entry(random, &mut sent);
            }
            case.batches.push(sent);
        }
    }
    case
}

impl Case {
    fn add_entry(&mut self, random: &mut StdRng, sent: &mut CountBatch) {
        // Many of the last hours, some of every day that is believed.
        let back =
            if random.random_bool(0.5) { random.random_range(-5..180) } else { random.random_range(-5..20 * DAY) };
        let minute = minute_of(self.now) - back;
        let environment = Uuid::from_u128(random.random_range(1..=2));
        let count = random.random_range(1..1_000_u64);
        match random.random_range(0..8) {
            0 => {
                let key = Uuid::from_u128(random.random_range(1..=2));
                sent.keys.push(KeyCount { minute, environment: environment.into(), key: key.into(), count });
                self.note(format!("{key} {environment}"), minute, count);
            }
            1 => {
                let key = SdkKeyId::from(Uuid::from_u128(1));
                let flag = ["a", "b"][random.random_range(0..2)];
                let told = Some(flag.parse().expect("a key"));
                sent.unknown.push(UnknownCount { minute, environment: environment.into(), key, flag: told, count });
                self.note(format!("{environment} {key} {flag}"), minute, count);
                *self.received.entry(sent.process.uuid()).or_default() += count as i64;
            }
            2 => {
                let units: Vec<u64> = (0..3).map(|_| random.random_range(0..20)).collect();
                for unit in &units {
                    let first = self.exposed.entry(*unit as i64).or_insert(minute);
                    *first = minute.min(*first);
                }
                sent.exposures.push(Exposures {
                    minute,
                    environment: Uuid::from_u128(1).into(),
                    flag: Uuid::from_u128(9).into(),
                    place: "default".into(),
                    variant: "on".parse().expect("a variant"),
                    units,
                });
            }
            3 => {
                let unit = random.random_range(0..20_u64);
                *self.done.entry(unit as i64).or_default() += count as i64;
                let event = "purchase".parse().expect("an event");
                let units = vec![(unit, count, count as f64)];
                sent.events.push(UnitEvents { minute, environment: environment.into(), event, units });
            }
            _ => {
                let flag = Uuid::from_u128(random.random_range(1..=3));
                let variant = [None, Some("on"), Some("off")][random.random_range(0..3)];
                let mode = if random.random_bool(0.5) { Mode::Single } else { Mode::Bulk };
                let reason = [None, Some(Reason::Split), Some(Reason::Static)][random.random_range(0..3)];
                sent.evaluations.push(EvaluationCount {
                    variant: variant.map(Into::into),
                    mode,
                    reason,
                    ..evaluated(environment.into(), flag.into(), minute, count)
                });
                let (variant, reason) = (variant.unwrap_or_default(), reason.map_or("", Reason::as_str));
                let mode = if mode == Mode::Single { "single" } else { "bulk" };
                self.note(format!("{environment} {flag} default {variant} {reason} {mode}"), minute, count);
                self.note(format!("{environment} {} {reason} {mode}", sent.process), minute, count);
                *self.received.entry(sent.process.uuid()).or_default() += count as i64;
            }
        }
    }

    fn note(&mut self, series: String, minute: i64, count: u64) {
        *self.truth.entry(series).or_default().entry(minute).or_default() += count as i64;
    }

    /// The truth in a coarser grain, from some minute on.
    fn by(&self, grain: i64, from: i64) -> BTreeMap<(String, i64), i64> {
        let mut rows = BTreeMap::new();
        for (series, minutes) in &self.truth {
            for (minute, count) in minutes.iter().filter(|(minute, _)| **minute >= from) {
                *rows.entry((series.clone(), minute - minute.rem_euclid(grain))).or_default() += count;
            }
        }
        rows
    }
}

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
    for number_of_case in 0..CASES {
        let seed = seed.wrapping_add(number_of_case);
        let mut random = StdRng::seed_from_u64(seed);
        let now = midnight + time::Duration::minutes(random.random_range(0..DAY));
        let case = case(&mut random, now);
        reset(pool, now).await;

        let mut queue: Vec<CountBatch> = case.batches.clone();
        for sent in &case.batches {
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
