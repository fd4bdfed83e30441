//! Batches of counts into the database: each exactly once, whatever its time, and nothing that cannot be added in the way
//! of others.

mod minute;
mod range;
mod stream;

use backend::leader::ingest::{Added, Ingester};
use shared::evaluation::Reason;
use shared::model::id::{EnvironmentId, FlagId, ProcessId, SdkKeyId};
use shared::wire::count::{
    CountBatch, ENTRIES_MAX, EvaluationCount, Exposures, KeyCount, Mode, UnitEvents, UnknownCount,
};
use sqlx::PgPool;
use time::OffsetDateTime;

use crate::support::{App, new_id};

/// A batch without anything in it.
pub(crate) fn batch(process: ProcessId, sequence: u64) -> CountBatch {
    CountBatch {
        process,
        first: None,
        sequence,
        part: 0,
        evaluations: Vec::new(),
        keys: Vec::new(),
        unknown: Vec::new(),
        exposures: Vec::new(),
        events: Vec::new(),
    }
}

/// Evaluations of one flag, answered `on` by default.
pub(crate) fn evaluated(environment: EnvironmentId, flag: FlagId, minute: i64, count: u64) -> EvaluationCount {
    EvaluationCount {
        minute,
        environment,
        flag,
        place: "default".into(),
        variant: Some("on".into()),
        reason: Some(Reason::Static),
        mode: Mode::Single,
        count,
    }
}

pub(crate) fn minute_of(at: OffsetDateTime) -> i64 {
    at.unix_timestamp().div_euclid(60)
}

/// One number of the database.
pub(crate) async fn number(pool: &PgPool, query: &str) -> i64 {
    sqlx::query_scalar(sqlx::AssertSqlSafe(query.to_owned())).fetch_one(pool).await.expect(query)
}

/// Rows as text, in order.
pub(crate) async fn texts(pool: &PgPool, query: &str) -> Vec<String> {
    sqlx::query_scalar(sqlx::AssertSqlSafe(query.to_owned())).fetch_all(pool).await.expect(query)
}

/// Runs statements of a test's own.
pub(crate) async fn run(pool: &PgPool, statements: &str) {
    sqlx::raw_sql(sqlx::AssertSqlSafe(statements.to_owned())).execute(pool).await.expect(statements);
}

struct Direct {
    app: App,
    ingester: Ingester,
    now: OffsetDateTime,
}

/// A database with an ingester and no leader.
async fn direct() -> Direct {
    let app = App::start().await;
    let ingester = Ingester::connect(&app.state.config.database.url).await.expect("an ingester");
    let now = app.state.clock.now();
    Direct { app, ingester, now }
}

impl Direct {
    async fn add(&mut self, batches: &[CountBatch]) -> Added {
        self.ingester.add(batches, self.now, 1).await.expect("added")
    }

    async fn number(&self, query: &str) -> i64 {
        number(&self.app.state.pool, query).await
    }
}

#[tokio::test]
async fn a_batch_adds_all_it_carries_once_and_its_process_knows_how_much() {
    let mut direct = direct().await;
    let (process, environment, flag, key) = (new_id(), new_id(), new_id(), SdkKeyId::from(new_id()));
    let (environment, flag) = (EnvironmentId::from(environment), FlagId::from(flag));
    let minute = minute_of(direct.now);
    let mut sent = batch(process.into(), 1);
    sent.evaluations = vec![evaluated(environment, flag, minute, 3), evaluated(environment, flag, minute - 1, 4)];
    // The first variant and none at all are two rows; so are two modes.
    sent.evaluations.push(EvaluationCount { variant: None, reason: None, ..evaluated(environment, flag, minute, 5) });
    sent.evaluations.push(EvaluationCount { mode: Mode::Bulk, ..evaluated(environment, flag, minute, 6) });
    sent.keys = vec![KeyCount { minute, environment, key, count: 20 }];
    let unknown = |flag: Option<&str>, count| {
        let flag = flag.map(|flag| flag.parse().expect("a key"));
        UnknownCount { minute, environment, key, flag, count }
    };
    sent.unknown = vec![unknown(Some("chekout"), 2), unknown(None, 1)];
    let place = "default".to_owned();
    let variant = "on".parse().expect("a variant");
    sent.exposures = vec![Exposures { minute, environment, flag, place, variant, units: vec![7, u64::MAX] }];
    let event = "purchase".parse().expect("an event");
    sent.events = vec![UnitEvents { minute, environment, event, units: vec![(7, 2, 12.5), (8, 1, 1e16)] }];
    let mut earlier = sent.clone();
    (earlier.sequence, earlier.exposures[0].minute) = (2, minute - 9);
    earlier.exposures[0].units = vec![7];

    let added = direct.add(&[sent.clone(), sent.clone(), earlier.clone()]).await;
    assert_eq!((added.batches, added.repeated, added.entries, added.events_refused), (2, 1, 22 - 1, 2));
    let again = direct.add(&[earlier, sent]).await;
    assert_eq!((again.batches, again.repeated), (0, 2));

    assert_eq!(direct.number("select received from count_processes").await, 2 * (3 + 4 + 5 + 6 + 2 + 1));
    assert_eq!(
        direct.number("select sum(count)::bigint from minute_counts join evaluation_series on id = series").await,
        36
    );
    let edges = "select sum(count)::bigint from minute_counts join edge_series on id = series";
    assert_eq!(direct.number(edges).await, 36, "unknown flags are none of an edge's evaluations");
    assert_eq!(direct.number("select count(*) from evaluation_series").await, 4, "with the one of exposures");
    assert_eq!(
        direct.number("select sum(count)::bigint from minute_counts join request_series on id = series").await,
        40
    );
    let pool = &direct.app.state.pool;
    let unknown = "select flag_key || '=' || count from unknown_series join minute_counts on id = series order by 1";
    assert_eq!(texts(pool, unknown).await, ["=2", "chekout=4"]);
    let exposed =
        "select unit || ' ' || (extract(epoch from minute)::bigint / 60 - $) from exposures order by unit desc"
            .replace('$', &minute.to_string());
    assert_eq!(texts(pool, &exposed).await, ["7 -9", "-1 0"], "the first time counts");
    assert_eq!(
        texts(
            pool,
            "select event || unit || ' ' || count || ' ' || sum from unit_events join event_series on id = series"
        )
        .await,
        ["purchase7 4 25"]
    );
    let spans = "select extract(epoch from last_at - first_at)::bigint / 60 from evaluation_series where reason = 'STATIC' and mode = 'single'";
    assert_eq!(direct.number(spans).await, 1);
    assert_eq!(direct.number("select count(*) from due_rollups where grain = 'day'").await.min(1), 1);
}

