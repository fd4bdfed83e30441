//! What experiments say, with exposures and events as the leader writes them.

mod question;

use std::ops::Range;

use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

use crate::metric::metric;
use crate::support::{Answer, App, Person};

const RESULT: &str = "/projects/shop/flags/checkout/experiment?environment=production";
const CONFIG: &str = "/projects/shop/flags/checkout/environments/production";

/// The experiment `checkout` of the variants red (also when off), blue and green.
struct Lab {
    app: App,
    ana: Person,
    flag: Uuid,
    environment: Uuid,
    /// A minute after the split was set up.
    at: OffsetDateTime,
}

fn split(ranges: &[(u32, u32, &str)]) -> Value {
    let ranges: Vec<Value> =
        ranges.iter().map(|(start, end, variant)| json!({ "start": start, "end": end, "variant": variant })).collect();
    json!({ "split": { "bucket_by": "targetingKey", "algorithm": "murmur3", "seed": "seed", "ranges": ranges } })
}

fn halves() -> Value {
    split(&[(0, 50_000, "blue"), (50_000, 100_000, "red")])
}

fn config(serve: Value) -> Value {
    json!({ "config": { "enabled": true, "off_variant": "red", "default_serve": serve } })
}

impl Lab {
    async fn start(kind: &str) -> Self {
        let app = App::start().await;
        let ana = app.ana().await;
        let variants: Vec<Value> =
            ["blue", "red", "green"].iter().map(|key| json!({ "key": key, "value": key })).collect();
        let new = json!({
            "definition": {
                "key": "checkout", "value_type": "string", "kind": kind, "client_visible": false, "variants": variants
            },
            "name": "Checkout"
        });
        ana.post("/projects/shop/flags", new).await.expect(201);
        ana.put(CONFIG, 1, config(halves())).await.expect(200);
        let flag = ana.get("/projects/shop/flags/checkout").await.expect(200).body["id"].clone();
        let flag = serde_json::from_value(flag).expect("an id");
        let environment = app.environment("production").await.uuid();
        let at = app.state.clock.now() + Duration::minutes(2);
        app.state.clock.advance(Duration::hours(1));
        Self { app, ana, flag, environment, at }
    }

    async fn expose(&self, place: &str, variant: &str, units: Range<i64>, at: OffsetDateTime) {
        sqlx::query(
            "with known as (
                 insert into evaluation_series (environment_id, flag_id, place, variant, reason, mode, first_at, last_at)
                 values ($1, $2, $3, $4, 'SPLIT', 'single', $5, $5)
                 on conflict on constraint evaluation_series_unique do update set last_at = excluded.last_at
                 returning id)
             insert into exposures (series, unit, minute)
             select known.id, unit, date_trunc('minute', $5::timestamptz) from known, generate_series($6, $7 - 1) unit",
        )
        .bind(self.environment)
        .bind(self.flag)
        .bind(place)
        .bind(variant)
        .bind(at)
        .bind(units.start)
        .bind(units.end)
        .execute(&self.app.state.pool)
        .await
        .expect("exposures");
    }

    /// Each of these units did something, with this value.
    async fn act(&self, event: &str, units: Range<i64>, value: f64, at: OffsetDateTime) {
        sqlx::query(
            "with known as (
                 insert into event_series (environment_id, event, first_at, last_at) values ($1, $2, $3, $3)
                 on conflict on constraint event_series_unique do update set last_at = excluded.last_at
                 returning id)
             insert into unit_events (series, unit, minute, count, sum)
             select known.id, unit, date_trunc('minute', $3::timestamptz), 1, $4
             from known, generate_series($5, $6 - 1) unit",
        )
        .bind(self.environment)
        .bind(event)
        .bind(at)
        .bind(value)
        .bind(units.start)
        .bind(units.end)
        .execute(&self.app.state.pool)
        .await
        .expect("events");
    }

    async fn metric(&self, name: &str, event: &str, kind: &str) -> String {
        let made = self.ana.post("/projects/shop/metrics", metric(name, event, kind)).await.expect(201).body;
        made["id"].as_str().expect("an id").to_owned()
    }

    async fn read(&self, more: &str) -> Answer {
        self.ana.get(&format!("{RESULT}{more}")).await
    }
}

