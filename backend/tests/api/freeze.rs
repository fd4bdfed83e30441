//! Freezes: nothing changes answers in an environment at certain times, but kills do.

use backend::app::freeze::{end, spans};
use proptest::prelude::{Strategy, any, prop_assert_eq, proptest};
use serde_json::{Value, json};
use shared::model::freeze::{Freeze, FreezeWindow};
use shared::model::local::Weekday;
use time::macros::datetime;
use time::{Duration, OffsetDateTime};

use crate::flag::{boolean, on};
use crate::support::{App, Person};

pub(crate) const FREEZES: &str = "/projects/shop/freezes";
pub(crate) const PRODUCTION: &str = "/projects/shop/flags/checkout/environments/production";
pub(crate) const STAGING: &str = "/projects/shop/flags/checkout/environments/staging";
/// A Friday, 23:00 in Paris.
const FRIDAY: OffsetDateTime = datetime!(2026-10-23 21:00 UTC);

/// An app at a date of the test's own, with the flag `checkout`.
pub(crate) async fn at(moment: OffsetDateTime) -> (App, Person) {
    let app = App::start().await;
    app.state.clock.advance(moment - app.state.clock.now());
    let ana = app.ana().await;
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    (app, ana)
}

pub(crate) fn weekend() -> Value {
    json!({ "freeze": {
        "name": "Weekend", "environments": ["production"], "zone": "Europe/Paris", "reason": "nobody is there",
        "window": { "kind": "weekly", "weekdays": ["friday", "saturday", "sunday"], "from": "18:00", "to": "08:00" } } })
}

#[tokio::test]
async fn a_freeze_refuses_what_changes_answers_and_says_until_when_but_not_a_kill_nor_a_key() {
    let (app, ana) = at(FRIDAY).await;
    ana.post(FREEZES, weekend()).await.expect(201);
    let refused = ana.put(PRODUCTION, 1, json!({ "config": on() })).await.expect(409);
    assert_eq!(refused.code(), "frozen");
    let detail = refused.body["detail"].as_str().expect("a sentence").to_owned();
    assert!(detail.contains("production is frozen until Sat 2026-10-24 08:00 Europe/Paris by 'Weekend'"), "{detail}");
    ana.put(STAGING, 1, json!({ "config": on() })).await.expect(200);
    let kill = json!({ "environments": ["production"], "reason": "payments fail" });
    ana.post("/projects/shop/flags/checkout/kill", kill).await.expect(200);
    ana.post(&format!("{PRODUCTION}/restore"), json!({})).await.expect(200);
    ana.post("/projects/shop/keys", json!({ "environment": "production", "kind": "server", "name": "web" }))
        .await
        .expect(201);
    // A new variant answers nobody yet, but a flag's value is another one everywhere, production included.
    let rename = json!({ "client_visible": true });
    assert_eq!(ana.patch("/projects/shop/flags/checkout", 1, rename).await.expect(409).code(), "frozen");
    ana.patch("/projects/shop/flags/checkout", 1, json!({ "name": "Checkout" })).await.expect(200);
    // Saturday at 8 it ends, and at 18 the next one begins.
    app.state.clock.advance(datetime!(2026-10-24 06:00 UTC) - app.state.clock.now());
    ana.put(PRODUCTION, 1, json!({ "config": on() })).await.expect(200);
}

#[tokio::test]
async fn a_freeze_is_ended_while_it_holds_and_only_by_who_manages_all_that_it_is_about() {
    let (app, ana) = at(FRIDAY).await;
    ana.post(FREEZES, weekend()).await.expect(201);
    let list = ana.get(FREEZES).await.expect(200).body;
    let path = format!("{FREEZES}/{}", list["items"][0]["id"].as_str().expect("an id"));
    assert_eq!((&list["items"][0]["is_active"], &list["items"][0]["version"]), (&json!(true), &json!(1)));
    ana.put(&path, 2, weekend()).await.expect(412);
    let eve = app.member("Eve", Some("editor")).await;
    assert_eq!(eve.put(&path, 1, weekend()).await.expect(403).code(), "forbidden");
    // Somebody who manages staging alone may freeze staging, and not widen that to production.
    sqlx::query(
        "insert into roles (key, name, permissions, version, changed_at, changed_by)
         select 'keeper', 'Keeper', array['manage_environments'], 1, now(), id from users where name = 'Ana'",
    )
    .execute(&app.state.pool)
    .await
    .expect("a role");
    sqlx::query(
        "insert into member_environments (project_id, user_id, environment_id, role)
         select environments.project_id, users.id, environments.id, 'keeper' from environments, users
         where environments.key = 'staging' and users.name = 'Eve'",
    )
    .execute(&app.state.pool)
    .await
    .expect("a role in staging");
    let mut own = weekend();
    own["freeze"]["environments"] = json!(["staging"]);
    eve.post(FREEZES, own.clone()).await.expect(201);
    assert_eq!(eve.put(&path, 1, own.clone()).await.expect(403).code(), "forbidden", "production is not hers");
    own["freeze"]["environments"] = json!([]);
    assert_eq!(eve.post(FREEZES, own).await.expect(403).code(), "forbidden");

    let removed = ana.send(reqwest::Method::DELETE, &path, None, &[("if-match", "\"1\"")]).await.expect(200);
    assert_eq!(removed.body["state"], "applied");
    ana.put(PRODUCTION, 1, json!({ "config": on() })).await.expect(200);
    let entries: i64 = sqlx::query_scalar("select count(*) from revision_entries where entity = 'freeze'")
        .fetch_one(&app.state.pool)
        .await
        .expect("history");
    assert_eq!(entries, 3);
}