#[tokio::test]
async fn counts_go_on_beyond_32_bits() {
    let mut direct = direct().await;
    let (environment, flag, minute) = (new_id().into(), new_id().into(), minute_of(direct.now));
    for (sequence, count) in [(1, 2_147_483_647), (2, 1), (3, 1 << 50)] {
        let evaluations = vec![evaluated(environment, flag, minute, count)];
        direct.add(&[CountBatch { evaluations, ..batch(ProcessId::from(environment.uuid()), sequence) }]).await;
    }
    let sum = "select count from minute_counts join evaluation_series on id = series";
    assert_eq!(direct.number(sum).await, 2_147_483_648 + (1 << 50));
}

#[tokio::test]
async fn a_hundred_thousand_distinct_rows_are_all_counted() {
    let mut direct = direct().await;
    let (environment, process, minute) = (EnvironmentId::from(new_id()), new_id().into(), minute_of(direct.now));
    for part in 0..10_u64 {
        let evaluations = (0..ENTRIES_MAX as u64).map(|at| {
            let flag = FlagId::from(uuid::Uuid::from_u128(u128::from((part * 10_000 + at) / 4)));
            EvaluationCount { variant: Some(format!("v{}", at % 4)), ..evaluated(environment, flag, minute, at + 1) }
        });
        direct.add(&[CountBatch { evaluations: evaluations.collect(), ..batch(process, part + 1) }]).await;
    }
    assert_eq!(
        direct.number("select count(*) from minute_counts join evaluation_series on id = series").await,
        100_000
    );
    let sum = 10 * (1..=10_000).sum::<i64>();
    for table in ["evaluation_series", "edge_series"] {
        let query = format!("select sum(count)::bigint from minute_counts join {table} on id = series");
        assert_eq!(direct.number(&query).await, sum, "{table}");
    }
    assert_eq!(direct.number("select received from count_processes").await, sum);
}