#[tokio::test]
async fn a_conversion_is_told_in_words_and_numbers() {
    let lab = Lab::start("experiment").await;
    lab.metric("Purchases", "purchase", "conversion").await;
    lab.expose("default", "blue", 0..4_210, lab.at).await;
    lab.expose("default", "red", 10_000..14_304, lab.at).await;
    lab.act("purchase", 0..509, 0.0, lab.at + Duration::MINUTE).await;
    lab.act("purchase", 10_000..10_491, 0.0, lab.at).await;

    let found = lab.read("").await.expect(200).body;
    assert_eq!(
        (&found["place"], &found["control"], &found["units"]),
        (&json!("default"), &json!("red"), &json!(8_514))
    );
    assert!(found["since"].as_str().expect("text").starts_with("since r"), "{}", found["since"]);
    assert_eq!(found["ratio"]["is_mismatch"], false);
    assert_eq!(found["warnings"], json!([]));
    let lines = &found["metrics"][0]["variants"];
    assert_eq!(
        (&lines[0]["variant"], &lines[0]["active"], &lines[0]["units"]),
        (&json!("blue"), &json!(509), &json!(4_210))
    );
    let near = |value: &Value, expected: f64| {
        let value = value.as_f64().expect("a number");
        assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
    };
    // statsmodels: proportion_confint(509, 4210, method="wilson"), and
    // confint_proportions_2indep(509, 4210, 491, 4304, method="newcomb", compare="diff")
    near(&lines[0]["interval"]["low"], 0.111_398_739_398_435_17);
    near(&lines[0]["comparison"]["single_look"]["low"], -0.006860250845291118);
    near(&lines[0]["comparison"]["single_look"]["high"], 0.020525307926083536);
    assert_eq!(lines[0]["comparison"]["verdict"], "open");
    assert_eq!(
        lines[0]["sentence"],
        "blue converts 12.1 % of 4,210 users, the control red 11.4 % of 4,304; the difference is between −1.4 and \
         +2.8 points (95 %, safe to look at any time): too early to tell"
    );
    assert_eq!((&lines[1]["variant"], &lines[1]["sentence"]), (&json!("red"), &json!("")));
}

#[tokio::test]
async fn a_numeric_metric_counts_those_who_did_nothing_as_0() {
    let lab = Lab::start("experiment").await;
    lab.metric("Basket", "purchase", "numeric").await;
    lab.expose("default", "blue", 0..1_000, lab.at).await;
    lab.expose("default", "red", 10_000..11_000, lab.at).await;
    lab.act("purchase", 0..200, 10.0, lab.at).await;
    lab.act("purchase", 0..100, 30.0, lab.at + Duration::MINUTE).await;
    lab.act("purchase", 10_000..10_200, 10.0, lab.at).await;

    let found = lab.read("").await.expect(200).body;
    let lines = &found["metrics"][0]["variants"];
    // 100 brought 40, 100 brought 10, 800 nothing.
    assert_eq!(
        (&lines[0]["active"], &lines[0]["sum"], &lines[0]["estimate"]),
        (&json!(200), &json!(5_000.0), &json!(5.0))
    );
    // numpy.std([40] * 100 + [10] * 100 + [0] * 800, ddof=1)
    let deviation = lines[0]["deviation"].as_f64().expect("a number");
    assert!((deviation - 12.047619895445953).abs() < 1e-9, "{deviation}");
    assert_eq!(lines[0]["comparison"]["verdict"], "more");
    let sentence = lines[0]["sentence"].as_str().expect("text");
    assert!(
        sentence.starts_with("blue brings 5 per user with 1,000 users, the control red 2 with 1,000;"),
        "{sentence}"
    );
    assert!(sentence.ends_with(": blue brings more"), "{sentence}");
}

#[tokio::test]
async fn nobody_counts_who_saw_several_variants_or_came_before_and_no_event_before_the_exposure() {
    let lab = Lab::start("experiment").await;
    lab.metric("Purchases", "purchase", "conversion").await;
    let before = lab.at - Duration::hours(3);
    lab.expose("default", "blue", 0..300, lab.at).await;
    lab.expose("default", "red", 1_000..1_300, lab.at).await;
    // Fifty of blue get red later, twenty were here long ago, ten get red by another place.
    lab.expose("default", "red", 0..50, lab.at + Duration::MINUTE).await;
    lab.expose("default", "red", 280..300, before).await;
    lab.expose("rule 00000000-0000-0000-0000-000000000001", "red", 100..110, lab.at).await;
    lab.act("purchase", 0..300, 0.0, lab.at - Duration::MINUTE).await;
    lab.act("purchase", 0..120, 0.0, lab.at).await;

    let found = lab.read("").await.expect(200).body;
    assert_eq!((&found["in_several_variants"], &found["exposed_before"]), (&json!(60), &json!(20)));
    assert_eq!(found["variants"][0]["units"], 220);
    assert_eq!(found["variants"][1]["units"], 300);
    assert_eq!(found["metrics"][0]["variants"][0]["active"], 60, "50..100 and 110..120, by what they did afterwards");
    assert_eq!(found["warnings"].as_array().map(Vec::len), Some(1));
    let warning = found["warnings"][0].as_str().expect("text");
    assert!(warning.starts_with("60 users (10.3 %) were given several variants"), "{warning}");
}