#[tokio::test]
async fn what_removes_a_freeze_and_uses_its_absence_at_once_is_held_by_it() {
    use shared::model::change::Change;
    let (app, ana) = at(FRIDAY).await;
    ana.post(FREEZES, weekend()).await.expect(201);
    let list = ana.get(FREEZES).await.expect(200).body;
    let id = list["items"][0]["id"].as_str().expect("an id").parse().expect("an id");
    let config = Change::SaveConfig {
        flag: "checkout".parse().expect("a key"),
        environment: "production".parse().expect("a key"),
        version: 1,
        config: serde_json::from_value(on()).expect("a config"),
    };
    let refused = app.apply(vec![Change::DeleteFreeze { id, version: 1 }, config]).await.expect_err("held");
    assert!(refused.to_string().contains("frozen"), "{refused}");
}

#[tokio::test]
async fn a_freeze_is_passed_over_only_by_who_may_break_the_glass_and_history_says_why() {
    let (app, ana) = at(FRIDAY).await;
    ana.post(FREEZES, weekend()).await.expect(201);
    let eve = app.member("Eve", Some("editor")).await;
    let change = json!({ "kind": "set_share", "flag": "checkout", "environment": "production",
                         "shares": [{ "variant": "on", "buckets": 10 }, { "variant": "off", "buckets": 99_990 }] });
    let broken = json!({ "changes": [change], "break_glass": "payments fail" });
    assert_eq!(eve.post("/projects/shop/changesets", broken.clone()).await.expect(403).code(), "forbidden");
    ana.post("/projects/shop/changesets", broken).await.expect(201);
    let why: Vec<String> = sqlx::query_scalar("select break_glass from changesets where break_glass is not null")
        .fetch_all(&app.state.pool)
        .await
        .expect("reasons");
    assert_eq!(why, ["payments fail"]);
}

#[tokio::test]
async fn a_freeze_that_is_wrong_is_refused_with_the_place() {
    let (_app, ana) = at(FRIDAY).await;
    for (field, value, place) in [
        ("name", json!(" "), "freeze.name"),
        ("zone", json!("Europe/Nowhere"), "freeze.zone"),
        ("environments", json!(["production", "nowhere"]), "freeze.environments[1]"),
        (
            "window",
            json!({ "kind": "weekly", "weekdays": [], "from": "18:00", "to": "08:00" }),
            "freeze.window.weekdays",
        ),
        ("window", json!({ "kind": "once", "from": "2026-12-24T00:00", "to": "2026-12-23T00:00" }), "freeze.window.to"),
        ("window", json!({ "kind": "once", "from": "2026-10-20T00:00", "to": "2026-10-21T00:00" }), "freeze.window"),
    ] {
        let mut bad = weekend();
        bad["freeze"][field] = value;
        assert_eq!(ana.post(FREEZES, bad).await.expect(422).fields(), [place]);
    }
    ana.get(&format!("{FREEZES}?from=2026-10-23T00:00:00Z&to=2026-10-22T00:00:00Z")).await.expect(422);
    ana.get(&format!("{FREEZES}?from=2026-10-23T00:00:00Z&to=2028-10-22T00:00:00Z")).await.expect(422);
}

#[tokio::test]
async fn the_list_shows_the_next_thirty_days_of_each_environment() {
    let (_app, ana) = at(FRIDAY).await;
    ana.post(FREEZES, weekend()).await.expect(201);
    let mut holidays = weekend();
    holidays["freeze"]["name"] = json!("Holidays");
    holidays["freeze"]["environments"] = json!([]);
    holidays["freeze"]["window"] = json!({ "kind": "once", "from": "2026-11-01T00:00", "to": "2026-11-02T00:00" });
    ana.post(FREEZES, holidays).await.expect(201);
    let list = ana.get(FREEZES).await.expect(200).body;
    let names: Vec<&str> = list["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|i| i["freeze"]["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["Holidays", "Weekend"]);
    assert_eq!(list["items"][0]["next"], json!({ "from": "2026-10-31T23:00:00Z", "to": "2026-11-01T23:00:00Z" }));
    let spans = |index: usize| list["environments"][index]["spans"].as_array().expect("spans").clone();
    assert_eq!((spans(0).len(), spans(1).len()), (1, 1), "only the holidays");
    assert_eq!(list["environments"][2]["environment"], "production");
    assert_eq!(spans(2).len(), 5 * 3 + 1, "five weekends of three nights, and the holidays");
    let night = &spans(2)[1];
    // Clocks are put back in the night to the 25th: 18:00 is 16:00 UTC, and 08:00 the next day is 07:00.
    assert_eq!((&night["from"], &night["to"]), (&json!("2026-10-24T16:00:00Z"), &json!("2026-10-25T07:00:00Z")));
}

