//! What people draw from counts, with rows as the leader writes them.

use serde_json::{Value, json};
use shared::model::timestamp::Timestamp;
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

use crate::flag::boolean;
use crate::support::{App, new_id};

/// A moment as a query has it.
pub(crate) fn moment(at: OffsetDateTime) -> Timestamp {
    at.into()
}

/// The hour, day or minute that a moment lies in.
pub(crate) fn floor(at: OffsetDateTime, length: Duration) -> OffsetDateTime {
    let seconds = at.unix_timestamp().div_euclid(length.whole_seconds()) * length.whole_seconds();
    OffsetDateTime::from_unix_timestamp(seconds).expect("a time")
}

async fn run(app: &App, sql: &'static str) {
    sqlx::raw_sql(sql).execute(&app.state.pool).await.expect("rows");
}

async fn count(app: &App, table: &str, series: i64, at: OffsetDateTime, count: i64) {
    let sql = format!("insert into {table}_counts (series, {table}, count) values ($1, $2, $3)");
    let query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(series).bind(at).bind(count);
    query.execute(&app.state.pool).await.expect("a count");
}

async fn due(app: &App, grain: &str, at: OffsetDateTime) {
    let query = sqlx::query("insert into due_rollups (grain, period) values ($1, $2)").bind(grain).bind(at);
    query.execute(&app.state.pool).await.expect("a mark");
}

async fn unknown(app: &App, environment: &str, key: Uuid, flag: &str, from: OffsetDateTime, to: OffsetDateTime) -> i64 {
    sqlx::query_scalar(
        "insert into unknown_series (environment_id, key_id, flag_key, first_at, last_at)
         select id, $2, $3, $4, $5 from environments where key = $1 returning id",
    )
    .bind(environment)
    .bind(key)
    .bind(flag)
    .bind(from)
    .bind(to)
    .fetch_one(&app.state.pool)
    .await
    .expect("a series")
}

