//! What may be asked of an experiment, and how much.

use backend::store::{self, StoreError};
use shared::model::timestamp::Timestamp;
use time::{Duration, OffsetDateTime};

use crate::experiment::Lab;
use crate::support::App;

#[tokio::test]
async fn many_comparisons_are_warned_of_and_at_most_ten_metrics_are_read() {
    let lab = Lab::start("experiment").await;
    let mut ids = Vec::new();
    for number in 0..11 {
        ids.push(lab.metric(&format!("metric {number:02}"), "purchase", "conversion").await);
    }
    let found = lab.read("").await.expect(200).body;
    assert_eq!(found["metrics"].as_array().map(Vec::len), Some(10));
    assert!(found["warnings"].to_string().contains("these are 10 comparisons"), "{}", found["warnings"]);
    let two = lab.read(&format!("&metric={},{}", ids[10], ids[0])).await.expect(200).body;
    assert_eq!(two["metrics"][0]["metric"]["name"], "metric 10");
    let all = lab.read(&format!("&metric={}", ids.join(","))).await.expect(422);
    assert_eq!(all.fields(), ["metric"]);
}

#[tokio::test]
async fn a_wrong_question_names_what_is_wrong_with_it() {
    let lab = Lab::start("experiment").await;
    for (more, field) in [
        ("&place=target", "place"),
        ("&control=green", "control"),
        ("&metric=purchase", "metric"),
        ("&to=2020-01-01T00:00:00Z", "to"),
    ] {
        assert_eq!(lab.read(more).await.expect(422).fields(), [field], "{more}");
    }
    let text = |at: OffsetDateTime| Timestamp::from(at).to_string();
    let turned = format!("&from={}&to={}", text(lab.at), text(lab.at - Duration::MINUTE));
    assert_eq!(lab.read(&turned).await.expect(422).fields(), ["from"]);
    lab.read(&format!("&from={}", text(lab.at - Duration::days(179)))).await.expect(200);
    let gone = lab.read(&format!("&from={}", text(lab.at - Duration::days(182)))).await.expect(422);
    assert_eq!(gone.fields(), ["from"]);
    assert!(gone.text.contains("180 days (counts.units_days)"), "{}", gone.text);
    for more in ["&from=yesterday", "&to=1", "&control=%20", "&format=xlsx", "&colour=red"] {
        let answer = lab.read(more).await.expect(400);
        let name = more.trim_start_matches('&').split('=').next().expect("a name");
        assert!(answer.body["detail"].as_str().expect("text").contains(name), "{more}: {}", answer.body);
    }
    lab.read("&metric=00000000-0000-0000-0000-000000000000").await.expect(404);
    let nowhere = lab.ana.get("/projects/shop/flags/checkout/experiment").await.expect(400);
    assert!(nowhere.body["detail"].as_str().expect("text").contains("environment"), "{}", nowhere.body);
    lab.ana.get("/projects/shop/flags/checkout/experiment?environment=none").await.expect(404);
    lab.ana.get("/projects/shop/flags/none/experiment?environment=production").await.expect(404);
    let undivided = lab.ana.get("/projects/shop/flags/checkout/experiment?environment=staging").await.expect(422);
    assert_eq!(undivided.fields(), ["environment"]);
    let release = Lab::start("release").await;
    assert_eq!(release.read("").await.expect(422).fields(), ["flag"]);
}

#[tokio::test]
async fn a_statement_that_takes_too_long_is_told_from_a_database_that_fails() {
    let app = App::start().await;
    let mut tx = store::begin_bounded(&app.state.pool).await.expect("a read");
    let limit: String = sqlx::query_scalar("show statement_timeout").fetch_one(&mut *tx).await.expect("a setting");
    assert_eq!(limit, "10s");
    sqlx::raw_sql("set local statement_timeout = '20ms'").execute(&mut *tx).await.expect("a setting");
    let slow = sqlx::query("select pg_sleep(60)").execute(&mut *tx).await.expect_err("a cancelled statement");
    assert!(StoreError::from(slow).took_too_long());
    let broken = sqlx::query("select 1").execute(&mut *tx).await.expect_err("a transaction that failed");
    assert!(!StoreError::from(broken).took_too_long());
}