#[tokio::test]
async fn a_ratio_that_the_split_does_not_have_forbids_every_conclusion() {
    let lab = Lab::start("experiment").await;
    lab.expose("default", "blue", 0..900, lab.at).await;
    lab.expose("default", "red", 10_000..11_200, lab.at).await;
    let found = lab.read("").await.expect(200).body;
    assert_eq!(found["ratio"]["is_mismatch"], true);
    assert!(found["warnings"][0].as_str().expect("text").contains("trust no comparison"), "{}", found["warnings"]);
    // The same users are as the split says where it says so.
    lab.ana.put(CONFIG, 2, config(split(&[(0, 43_000, "blue"), (43_000, 100_000, "red")]))).await.expect(200);
    let from = format!("&from={}", (lab.at - Duration::MINUTE).unix_timestamp());
    assert_eq!(lab.read(&from).await.status, 400, "a time is written as RFC 3339");
    let from = format!("&from={}", shared::model::timestamp::Timestamp::from(lab.at - Duration::MINUTE));
    let found = lab.read(&from).await.expect(200).body;
    assert_eq!((&found["ratio"]["is_mismatch"], &found["units"]), (&json!(false), &json!(2_100)));
    assert!(found["warnings"].to_string().contains("changed the split within this time"), "{}", found["warnings"]);
}

#[tokio::test]
async fn results_begin_when_the_split_last_changed_and_not_when_something_else_did() {
    let lab = Lab::start("experiment").await;
    lab.expose("default", "blue", 0..500, lab.at).await;
    let first = lab.read("").await.expect(200).body;
    let rule = json!({
        "id": "0192d4c5-7b7e-7000-8000-000000000001", "name": "beta",
        "serve": split(&[(0, 10_000, "green"), (10_000, 20_000, "blue")])
    });
    let mut with_rule = config(halves());
    with_rule["config"]["rules"] = json!([rule]);
    lab.ana.put(CONFIG, 2, with_rule).await.expect(200);
    let second = lab.read("").await.expect(200).body;
    assert_eq!((&second["since"], &second["from"]), (&first["since"], &first["from"]));
    assert_eq!(second["other_places"][0]["name"], "beta");
    let rule = lab.read("&place=rule%200192d4c5-7b7e-7000-8000-000000000001").await.expect(200).body;
    assert_ne!(rule["since"], first["since"]);
    assert_eq!(
        (&rule["units"], &rule["control"]),
        (&json!(0), &json!("green")),
        "the off variant is not in this split"
    );
    assert_eq!(rule["ratio"]["sentence"], "cannot be told yet: 0 users were given a variant; it can be told from 100");
    let shares: Vec<f64> = serde_json::from_value(json!([
        rule["variants"][0]["configured_share"],
        rule["variants"][1]["configured_share"]
    ]))
    .expect("shares");
    assert_eq!(shares, [0.5, 0.5], "of those whom the split takes");
}

#[tokio::test]
async fn a_spreadsheet_gets_the_same_figures() {
    let lab = Lab::start("experiment").await;
    lab.metric("=Purchases, all", "purchase", "conversion").await;
    lab.expose("default", "blue", 0..500, lab.at).await;
    lab.expose("default", "red", 1_000..1_500, lab.at).await;
    lab.act("purchase", 0..200, 0.0, lab.at).await;
    let found = lab.read("").await.expect(200).body;
    let answer = lab.read("&format=csv").await.expect(200);
    assert_eq!(answer.headers["content-type"], "text/csv; charset=utf-8; header=present");
    assert_eq!(answer.headers["content-disposition"], "attachment; filename=\"checkout-in-production-experiment.csv\"");
    let mut reader = csv::Reader::from_reader(answer.text.as_bytes());
    let header = reader.headers().expect("a header").clone();
    let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().expect("rows");
    let cell = |row: usize, name: &str| {
        let column = header.iter().position(|found| found == name).expect("a column");
        rows[row][column].to_owned()
    };
    assert_eq!((rows.len(), cell(0, "metric")), (2, "'=Purchases, all".into()));
    let line = &found["metrics"][0]["variants"][0];
    for (name, value) in [
        ("units", &line["units"]),
        ("active", &line["active"]),
        ("estimate", &line["estimate"]),
        ("always_valid_low", &line["comparison"]["always_valid"]["low"]),
        ("single_look_p", &line["comparison"]["single_look_p"]),
    ] {
        assert_eq!(cell(0, name).parse::<f64>().ok(), value.as_f64(), "{name}");
    }
    assert_eq!((cell(0, "verdict"), cell(1, "is_control")), ("more".into(), "true".into()));
}