#[tokio::test]
async fn an_unknown_flag_is_told_with_who_asks_and_what_is_near() {
    let app = App::start().await;
    let ana = app.ana().await;
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    ana.post("/projects/shop/flags", boolean("old")).await.expect(201);
    run(&app, "update flags set archived_at = now() where key = 'old'").await;
    let made = json!({ "environment": "production", "name": "web-1", "kind": "server" });
    let key = ana.post("/projects/shop/keys", made).await.expect(201).body["key"]["id"].clone();
    let key: Uuid = serde_json::from_value(key).expect("an id");
    let now = floor(app.state.clock.now(), Duration::MINUTE);
    for (flag, asked) in [("chekout", 4_100), ("old", 7), ("", 90)] {
        let series = unknown(&app, "production", key, flag, now - Duration::MINUTE, now).await;
        count(&app, "minute", series, now, asked).await;
    }
    due(&app, "hour", floor(now, Duration::HOUR)).await;
    due(&app, "day", floor(now, Duration::DAY)).await;
    let elsewhere = unknown(&app, "staging", new_id(), "checkout", now, now).await;
    count(&app, "minute", elsewhere, now, 1).await;

    let found = ana.get("/projects/shop/counts/unknown?environment=production").await.expect(200).body;
    assert_eq!((&found["total"], &found["is_cut"]), (&json!(4_197), &json!(false)));
    let lines: Vec<(&str, &str)> = found["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|item| (item["key"].as_str().expect("text"), item["status"].as_str().expect("text")))
        .collect();
    assert_eq!(lines, [("chekout", "unknown"), ("", "others"), ("old", "archived")]);
    let first = &found["items"][0];
    assert_eq!((&first["sdk_key_name"], &first["nearest"]), (&json!("web-1"), &json!("checkout")));
    assert_eq!(first["sentence"], "no flag is called chekout; did they mean checkout?");
    assert_eq!(first["first_at"], json!(moment(now - Duration::MINUTE)));
    let all = ana.get("/projects/shop/counts/unknown").await.expect(200).body;
    assert_eq!((&all["total"], &all["items"][3]["status"]), (&json!(4_198), &json!("exists")));
    let csv = ana.get("/projects/shop/counts/unknown?environment=production&format=csv").await.expect(200);
    let name = csv.headers["content-disposition"].to_str().expect("text");
    assert_eq!(name, "attachment; filename=\"shop-unknown-flags.csv\"");
    let line = csv.text.lines().nth(1).expect("the first flag");
    assert!(line.starts_with("chekout,production,") && line.contains(",web-1,4100,"), "{line}");
    let earlier = format!("/projects/shop/counts/unknown?to={}", moment(now - Duration::MINUTE));
    assert_eq!(ana.get(&earlier).await.expect(200).body["total"], 0);
}

#[tokio::test]
async fn every_count_is_added_once_whether_its_hour_and_day_are_rolled_up_or_not() {
    let app = App::start().await;
    let ana = app.ana().await;
    let today = floor(app.state.clock.now(), Duration::DAY);
    let day = |days: i64| today - Duration::days(days);
    let series = unknown(&app, "production", new_id(), "gone", day(200), today).await;
    // Long ago there are days alone, then hours; six days ago all are rolled up; two days ago one hour is due, and so is
    // its day, whose rows are older than its minutes.
    count(&app, "day", series, day(150), 1).await;
    count(&app, "hour", series, day(40), 2).await;
    count(&app, "day", series, day(40), 2).await;
    for (table, number) in [("minute", 4), ("hour", 4), ("day", 4)] {
        count(&app, table, series, day(6), number).await;
    }
    count(&app, "minute", series, day(2), 8).await;
    count(&app, "hour", series, day(2), 7).await;
    count(&app, "hour", series, day(2) + Duration::HOUR, 16).await;
    count(&app, "minute", series, day(2) + Duration::HOUR, 16).await;
    count(&app, "day", series, day(2), 20).await;
    due(&app, "hour", day(2)).await;
    due(&app, "day", day(2)).await;
    let sum = |from: OffsetDateTime, to: OffsetDateTime| {
        let path = format!("/projects/shop/counts/unknown?from={}&to={}", moment(from), moment(to));
        let ana = ana.clone();
        async move { ana.get(&path).await.expect(200).body["total"].as_u64().expect("a number") }
    };
    assert_eq!(sum(day(365), today).await, 31);
    assert_eq!(sum(day(6), day(5)).await, 4);
    assert_eq!(sum(day(6), day(6) + Duration::MINUTE).await, 4, "a part of a clean day is read of its minutes");
    assert_eq!(sum(day(6) + Duration::MINUTE, day(5)).await, 0);
    assert_eq!(sum(day(2), day(2) + Duration::HOUR).await, 8, "of the due hour the minutes");
    assert_eq!(sum(day(2) + Duration::minutes(30), day(2) + Duration::minutes(90)).await, 16);
    // Where only hours or days are kept, the range begins and ends with whole ones.
    assert_eq!(sum(day(40) + Duration::minutes(5), day(40) + Duration::minutes(6)).await, 2);
    assert_eq!(sum(day(150) + Duration::HOUR, day(150) + Duration::hours(2)).await, 1);
}

#[tokio::test]
async fn a_wrong_range_or_environment_is_named() {
    let app = App::start().await;
    let ana = app.ana().await;
    let known = new_id();
    sqlx::query("insert into edges (process, name, heartbeat, last_heard_at) values ($1, 'edge-1', '{}', now())")
        .bind(known)
        .execute(&app.state.pool)
        .await
        .expect("an edge");
    let history = format!("/edges/{known}/history");
    for path in ["/projects/shop/counts/unknown", "/counts/losses", history.as_str()] {
        let backwards = ana.get(&format!("{path}?from=2026-05-02T00:00:00Z&to=2026-05-01T00:00:00Z")).await;
        assert_eq!(backwards.expect(422).fields(), ["from"], "{path}");
        let endless = ana.get(&format!("{path}?from=1990-05-02T00:00:00Z&to=2026-05-01T00:00:00Z")).await;
        assert_eq!(endless.expect(422).fields(), ["from"], "{path}");
        for name in ["from", "to", "until"] {
            let answer = ana.get(&format!("{path}?{name}=today")).await.expect(400);
            assert!(answer.body["detail"].as_str().expect("text").contains(name), "{path}: {}", answer.body);
        }
    }
    ana.get("/projects/shop/counts/unknown?environment=none").await.expect(404);
    ana.get(&format!("/edges/{}/history", new_id())).await.expect(404);
    ana.get("/projects/shop/flags/none/usage").await.expect(404);
}

#[tokio::test]
async fn a_loss_is_told_beside_what_arrived() {
    let app = App::start().await;
    let ana = app.ana().await;
    let now = floor(app.state.clock.now(), Duration::MINUTE);
    let none = ana.get("/counts/losses").await.expect(200).body;
    assert_eq!((&none["sentence"], &none["items"]), (&json!("no gap in 0 evaluations"), &json!([])));
    let series: i64 = sqlx::query_scalar(
        "insert into edge_series (environment_id, process, reason, mode, first_at, last_at)
         select id, gen_random_uuid(), '', 'single', $1, $1 from environments where key = 'production' returning id",
    )
    .bind(now)
    .fetch_one(&app.state.pool)
    .await
    .expect("a series");
    count(&app, "minute", series, now, 48_200_000).await;
    for (table, at) in [("hour", floor(now, Duration::HOUR)), ("day", floor(now, Duration::DAY))] {
        due(&app, table, at).await;
    }
    for (ago, cause, lost, is_final) in
        [(5, "killed", 4_200, true), (3_000, "silent", 7, false), (5, "let_go", 0, true)]
    {
        sqlx::query("insert into count_losses values ($1, $2, 'edge-3', $3, $4, $5, $6)")
            .bind(new_id())
            .bind(cause)
            .bind(now - Duration::minutes(ago + 1))
            .bind(now - Duration::minutes(ago))
            .bind(lost)
            .bind(is_final)
            .execute(&app.state.pool)
            .await
            .expect("a loss");
    }
    let day = ana.get("/counts/losses").await.expect(200).body;
    assert_eq!(day["sentence"], "1 gap, at most 4,200 of 48.2 M");
    assert_eq!((&day["evaluations"], &day["lost_max"]), (&json!(48_200_000), &json!(4_200)));
    assert_eq!(day["items"][0]["sentence"], "edge-3 was ended hard; at most 4,200 evaluations are lost");
    let csv = ana.get("/counts/losses?format=csv").await.expect(200).text;
    assert!(csv.starts_with("edge,process,cause,") && csv.lines().count() == 2 && csv.contains(",4200,true"), "{csv}");
    let week = format!("/counts/losses?from={}", moment(now - Duration::days(7)));
    let week = ana.get(&week).await.expect(200).body;
    assert_eq!(week["sentence"], "2 gaps, at most 4,207 of 48.2 M");
    assert_eq!((&week["items"][1]["cause"], &week["items"][1]["is_final"]), (&json!("silent"), &json!(false)));
}

async fn sample(app: &App, process: Uuid, minute: OffsetDateTime, counted: i64, unsent: i64, lag_ms: Option<i64>) {
    sqlx::query("insert into edge_samples values ($1, $2, 'edge-1', 31000000, $3, $4, 0, $5)")
        .bind(process)
        .bind(minute)
        .bind(counted)
        .bind(unsent)
        .bind(lag_ms)
        .execute(&app.state.pool)
        .await
        .expect("a sample");
}

#[tokio::test]
async fn an_edge_has_a_history_with_gaps_instead_of_zeros() {
    let app = App::start().await;
    let ana = app.ana().await;
    let process = new_id();
    let now = floor(app.state.clock.now(), Duration::DAY);
    let at = |minute: i64| now + Duration::minutes(minute);
    for (minute, counted, unsent, lag) in
        [(-1, 600, 0, None), (0, 1_200, 5, Some(14)), (1, 4_200, 0, None), (4, 5_000, 3, None), (5, 5_000, 9, Some(31))]
    {
        sample(&app, process, at(minute), counted, unsent, lag).await;
    }
    let path = format!("/edges/{process}/history");
    let found = ana.get(&format!("{path}?from={}&to={}", moment(at(0)), moment(at(6)))).await.expect(200).body;
    assert_eq!((&found["name"], &found["interval_seconds"]), (&json!("edge-1"), &json!(60)));
    let point = |unsent: u64, lag: Option<u64>, rate: Option<f64>| {
        let mut point = json!({ "memory_bytes": 31_000_000, "unsent": unsent, "revisions_behind": 0 });
        if let Some(lag) = lag {
            point["lag_ms"] = lag.into();
        }
        if let Some(rate) = rate {
            point["evaluations_per_second"] = rate.into();
        }
        point
    };
    let expected = json!([
        point(5, Some(14), Some(10.0)),
        point(0, None, Some(50.0)),
        null,
        null,
        point(3, None, None),
        point(9, Some(31), Some(0.0))
    ]);
    assert_eq!(found["points"], expected);
    let csv = format!("{path}?from={}&to={}&format=csv", moment(at(0)), moment(at(3)));
    let csv = ana.get(&csv).await.expect(200).text;
    let lines: Vec<String> = csv.lines().skip(1).map(str::to_owned).collect();
    let [first, second, third] = [at(0), at(1), at(2)].map(moment);
    assert_eq!(
        lines,
        [format!("{first},31000000,5,0,14,10"), format!("{second},31000000,0,0,,50"), format!("{third},,,,,"),]
    );
    // Wider intervals where there would be more than 1,440.
    let to = now + Duration::days(3);
    let wide = ana.get(&format!("{path}?from={}&to={}", moment(now), moment(to))).await.expect(200).body;
    let points = wide["points"].as_array().expect("points");
    assert_eq!((points.len(), &wide["interval_seconds"], &wide["to"]), (864, &json!(300), &json!(moment(to))));
    // 4,400 more than in the last minute before, five minutes later.
    assert_eq!(points[0], point(5, Some(14), Some(4_400.0 / 300.0)));
    assert_eq!(points[1]["unsent"], 9);
    assert_eq!(points[2], Value::Null);
}
