//! Series: exact at every edge, in every zone, whatever is rolled up.

use serde_json::{Value, json};
use time::macros::datetime;
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

use crate::flag::boolean;
use crate::support::{App, Counted, Person, keep_since_2020, roll_up};

/// `shop` with the flag `checkout`, and what it counts in production.
pub(super) async fn shop(app: &App) -> (Person, Counted) {
    let ana = app.ana().await;
    let flag = create(&ana, "checkout").await;
    keep_since_2020(&app.state.pool).await;
    (ana, Counted::of(app.environment("production").await.uuid(), flag))
}

pub(super) async fn create(ana: &Person, key: &str) -> Uuid {
    ana.post("/projects/shop/flags", boolean(key)).await.expect(201);
    let flag = ana.get(&format!("/projects/shop/flags/{key}")).await.expect(200).body;
    flag["id"].as_str().expect("an id").parse().expect("an id")
}

/// Reads series of production between two times.
pub(super) async fn read(ana: &Person, from: OffsetDateTime, to: OffsetDateTime, more: &str) -> Value {
    ana.get(&format!("/projects/shop/counts?environment=production&{}&{more}", span(from, to))).await.expect(200).body
}

pub(super) fn span(from: OffsetDateTime, to: OffsetDateTime) -> String {
    let text = |at: OffsetDateTime| shared::model::timestamp::Timestamp::from(at).to_string();
    format!("from={}&to={}", text(from), text(to))
}

fn counts(line: &Value) -> Vec<u64> {
    line["counts"].as_array().expect("counts").iter().map(|count| count.as_u64().expect("a count")).collect()
}

#[tokio::test]
async fn hours_without_traffic_are_zero_and_the_last_is_still_counting() {
    let app = App::start().await;
    let (ana, counted) = shop(&app).await;
    let begin = datetime!(2024-05-01 0:00 UTC);
    counted.add(&app.state.pool, begin + Duration::minutes(70), 3).await;
    counted.add(&app.state.pool, begin + Duration::minutes(299), 4).await;
    let day = begin + Duration::hours(6);
    let series = read(&ana, begin, day, "flag=checkout&interval=hour").await;
    assert_eq!(counts(&series["series"][0]), [0, 3, 0, 0, 4, 0]);
    assert_eq!(series["total"], 7);
    assert_eq!(series.get("counting_from"), None, "all of it is over");

    let now = app.state.clock.now();
    counted.add(&app.state.pool, now - Duration::seconds(now.unix_timestamp() % 60), 5).await;
    let live = ana.get("/projects/shop/counts?last_minutes=3&interval=minute").await.expect(200).body;
    let buckets = live["buckets"].as_array().expect("buckets");
    assert!(buckets[1..].contains(&live["counting_from"]), "{live}");
    assert_eq!(live["total"], 5);
}

#[tokio::test]
async fn edges_of_minutes_hours_and_days_are_those_of_the_zone_and_lose_nothing() {
    let app = App::start().await;
    let (ana, counted) = shop(&app).await;
    // In Kolkata 18:30Z is midnight, the edge of a minute, an hour and a day.
    let edge = datetime!(2024-05-01 18:30 UTC);
    let mut sum = 0;
    for minute in -5..=5 {
        let count = 1 << (minute + 5);
        sum += count;
        counted.add(&app.state.pool, edge + Duration::minutes(minute), count).await;
    }
    let (before, after) = (31_u64, 2_016_u64);
    let (from, to) = (datetime!(2024-05-01 0:00 UTC), datetime!(2024-05-02 0:00 UTC));
    for is_rolled_up in [false, true] {
        if is_rolled_up {
            roll_up(&app.state.pool, to).await;
        }
        for source in ["flag=checkout", "by=none"] {
            let utc = read(&ana, from, to, &format!("{source}&interval=day")).await;
            assert_eq!((&utc["total"], utc["buckets"].as_array().expect("buckets").len()), (&json!(sum), 1));
            let days = read(&ana, from, to, &format!("{source}&interval=day&zone=Asia/Kolkata")).await;
            assert_eq!(days["buckets"], json!(["2024-04-30T18:30:00Z", "2024-05-01T18:30:00Z"]));
            assert_eq!(counts(&days["series"][0]), [before, after]);
            assert_eq!((&days["total"], &days["edges_exact"]), (&utc["total"], &json!(true)));
            let hours = read(
                &ana,
                edge - Duration::hours(1),
                edge + Duration::hours(1),
                &format!("{source}&interval=hour&zone=Asia/Kolkata"),
            )
            .await;
            assert_eq!((counts(&hours["series"][0]), &hours["total"]), (vec![before, after], &utc["total"]));
            let minutes = read(
                &ana,
                edge - Duration::minutes(5),
                edge + Duration::minutes(6),
                &format!("{source}&interval=minute"),
            )
            .await;
            assert_eq!(counts(&minutes["series"][0]), (0..11).map(|at| 1 << at).collect::<Vec<u64>>());
        }
    }
}