#[tokio::test]
async fn unknown_flags_and_events_are_told_apart_up_to_a_bound() {
    let mut direct = direct().await;
    let (environment, minute, process) = (EnvironmentId::from(new_id()), minute_of(direct.now), new_id().into());
    let (key, other) = (SdkKeyId::from(new_id()), SdkKeyId::from(new_id()));
    let unknown = |key, range: std::ops::Range<u64>| {
        range.map(move |at| {
            let flag = Some(format!("flag-{at:05}").parse().expect("a key"));
            UnknownCount { minute, environment, key, flag, count: 1 }
        })
    };
    let events = |range: std::ops::Range<u64>| {
        range.map(|at| UnitEvents {
            minute,
            environment,
            event: format!("event-{at:05}").parse().expect("an event"),
            units: vec![(1, 1, 1.0)],
        })
    };
    let first =
        CountBatch { unknown: unknown(key, 0..900).collect(), events: events(0..900).collect(), ..batch(process, 1) };
    let second = CountBatch {
        unknown: unknown(key, 500..1_500).chain(unknown(other, 0..1)).collect(),
        events: events(500..1_500).collect(),
        ..batch(process, 2)
    };
    direct.add(&[first]).await;
    let added = direct.add(&[second]).await;
    assert_eq!(added.events_refused, 500);
    let told = "select count(*) from unknown_series where flag_key <> '' group by key_id order by 1 desc limit 1";
    assert_eq!(direct.number(told).await, 1_000);
    let others = "select count from minute_counts join unknown_series on id = series where flag_key = ''";
    assert_eq!(direct.number(others).await, 500);
    let all = "select sum(count)::bigint from minute_counts join unknown_series on id = series";
    assert_eq!(direct.number(all).await, 900 + 1_000 + 1);
    assert_eq!(direct.number("select count(*) from event_series").await, 1_000);
    assert_eq!(direct.number("select sum(count)::bigint from unit_events").await, 900 + 500);

    // What a metric reads has a place, however many others came before.
    let metric = format!(
        "insert into users (id, email, name, password_hash, created_at) values (gen_random_uuid(), 'a@b.c', 'A', '', now());
         insert into projects (id, key, name, created_at) values (gen_random_uuid(), 'flooded', 'Flooded', now());
         insert into environments (id, project_id, key, name, hue, position, created_at)
         select '{environment}', id, 'flooded', 'Flooded', 1, 99, now() from projects;
         insert into metrics (id, project_id, name, event, kind, created_at, created_by)
         select gen_random_uuid(), projects.id, 'Late', 'event-09999', 'conversion', now(), users.id
         from projects, users limit 1"
    );
    let pool = direct.app.state.pool.clone();
    run(&pool, &metric).await;
    let late = CountBatch { events: events(9_999..10_001).collect(), ..batch(process, 3) };
    assert_eq!(direct.add(&[late]).await.events_refused, 1);
    assert_eq!(direct.number("select count(*) from event_series where event = 'event-09999'").await, 1);
}

#[tokio::test]
async fn what_a_backend_of_the_previous_release_writes_is_counted_as_well() {
    let mut direct = direct().await;
    let (environment, flag, key) = (new_id(), new_id(), new_id());
    let minute = minute_of(direct.now);
    let old = |back: i64, count: i64| {
        format!(
            "insert into evaluation_counts (environment_id, flag_id, minute, place, variant, mode, count)
             select '{environment}', '{flag}', to_timestamp({at}), 'default', 'on', 'single', {count}
             on conflict (environment_id, flag_id, minute, place, variant, mode) do update
             set count = evaluation_counts.count + excluded.count;
             insert into sdk_key_counts (environment_id, key_id, minute, count)
             select '{environment}', '{key}', to_timestamp({at}), {count}
             on conflict (key_id, minute) do update set count = sdk_key_counts.count + excluded.count;",
            at = (minute - back) * 60
        )
    };
    let pool = direct.app.state.pool.clone();
    run(&pool, &[old(0, 5), old(0, 6), old(20 * 1_440, 7), old(20 * 1_440, 8)].concat()).await;
    // It writes the same series as this one does, but for the reason that it does not know.
    let mut entry = evaluated(environment.into(), flag.into(), minute, 10);
    entry.reason = None;
    direct.add(&[CountBatch { evaluations: vec![entry], ..batch(new_id().into(), 1) }]).await;
    for (series, expected) in [("evaluation_series", [21, 15]), ("request_series", [11, 15]), ("edge_series", [21, 15])]
    {
        for (table, expected) in ["minute_counts", "hour_counts"].into_iter().zip(expected) {
            let sum = format!("select sum(count)::bigint from {table} join {series} on id = series");
            assert_eq!(direct.number(&sum).await, expected, "{table} of {series}");
        }
    }
    assert_eq!(direct.number("select count(*) from evaluation_series").await, 1);
    assert_eq!(direct.number("select count(*) from evaluation_counts").await, 0);
    let hours = "select count(*) from due_rollups where grain = 'hour'";
    assert_eq!(direct.number(hours).await, 1, "what is older than minutes is rolled up no more");
}

#[tokio::test]
async fn a_replay_after_its_identity_was_forgotten_changes_nothing() {
    let mut direct = direct().await;
    let (environment, flag, process) = (new_id().into(), new_id().into(), ProcessId::from(new_id()));
    let sent = |sequence| {
        let evaluations = vec![evaluated(environment, flag, minute_of(OffsetDateTime::UNIX_EPOCH), 1)];
        CountBatch { evaluations, ..batch(process, sequence) }
    };
    direct.add(&[sent(1), sent(2), sent(3)]).await;
    run(
        &direct.app.state.pool,
        "update count_batches set received_at = received_at - interval '41 days' where sequence < 3",
    )
    .await;
    let mut upkeep = connect(&direct.app).await;
    backend::leader::retention::pass(&mut upkeep, &direct.app.state.config.counts, direct.now).await.expect("a pass");
    assert_eq!(direct.number("select count(*) from count_batches").await, 1);
    let again = direct.add(&[sent(1), sent(2), sent(3), sent(4)]).await;
    assert_eq!((again.batches, again.repeated), (1, 3));
}

/// A connection as the leader's upkeep has one.
pub(crate) async fn connect(app: &App) -> tokio_postgres::Client {
    let url = &app.state.config.database.url;
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.expect("a connection");
    tokio::spawn(connection);
    client
}
