//! Pausing, resuming, bringing forward, stopping; and kills.

use backend::store;
use serde_json::{Value, json};
use time::Duration;

use super::{TUESDAY, applied, later, make, off, plan, ramp, read, ready, share, share_on, states, steer, step, tick};
use crate::freeze::PRODUCTION;

#[tokio::test]
async fn a_paused_plan_waits_and_goes_on_at_once_when_its_time_has_passed() {
    let (app, ana) = ready().await;
    let id = make(&ana, ramp()).await;
    tick(&app).await;
    let paused = steer(&ana, &id, "pause", json!({ "note": "looks odd" })).await.expect(200).body;
    assert_eq!(
        (&paused["pause"]["by"], &paused["pause"]["reason"]),
        (&json!("Ana"), &json!("Ana paused it: looks odd"))
    );
    later(&app, Duration::hours(2)).await;
    assert_eq!(share_on(&ana).await, 10_000);
    assert_eq!(steer(&ana, &id, "next", json!({})).await.expect(409).code(), "wrong_state");
    assert_eq!(steer(&ana, &id, "resume", json!({})).await.expect(200).body["pause"], Value::Null);
    tick(&app).await;
    assert_eq!((share_on(&ana).await, applied(&app).await), (50_000, 2));
    let kinds: Vec<String> = sqlx::query_scalar("select kind from audit_events where kind like 'plan.%' order by at")
        .fetch_all(&app.state.pool)
        .await
        .expect("events");
    assert_eq!(kinds, ["plan.paused", "plan.resumed"], "what was refused did not happen");
}

#[tokio::test]
async fn the_next_step_can_be_brought_forward_and_the_hold_after_it_counts_from_then() {
    let (app, ana) = ready().await;
    let id = make(&ana, ramp()).await;
    tick(&app).await;
    let moved = steer(&ana, &id, "next", json!({})).await.expect(200).body;
    assert_eq!((states(&moved), share_on(&ana).await), (vec!["applied", "applied", "waiting"], 50_000));
    later(&app, Duration::minutes(59)).await;
    assert_eq!(share_on(&ana).await, 50_000);
    later(&app, Duration::minutes(1)).await;
    assert_eq!((share_on(&ana).await, applied(&app).await), (100_000, 3));
    assert_eq!(steer(&ana, &id, "next", json!({})).await.expect(409).code(), "wrong_state");
    assert_eq!(steer(&ana, &id, "pause", json!({})).await.expect(409).code(), "wrong_state");
    let vic = app.member("Vic", Some("viewer")).await;
    assert_eq!(steer(&vic, &id, "pause", json!({})).await.expect(403).code(), "forbidden");
    let none = "00000000-0000-0000-0000-000000000000";
    assert_eq!(steer(&ana, none, "pause", json!({})).await.expect(404).code(), "not_found");
}

#[tokio::test]
async fn a_stopped_plan_keeps_what_it_did() {
    let (app, ana) = ready().await;
    let id = make(&ana, ramp()).await;
    tick(&app).await;
    let stopped = steer(&ana, &id, "stop", json!({ "go_back": false })).await.expect(200).body;
    assert_eq!((&stopped["state"], &stopped["went_back"]), (&json!("cancelled"), &Value::Null));
    assert_eq!(stopped["problem"], "Ana stopped it and kept what it did");
    later(&app, Duration::hours(5)).await;
    assert_eq!((share_on(&ana).await, applied(&app).await), (10_000, 1));
    assert_eq!(steer(&ana, &id, "resume", json!({})).await.expect(409).code(), "wrong_state");
}

#[tokio::test]
async fn a_plan_that_goes_back_leaves_everything_as_it_was_before_its_first_step() {
    let (app, ana) = ready().await;
    let segment = json!({ "definition": { "key": "beta", "included": ["u-1"] }, "name": "Beta" });
    let mut create = segment.clone();
    create["kind"] = json!("create_segment");
    let rename =
        json!({ "kind": "update_flag", "flag": "checkout", "version": 1, "update": { "name": "New checkout" } });
    let now = json!({ "kind": "now" });
    let steps = [
        json!({ "when": now, "changes": [share(10_000), create, rename] }),
        step(super::after(60), share(20_000)),
        step(super::after(60), share(30_000)),
    ];
    let id = make(&ana, plan(&steps)).await;
    tick(&app).await;
    later(&app, Duration::MINUTE).await;
    assert_eq!(share_on(&ana).await, 20_000);
    let stopped = steer(&ana, &id, "stop", json!({ "go_back": true })).await.expect(200).body;
    assert_eq!((&stopped["state"], &stopped["went_back"]["state"]), (&json!("cancelled"), &json!("applied")));
    let flag = ana.get("/projects/shop/flags/checkout").await.expect(200).body;
    assert_eq!((&flag["environments"][2]["config"], &flag["name"]), (&off(), &json!("checkout")));
    ana.get("/projects/shop/segments/beta").await.expect(404);
}