#[tokio::test]
async fn a_day_on_which_clocks_change_has_23_hours() {
    let app = App::start().await;
    let (ana, counted) = shop(&app).await;
    for (at, count) in [
        (datetime!(2024-03-30 22:59 UTC), 1),
        (datetime!(2024-03-30 23:00 UTC), 10),
        (datetime!(2024-03-31 21:59 UTC), 100),
        (datetime!(2024-03-31 22:00 UTC), 1_000),
    ] {
        counted.add(&app.state.pool, at, count).await;
    }
    for is_rolled_up in [false, true] {
        if is_rolled_up {
            roll_up(&app.state.pool, datetime!(2024-04-05 0:00 UTC)).await;
        }
        let (from, to) = (datetime!(2024-03-30 12:00 UTC), datetime!(2024-04-01 12:00 UTC));
        let days = read(&ana, from, to, "flag=checkout&interval=day&zone=Europe/Berlin").await;
        assert_eq!(days["buckets"], json!(["2024-03-29T23:00:00Z", "2024-03-30T23:00:00Z", "2024-03-31T22:00:00Z"]));
        assert_eq!(counts(&days["series"][0]), [1, 110, 1_000]);
        assert_eq!(days["to"], "2024-04-01T22:00:00Z");
    }
}

#[tokio::test]
async fn sums_are_the_same_while_hours_and_days_are_rolled_up() {
    let app = App::start().await;
    let (ana, counted) = shop(&app).await;
    let begin = datetime!(2024-05-01 0:00 UTC);
    // Over four days, none of them with the same hours.
    for n in 0..60_i64 {
        let variant = ["on", "off", ""][usize::try_from(n % 3).expect("small")];
        counted.variant(variant).add(&app.state.pool, begin + Duration::minutes(n * 97), n + 1).await;
    }
    let asks = [
        "interval=day",
        "interval=hour",
        "interval=day&zone=Asia/Kolkata",
        "interval=hour&zone=Asia/Kolkata",
        "interval=day&zone=America/New_York",
    ];
    let mut answers = Vec::new();
    for until in [0, 13, 24, 31, 48, 200] {
        roll_up(&app.state.pool, begin + Duration::hours(until)).await;
        let mut now = Vec::new();
        for ask in asks {
            now.push(read(&ana, begin, begin + Duration::days(5), &format!("flag=checkout&by=variant&{ask}")).await);
        }
        answers.push(now);
    }
    assert_eq!(answers[0][0]["total"], 60 * 61 / 2);
    for later in &answers[1..] {
        assert_eq!(later, &answers[0]);
    }
    // What comes late makes a rolled-up hour due again.
    counted.add(&app.state.pool, begin + Duration::minutes(5), 1_000).await;
    let late = read(&ana, begin, begin + Duration::days(5), "flag=checkout&interval=day").await;
    assert_eq!(late["total"], 60 * 61 / 2 + 1_000);
}

