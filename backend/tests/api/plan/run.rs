//! Steps happen once, in order, at their time.

use std::time::Duration as Wait;

use backend::leader::schedule;
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};

use super::{
    TUESDAY, after, applied, later, make, moment, off, plan, ramp, read, ready, share, share_on, states, steer, step,
    tick,
};
use crate::freeze::{FREEZES, PRODUCTION, weekend};

#[tokio::test]
async fn a_ramp_goes_on_after_each_hold_and_its_last_step_gives_it_its_number() {
    let (app, ana) = ready().await;
    let id = make(&ana, ramp()).await;
    assert_eq!((share_on(&ana).await, applied(&app).await), (0, 0), "what comes is not there yet");
    tick(&app).await;
    assert_eq!(share_on(&ana).await, 10_000);
    later(&app, Duration::minutes(59)).await;
    assert_eq!((share_on(&ana).await, applied(&app).await), (10_000, 1));
    later(&app, Duration::minutes(1)).await;
    assert_eq!(share_on(&ana).await, 50_000);
    let running = read(&ana, &id).await;
    assert_eq!((states(&running), &running["current"]), (vec!["applied", "applied", "waiting"], &json!(2)));
    later(&app, Duration::hours(1)).await;
    later(&app, Duration::hours(1)).await;
    let done = read(&ana, &id).await;
    assert_eq!((share_on(&ana).await, applied(&app).await), (100_000, 3));
    assert_eq!((&done["state"], &done["current"]), (&json!("applied"), &Value::Null));
    let number: i64 = sqlx::query_scalar("select revision from changesets where plan is not null")
        .fetch_one(&app.state.pool)
        .await
        .expect("a number");
    assert_eq!(done["steps"][2]["revision"], number);
}

#[tokio::test]
async fn two_leaders_at_once_apply_each_step_once() {
    let (app, ana) = ready().await;
    let steps: Vec<Value> = (1..=4)
        .map(|minute| {
            step(
                moment(TUESDAY + Duration::minutes(20 + minute)),
                share(u32::try_from(minute).expect("a number") * 1_000),
            )
        })
        .collect();
    make(&ana, plan(&steps)).await;
    app.state.clock.advance(Duration::hours(1));
    let other = app.state.clone();
    tokio::join!(
        schedule::tick(&app.state),
        schedule::tick(&other),
        schedule::tick(&app.state),
        schedule::tick(&other)
    );
    tick(&app).await;
    assert_eq!((applied(&app).await, share_on(&ana).await), (4, 4_000));
    let revisions: Vec<i64> =
        sqlx::query_scalar("select revision from changesets where revision is not null order by 1")
            .fetch_all(&app.state.pool)
            .await
            .expect("numbers");
    assert!(revisions.windows(2).all(|pair| pair[1] == pair[0] + 1), "{revisions:?}");
}

#[tokio::test]
async fn a_leader_that_dies_anywhere_in_a_step_leaves_it_to_be_applied_once() {
    let (app, ana) = ready().await;
    let steps: Vec<Value> = (0..6)
        .map(|minute| {
            step(
                moment(TUESDAY + Duration::minutes(20 + minute)),
                share(1_000 + u32::try_from(minute).expect("a number")),
            )
        })
        .collect();
    let id = make(&ana, plan(&steps)).await;
    app.state.clock.advance(Duration::hours(1));
    for ms in 0..40 {
        // What is dropped in the middle of a transaction is what a crash leaves.
        let _ = tokio::time::timeout(Wait::from_millis(ms), schedule::tick(&app.state)).await;
    }
    tick(&app).await;
    assert_eq!((applied(&app).await, share_on(&ana).await), (6, 1_005));
    assert_eq!(read(&ana, &id).await["state"], "applied");
}

#[tokio::test]
async fn a_step_dated_exactly_now_is_applied() {
    let (app, ana) = ready().await;
    let now = app.state.clock.now();
    make(&ana, plan(&[step(moment(now), share(10_000))])).await;
    tick(&app).await;
    assert_eq!(share_on(&ana).await, 10_000);
}

#[tokio::test]
async fn steps_that_are_late_happen_at_once_and_in_order_and_a_hold_counts_from_then() {
    let (app, ana) = ready().await;
    let at = |hours: i64| moment(TUESDAY + Duration::hours(hours));
    let steps = [step(at(1), share(1_000)), step(at(2), share(2_000)), step(after(600), share(3_000))];
    let id = make(&ana, plan(&steps)).await;
    later(&app, Duration::hours(5)).await;
    assert_eq!((share_on(&ana).await, applied(&app).await), (2_000, 2));
    let due = read(&ana, &id).await["steps"][2]["due_at"].as_str().expect("a time").to_owned();
    let due = OffsetDateTime::parse(&due, &time::format_description::well_known::Rfc3339).expect("a time");
    assert!(due > TUESDAY + Duration::hours(5), "{due}");
    later(&app, Duration::minutes(10)).await;
    assert_eq!(share_on(&ana).await, 3_000);
}