fn weekly(days: &[Weekday], from: &str, to: &str, zone: &str) -> Freeze {
    Freeze {
        name: "Weekly".into(),
        environments: Vec::new(),
        window: FreezeWindow::Weekly {
            weekdays: days.iter().copied().collect(),
            from: from.parse().expect("a time"),
            to: to.parse().expect("a time"),
        },
        zone: zone.into(),
        reason: String::new(),
    }
}

#[test]
fn where_clocks_change_a_freeze_holds_the_whole_doubled_time_and_nothing_of_the_skipped_one() {
    let sunday = |from: &str, to: &str| weekly(&[Weekday::Sunday], from, to, "Europe/Paris");
    let on = |freeze: &Freeze, from: OffsetDateTime| spans(freeze, from, from + Duration::DAY).expect("spans");
    let (back, ahead) = (datetime!(2026-10-24 22:00 UTC), datetime!(2027-03-27 23:00 UTC));
    let whole = [(datetime!(2026-10-25 00:30 UTC), datetime!(2026-10-25 01:45 UTC))];
    assert_eq!(on(&sunday("02:30", "02:45"), back), whole);
    assert_eq!(on(&sunday("02:30", "02:45"), ahead), []);
    assert_eq!(
        on(&sunday("02:30", "03:30"), ahead),
        [(datetime!(2027-03-28 01:00 UTC), datetime!(2027-03-28 01:30 UTC))]
    );
    assert_eq!(
        on(&sunday("01:30", "02:30"), ahead),
        [(datetime!(2027-03-28 00:30 UTC), datetime!(2027-03-28 01:00 UTC))]
    );
    let once = Freeze {
        window: FreezeWindow::Once {
            from: "2026-10-25T02:00".parse().expect("a time"),
            to: "2026-10-25T02:59:59".parse().expect("a time"),
        },
        ..sunday("00:00", "01:00")
    };
    assert_eq!(on(&once, back), [(datetime!(2026-10-25 00:00 UTC), datetime!(2026-10-25 01:59:59 UTC))]);
}

proptest! {
    #[test]
    fn over_a_year_a_weekly_freeze_holds_exactly_in_its_spans(
        days in proptest::collection::btree_set(0_usize..7, 1..6),
        (from, to) in (0_u32..24 * 60, 0_u32..24 * 60),
        zone in proptest::sample::select(vec!["Europe/Paris", "America/St_Johns", "Asia/Kolkata", "Australia/Lord_Howe", "UTC"]),
        moments in proptest::collection::vec(0_i64..366 * 24 * 60, 200).prop_map(|mut list| { list.sort_unstable(); list }),
        near in any::<bool>(),
    ) {
        let days: Vec<Weekday> = days.into_iter().map(|day| Weekday::ALL[day]).collect();
        let clock = |minute: u32| format!("{:02}:{:02}", minute / 60, minute % 60);
        let freeze = weekly(&days, &clock(from), &clock(to), zone);
        let begin = datetime!(2026-09-01 00:00 UTC);
        let year = spans(&freeze, begin, begin + Duration::days(366)).expect("spans");
        let edges = year.iter().flat_map(|(from, to)| [*from, *to - Duration::MINUTE, *to, *from - Duration::MINUTE]);
        let moments = moments.into_iter().map(|minute| begin + Duration::minutes(minute));
        let asked: Vec<OffsetDateTime> = if near { edges.filter(|at| *at >= begin && *at < begin + Duration::days(365)).collect() } else { moments.collect() };
        for at in asked {
            let in_span = year.iter().find(|(from, to)| *from <= at && at < *to);
            let end = end(&freeze, at).expect("an end");
            prop_assert_eq!(end.is_some(), in_span.is_some(), "{}", at);
            if let (Some(end), Some((_, last))) = (end, in_span)
                && *last < begin + Duration::days(366)
            {
                prop_assert_eq!(end, *last);
            }
            // What a clock on the wall says, on days without a change of clocks.
            let zone = jiff::tz::TimeZone::get(zone).expect("a zone");
            let local = |at: OffsetDateTime| backend::app::zone::local(&zone, at).expect("a time");
            let shift = |by: Duration| local(at + by) - (at + by - begin) ;
            if shift(Duration::days(-3)) != shift(Duration::days(2)) {
                continue;
            }
            let now = local(at);
            let minute = u32::from(now.hour()) * 60 + u32::from(now.minute());
            let is_on = |back: u8| days.contains(&Weekday::ALL[usize::from((now.weekday().number_days_from_monday() + 7 - back) % 7)]);
            let holds = if from < to { is_on(0) && (from..to).contains(&minute) } else { (is_on(0) && minute >= from) || (is_on(1) && minute < to) };
            prop_assert_eq!(in_span.is_some(), holds, "{} {}", at, now);
        }
    }
}