#[tokio::test]
async fn of_many_series_only_those_asked_for_are_added_up() {
    let app = App::start().await;
    let (ana, counted) = shop(&app).await;
    let begin = datetime!(2024-05-01 0:00 UTC);
    // Each tenth is of an environment that nobody asks for, between the others.
    sqlx::query(
        "with made as (
             insert into evaluation_series (environment_id, flag_id, place, variant, reason, mode, first_at, last_at)
             select case when at % 10 = 0 then gen_random_uuid() else $1 end, gen_random_uuid(), 'default',
                    case when at % 2 = 0 then 'on' else 'off' end, 'STATIC', 'single', $2, $2
             from generate_series(1, 1000) at
             returning id
         )
         select add_count_by_minute(id, $2 + hours * interval '1 hour', 1) from made, generate_series(0, 30, 10) hours",
    )
    .bind(counted.environment)
    .bind(begin)
    .execute(&app.state.pool)
    .await
    .expect("counts");
    for until in [0, 24, 48] {
        roll_up(&app.state.pool, begin + Duration::hours(until)).await;
        let read = read(&ana, begin, begin + Duration::days(2), "by=variant&interval=day").await;
        let lines = read["series"].as_array().expect("lines").iter();
        let lines: Vec<_> = lines.map(|line| (line["key"].as_str().expect("a key"), counts(line))).collect();
        assert_eq!(lines, [("off", vec![1_500, 500]), ("on", vec![1_200, 400])]);
    }
}

#[tokio::test]
async fn edges_are_labelled_as_they_are_where_minutes_are_gone() {
    let app = App::start().await;
    let (ana, counted) = shop(&app).await;
    let begin = datetime!(2024-05-01 0:00 UTC);
    counted.add(&app.state.pool, begin + Duration::minutes(600), 8).await;
    roll_up(&app.state.pool, begin + Duration::days(9)).await;
    for statement in [
        "delete from minute_counts where minute < '2024-05-03Z'",
        "update count_horizons set minutes_from = '2024-05-03Z'",
    ] {
        sqlx::query(statement).execute(&app.state.pool).await.expect("retention");
    }
    let (from, to) = (begin + Duration::minutes(570), begin + Duration::minutes(690));
    let series = read(&ana, from, to, "interval=15_minutes").await;
    assert_eq!(series["buckets"], json!(["2024-05-01T09:00:00Z", "2024-05-01T10:00:00Z", "2024-05-01T11:00:00Z"]));
    assert_eq!((&series["edges_exact"], &series["to"]), (&json!(false), &json!("2024-05-01T12:00:00Z")));
    assert_eq!(counts(&series["series"][0]), [0, 8, 0]);
}

#[tokio::test]
async fn minutes_that_go_while_somebody_reads_are_missed_by_nobody() {
    let app = App::start().await;
    let (ana, counted) = shop(&app).await;
    let db = &app.state.pool;
    let partition =
        "create table minutes_gone partition of minute_counts for values from ('2024-05-01Z') to ('2024-05-02Z')";
    sqlx::query(partition).execute(db).await.expect("a partition");
    let at = datetime!(2024-05-01 10:07 UTC);
    counted.add(db, at, 5).await;
    counted.add(db, at + Duration::minutes(30), 6).await;
    roll_up(db, at + Duration::DAY).await;
    let mut retention = db.begin().await.expect("a transaction");
    for statement in ["drop table minutes_gone", "update count_horizons set minutes_from = '2024-05-02Z'"] {
        sqlx::query(statement).execute(&mut *retention).await.expect("retention");
    }
    let reading = tokio::spawn(async move { read(&ana, at, at + Duration::minutes(40), "interval=minute").await });
    let waiting = "select count(*) from pg_locks where not granted and relation = 'minute_counts'::regclass
                   and database = (select oid from pg_database where datname = current_database())";
    while sqlx::query_scalar::<_, i64>(waiting).fetch_one(db).await.expect("locks") == 0 {
        tokio::task::yield_now().await;
    }
    retention.commit().await.expect("a commit");
    let series = reading.await.expect("an answer");
    assert_eq!((&series["total"], &series["edges_exact"]), (&json!(11), &json!(false)));
}