#[tokio::test]
async fn a_freeze_holds_a_step_back_and_says_until_when() {
    let (app, ana) = ready().await;
    // Friday evening in Paris the weekend begins; the plan asks for 19:00 there.
    ana.post(FREEZES, weekend()).await.expect(201);
    let friday = TUESDAY + Duration::hours(3 * 24 + 9);
    let id = make(&ana, plan(&[step(moment(friday), share(10_000))])).await;
    app.state.clock.advance(friday - app.state.clock.now() + Duration::MINUTE);
    tick(&app).await;
    let ana = app.again("Ana").await;
    let held = read(&ana, &id).await;
    assert_eq!((states(&held), &held["state"]), (vec!["waiting"], &json!("scheduled")));
    let problem = held["steps"][0]["problem"].as_str().expect("a reason");
    assert!(problem.contains("frozen until Sat 2026-10-24 08:00 Europe/Paris"), "{problem}");
    assert_eq!(steer(&ana, &id, "next", json!({})).await.expect(409).code(), "frozen");
    later(&app, Duration::hours(14)).await;
    let ana = app.again("Ana").await;
    assert_eq!((share_on(&ana).await, states(&read(&ana, &id).await)), (10_000, vec!["applied"]));
}

#[tokio::test]
async fn a_step_goes_on_soon_after_somebody_ends_the_freeze() {
    let (app, ana) = ready().await;
    let mut always = weekend();
    always["freeze"]["window"] = json!({ "kind": "once", "from": "2026-10-19T00:00", "to": "2026-12-01T00:00" });
    ana.post(FREEZES, always).await.expect(201);
    make(&ana, ramp()).await;
    tick(&app).await;
    assert_eq!(share_on(&ana).await, 0);
    let freeze = ana.get(FREEZES).await.body["items"][0]["id"].as_str().expect("an id").to_owned();
    ana.send(reqwest::Method::DELETE, &format!("{FREEZES}/{freeze}"), None, &[("if-match", "\"1\"")]).await.expect(200);
    later(&app, Duration::seconds(10)).await;
    assert_eq!(share_on(&ana).await, 10_000);
}

#[tokio::test]
async fn a_thing_that_somebody_changed_between_two_steps_suspends_the_plan() {
    let (app, ana) = ready().await;
    let id = make(&ana, ramp()).await;
    tick(&app).await;
    ana.put(PRODUCTION, 3, json!({ "config": off() })).await.expect(200);
    later(&app, Duration::hours(1)).await;
    let suspended = read(&ana, &id).await;
    assert_eq!((&suspended["state"], states(&suspended)), (&json!("suspended"), vec!["applied", "blocked", "waiting"]));
    let problem = suspended["problem"].as_str().expect("a reason");
    assert!(problem.starts_with("step 2 could not be applied: flag config was changed meanwhile"), "{problem}");
    assert_eq!(share_on(&ana).await, 0, "what somebody did stays");
    // Letting it go on changes nothing about that.
    assert_eq!(steer(&ana, &id, "resume", json!({})).await.expect(200).body["state"], "scheduled");
    tick(&app).await;
    assert_eq!(read(&ana, &id).await["state"], "suspended");
    assert_eq!(steer(&ana, &id, "stop", json!({ "go_back": true })).await.expect(409).code(), "wrong_state");
    let kept = steer(&ana, &id, "stop", json!({ "go_back": false })).await.expect(200).body;
    assert_eq!((&kept["state"], states(&kept)), (&json!("cancelled"), vec!["applied", "skipped", "skipped"]));
}

#[tokio::test]
async fn an_author_who_may_no_longer_change_it_has_no_step_applied() {
    let (app, ana) = ready().await;
    let eve = app.member("Eve", Some("editor")).await;
    let id = make(&eve, ramp()).await;
    sqlx::query("update members set role = 'viewer' where user_id = (select id from users where name = 'Eve')")
        .execute(&app.state.pool)
        .await
        .expect("a role");
    tick(&app).await;
    let suspended = read(&ana, &id).await;
    assert_eq!((&suspended["state"], share_on(&ana).await), (&json!("suspended"), 0));
    assert!(suspended["problem"].as_str().expect("a reason").contains("the permission edit in production"));
}
