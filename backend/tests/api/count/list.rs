//! Totals, top flags, errors and shares, and all of them as CSV.

use serde_json::{Value, json};
use sqlx::PgPool;
use time::macros::datetime;
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

use crate::count::series::{create, shop, span};
use crate::support::{Answer, App, Counted, new_id, roll_up};

const AT: OffsetDateTime = datetime!(2024-05-01 10:07 UTC);

/// Adds requests of a key, or of a key for a flag that nobody knows.
async fn add_requests(db: &PgPool, environment: Uuid, flag: Option<&str>, at: OffsetDateTime, count: i64) {
    let statement = match flag {
        None => {
            "with own as (insert into request_series (environment_id, key_id, first_at, last_at)
                          values ($1, $2, $3, $3) returning id)
             select add_count_by_minute(id, $3, $4) from own where $5::text is null"
        }
        Some(_) => {
            "with own as (insert into unknown_series (environment_id, key_id, flag_key, first_at, last_at)
                          values ($1, $2, $5, $3, $3) returning id)
             select add_count_by_minute(id, $3, $4) from own"
        }
    };
    let query = sqlx::query(statement).bind(environment).bind(new_id()).bind(at).bind(count).bind(flag);
    query.execute(db).await.expect("requests");
}

/// Rows of a CSV, the header included.
fn table(answer: &Answer) -> Vec<Vec<String>> {
    assert_eq!(answer.headers["content-type"], "text/csv; charset=utf-8; header=present");
    assert!(answer.text.ends_with("\r\n"), "{:?}", answer.text);
    let lines = answer.text.trim_end().split("\r\n");
    lines.map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[tokio::test]
async fn a_summary_has_totals_the_time_before_and_the_busiest_flags() {
    let app = App::start().await;
    let (ana, counted) = shop(&app).await;
    let theme = create(&ana, "theme").await;
    let db = &app.state.pool;
    let staging = app.environment("staging").await.uuid();
    counted.add(db, AT, 600).await;
    counted.add(db, AT + Duration::minutes(5), 60).await;
    counted.at("error PARSE_ERROR", "ERROR").variant("").add(db, AT, 40).await;
    Counted { flag: theme, ..counted.clone() }.add(db, AT, 300).await;
    Counted { environment: staging, ..counted.clone() }.add(db, AT, 7).await;
    counted.add(db, AT - Duration::HOUR, 5).await;
    add_requests(db, counted.environment, None, AT, 900).await;
    add_requests(db, counted.environment, Some("chekout"), AT, 11).await;
    let (from, to) = (AT - Duration::minutes(7), AT + Duration::minutes(53));
    let production = format!("/projects/shop/counts/summary?environment=production&{}", span(from, to));
    let mut answers = Vec::new();
    for until in [0, 24] {
        roll_up(db, from + Duration::hours(until)).await;
        answers.push(ana.get(&production).await.expect(200).body);
    }
    assert_eq!(answers[0], answers[1], "rolled up or not");
    let summary = &answers[0];
    assert_eq!(summary["totals"], json!({ "evaluations": 1_000, "errors": 40, "requests": 900, "unknown": 11 }));
    assert_eq!(summary["before"], json!({ "evaluations": 5, "errors": 0, "requests": 0, "unknown": 0 }));
    assert_eq!(summary["peak"]["evaluations"], 940);
    assert_eq!(summary["peak"]["from"], "2024-05-01T10:07:00Z");
    let flags = summary["flags"].as_array().expect("flags");
    assert_eq!((&flags[0]["flag"], &flags[0]["total"]), (&json!("checkout"), &json!(700)));
    assert_eq!((&flags[1]["flag"], &flags[1]["share"]), (&json!("theme"), &json!(0.3)));
    let spark: u64 = flags[0]["spark"].as_array().expect("a spark").iter().map(|n| n.as_u64().expect("a count")).sum();
    assert_eq!(spark, 700);

    let all = ana.get(&format!("/projects/shop/counts/summary?{}", span(from, to))).await.expect(200).body;
    let environments = all["environments"].as_array().expect("environments");
    let of = |at: usize| (environments[at]["environment"].as_str(), environments[at]["totals"]["evaluations"].as_u64());
    assert_eq!(
        (of(0), of(1), of(2)),
        ((Some("development"), Some(0)), (Some("staging"), Some(7)), (Some("production"), Some(1_000)))
    );
    assert_eq!(all["totals"]["evaluations"], 1_007);
}

#[tokio::test]
async fn top_flags_and_errors_list_removed_flags_without_a_key() {
    let app = App::start().await;
    let (ana, counted) = shop(&app).await;
    let db = &app.state.pool;
    let gone = Counted { flag: new_id(), ..counted.clone() };
    counted.add(db, AT, 10).await;
    Counted { mode: "bulk".into(), ..counted.clone() }.add(db, AT + Duration::HOUR, 30).await;
    gone.at("error GENERAL", "ERROR").variant("").add(db, AT, 5).await;
    gone.at("error GENERAL", "ERROR").variant("").add(db, AT + Duration::minutes(9), 1).await;
    gone.at("error TARGETING_KEY_MISSING", "ERROR").variant("").add(db, AT, 2).await;
    // Of another environment, and long before: not in the time, but the last time it was evaluated at all.
    counted.add(db, AT - Duration::days(3), 99).await;
    let range = span(AT, AT + Duration::hours(2));
    let flags = ana.get(&format!("/projects/shop/counts/flags?environment=production&{range}")).await.expect(200).body;
    let id = gone.flag;
    assert_eq!(
        flags["flags"],
        json!([
            { "id": counted.flag, "flag": "checkout", "name": "checkout", "total": 40, "single": 10, "bulk": 30,
              "errors": 0, "last_evaluated_at": "2024-05-01T10:07:00Z" },
            { "id": id, "total": 8, "single": 8, "bulk": 0, "errors": 8, "last_evaluated_at": "2024-05-01T10:16:00Z" },
        ])
    );
    assert_eq!((&flags["evaluated"], &flags["total"]), (&json!(2), &json!(48)));
    let one = ana.get(&format!("/projects/shop/counts/flags?limit=1&{range}")).await.expect(200).body;
    assert_eq!((one["flags"].as_array().map(Vec::len), &one["total"]), (Some(1), &json!(48)));

    let errors = ana.get(&format!("/projects/shop/counts/errors?{range}")).await.expect(200).body;
    assert_eq!(
        errors["errors"],
        json!([
            { "id": id, "code": "GENERAL", "count": 6, "first_at": "2024-05-01T10:07:00Z", "last_at": "2024-05-01T10:16:00Z" },
            { "id": id, "code": "TARGETING_KEY_MISSING", "count": 2, "first_at": "2024-05-01T10:07:00Z",
              "last_at": "2024-05-01T10:07:00Z" },
        ])
    );
    assert_eq!(errors["total"], 8);
}

#[tokio::test]
async fn shares_stand_beside_what_the_split_says() {
    let app = App::start().await;
    let (ana, counted) = shop(&app).await;
    let db = &app.state.pool;
    let rule = new_id();
    let split = |on: u32| {
        json!({ "split": { "bucket_by": "targetingKey", "seed": "s", "ranges": [
            { "start": 0, "end": on, "variant": "on" }, { "start": on, "end": 100_000, "variant": "off" }] } })
    };
    let mut config = crate::flag::on();
    config["default_serve"] = split(10_000);
    config["rules"] = json!([{ "id": rule, "name": "Beta", "serve": { "variant": "on" } }]);
    let path = "/projects/shop/flags/checkout/environments/production";
    ana.put(path, 1, json!({ "config": config })).await.expect(200);
    counted.at("default", "SPLIT").add(db, AT, 102).await;
    counted.at("default", "SPLIT").variant("off").add(db, AT, 898).await;
    // Before it was a split, together with others, and of a rule that is gone.
    counted.at("default", "DEFAULT").add(db, AT, 5_000).await;
    Counted { mode: "bulk".into(), ..counted.at("default", "SPLIT") }.add(db, AT, 5_000).await;
    counted.at(&format!("rule {rule}"), "TARGETING_MATCH").add(db, AT, 7).await;
    let gone = format!("rule {}", new_id());
    counted.at(&gone, "TARGETING_MATCH").add(db, AT, 3).await;
    let range = span(AT, AT + Duration::HOUR);
    let shares =
        ana.get(&format!("/projects/shop/flags/checkout/shares?environment=production&{range}")).await.expect(200);
    let shares = shares.body;
    assert_eq!(
        shares["sentence"],
        "In production on was answered in 10.2 % of 1 k evaluations, 2024-05-01T10:07:00Z to 2024-05-01T11:07:00Z; \
         the split says 10 %."
    );
    assert_eq!(shares["total"], 6_010);
    let places = shares["places"].as_array().expect("places");
    let told: Vec<_> =
        places.iter().map(|p| (p["place"].as_str(), p["is_current"].as_bool(), p["total"].as_u64())).collect();
    let rule = format!("rule {rule}");
    assert_eq!(
        told,
        [
            (Some(rule.as_str()), Some(true), Some(7)),
            (Some("default"), Some(true), Some(1_000)),
            (Some(gone.as_str()), Some(false), Some(3)),
        ]
    );
    let on = json!({ "variant": "on", "count": 102, "share": 0.102, "configured": 0.1 });
    assert_eq!(
        places[1]["variants"],
        json!([{ "variant": "off", "count": 898, "share": 0.898, "configured": 0.9 }, on])
    );
    assert_eq!((&places[0]["name"], &places[1]["is_split"]), (&json!("Beta"), &json!(true)));
    let silent = ana.get("/projects/shop/flags/checkout/shares?environment=staging&last_minutes=60").await.expect(200);
    assert_eq!(silent.body["sentence"], "In staging it was not evaluated, last 1 h.");
}

#[tokio::test]
async fn a_csv_has_the_figures_of_the_json() {
    let app = App::start().await;
    let (ana, counted) = shop(&app).await;
    let db = &app.state.pool;
    let mut evil = crate::flag::boolean("evil");
    evil["name"] = json!("=HYPERLINK(1)");
    ana.post("/projects/shop/flags", evil).await.expect(201);
    let id = ana.get("/projects/shop/flags/evil").await.body["id"].as_str().expect("an id").parse().expect("an id");
    Counted { flag: id, ..counted.clone() }.add(db, AT, 5).await;
    counted.add(db, AT, 3).await;
    counted.at("error GENERAL", "ERROR").variant("").add(db, AT + Duration::HOUR, 4).await;
    let range = span(AT - Duration::minutes(7), AT + Duration::minutes(113));

    let path = format!("/projects/shop/counts?environment=production&by=flag&interval=hour&{range}");
    let json = ana.get(&path).await.expect(200).body;
    let answer = ana.get(&format!("{path}&format=csv")).await.expect(200);
    assert_eq!(answer.headers["content-disposition"], "attachment; filename=\"counts-shop-production-2024-05-01.csv\"");
    let rows = table(&answer);
    assert_eq!(rows[0], ["from", "to", "flag", "id", "name", "count"]);
    let mut expected = Vec::new();
    for bucket in 0..2 {
        for line in json["series"].as_array().expect("lines") {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let end = if bucket == 0 { &json["buckets"][1] } else { &json["to"] };
            let name = text(&line["name"]).replace('=', "'=");
            let count = line["counts"][bucket].to_string();
            expected.push(vec![
                text(&json["buckets"][bucket]),
                text(end),
                text(&line["key"]),
                text(&line["id"]),
                name,
                count,
            ]);
        }
    }
    assert_eq!(rows[1..], expected);
    assert!(rows.iter().any(|row| row[4] == "'=HYPERLINK(1)"), "{rows:?}");

    for (path, columns, number) in [
        ("counts/summary?environment=production&", 9, (1, "totals")),
        ("counts/flags?", 8, (3, "total")),
        ("counts/errors?", 6, (3, "total")),
        ("flags/checkout/shares?environment=production&", 7, (4, "total")),
    ] {
        let path = format!("/projects/shop/{path}{range}");
        let json = ana.get(&path).await.expect(200).body;
        let rows = table(&ana.get(&format!("{path}&format=csv")).await.expect(200));
        assert!(rows.iter().all(|row| row.len() == columns), "{rows:?}");
        let sum: u64 = rows[1..].iter().map(|row| row[number.0].parse::<u64>().expect("a number")).sum();
        let total = if number.1 == "totals" { &json["totals"]["evaluations"] } else { &json[number.1] };
        assert_eq!(&json!(sum), total, "{path}");
    }
}