#[tokio::test]
async fn what_cannot_be_unmade_is_said_before_anything_is_stopped() {
    let (app, ana) = ready().await;
    let mut create = crate::flag::boolean("banner");
    create["kind"] = json!("create_flag");
    let steps = [step(json!({ "kind": "now" }), create), step(super::after(60), share(20_000))];
    let id = make(&ana, plan(&steps)).await;
    tick(&app).await;
    let refused = steer(&ana, &id, "stop", json!({ "go_back": true })).await.expect(409);
    assert!(refused.body["detail"].as_str().expect("a sentence").contains("flag 'banner' cannot be taken back"));
    assert_eq!(read(&ana, &id).await["state"], "scheduled");
}

#[tokio::test]
async fn a_kill_pauses_the_plans_of_its_flag_and_its_end_does_not_resume_them() {
    let (app, ana) = ready().await;
    let id = make(&ana, ramp()).await;
    tick(&app).await;
    let until = shared::model::timestamp::Timestamp::from(TUESDAY + Duration::hours(2));
    let kill = json!({ "environments": ["production"], "reason": "payments fail", "until": until });
    ana.post("/projects/shop/flags/checkout/kill", kill).await.expect(200);
    let paused = read(&ana, &id).await;
    assert_eq!(paused["pause"]["reason"], "checkout was killed: payments fail");
    later(&app, Duration::hours(1)).await;
    assert_eq!(steer(&ana, &id, "resume", json!({})).await.expect(409).code(), "wrong_state");
    assert_eq!((share_on(&ana).await, applied(&app).await), (10_000, 1));
    // Its time comes and the kill ends by itself, also with plans paused.
    later(&app, Duration::hours(1)).await;
    let mut db = app.state.pool.acquire().await.expect("a connection");
    assert!(store::kill::list_due(&mut db, app.state.clock.now()).await.expect("kills").is_empty());
    let flag = ana.get("/projects/shop/flags/checkout").await.body;
    assert_eq!(flag["environments"][2]["kill"], Value::Null);
    later(&app, Duration::hours(1)).await;
    assert_eq!(share_on(&ana).await, 10_000, "somebody has to let it go on");
    steer(&ana, &id, "resume", json!({})).await.expect(200);
    tick(&app).await;
    assert_eq!(share_on(&ana).await, 50_000);
}

#[tokio::test]
async fn a_kill_elsewhere_pauses_nothing_and_one_that_was_there_before_holds_a_new_plan() {
    let (app, ana) = ready().await;
    let id = make(&ana, ramp()).await;
    let kill = |environment: &str| json!({ "environments": [environment], "reason": "payments fail" });
    ana.post("/projects/shop/flags/checkout/kill", kill("staging")).await.expect(200);
    tick(&app).await;
    assert_eq!(share_on(&ana).await, 10_000);
    steer(&ana, &id, "stop", json!({ "go_back": false })).await.expect(200);
    ana.post("/projects/shop/flags/checkout/kill", kill("production")).await.expect(200);
    let other = make(&ana, plan(&[step(json!({ "kind": "now" }), share(60_000))])).await;
    tick(&app).await;
    assert_eq!(read(&ana, &other).await["pause"]["reason"], "a flag of the plan is killed");
    assert_eq!(share_on(&ana).await, 10_000);
    ana.post(&format!("{PRODUCTION}/restore"), json!({})).await.expect(200);
    steer(&ana, &other, "resume", json!({})).await.expect(200);
    tick(&app).await;
    assert_eq!(share_on(&ana).await, 60_000);
}

#[tokio::test]
async fn a_kill_waits_for_no_step() {
    let (app, ana) = ready().await;
    let id = make(&ana, ramp()).await;
    // A step holds the project, the plan and its own row for as long as it runs.
    let mut running = app.state.pool.begin().await.expect("a transaction");
    let shop = app.project().await;
    store::project::lock(&mut running, shop).await.expect("the project");
    let id_of = id.parse().expect("an id");
    store::plan::find_for_update(&mut running, shop, id_of).await.expect("the plan");
    store::plan::next_step(&mut running, id_of).await.expect("the step");
    let kill = json!({ "environments": ["production"], "reason": "payments fail" });
    let killed = ana.post("/projects/shop/flags/checkout/kill", kill);
    tokio::time::timeout(std::time::Duration::from_secs(5), killed).await.expect("at once").expect(200);
    running.rollback().await.expect("the end of the step");
    assert_eq!(read(&ana, &id).await["pause"]["reason"], "checkout was killed: payments fail");
}
