//! Plans: changes that happen step by step.

mod protect;
mod run;
mod steer;

use backend::leader::schedule;
use serde_json::{Value, json};
use time::macros::datetime;
use time::{Duration, OffsetDateTime};

use crate::freeze::{PRODUCTION, at};
use crate::support::{App, Person};

const PLANS: &str = "/projects/shop/plans";
/// A Tuesday, days before clocks are put back in Paris.
const TUESDAY: OffsetDateTime = datetime!(2026-10-20 08:00 UTC);

/// An app at that Tuesday, with a flag that answers `off` to everyone in production.
async fn ready() -> (App, Person) {
    let (app, ana) = at(TUESDAY).await;
    ana.put(PRODUCTION, 1, json!({ "config": off() })).await.expect(200);
    (app, ana)
}

fn off() -> Value {
    json!({ "enabled": true, "off_variant": "off", "targets": [], "rules": [], "default_serve": { "variant": "off" } })
}

/// A change of production's shares: so many of 100,000 get `on`.
fn share(on: u32) -> Value {
    json!({ "kind": "set_share", "flag": "checkout", "environment": "production", "shares": [
        { "variant": "on", "buckets": on }, { "variant": "off", "buckets": 100_000_u32.saturating_sub(on) } ] })
}

fn step(when: Value, change: Value) -> Value {
    json!({ "when": when, "changes": [change] })
}

fn after(seconds: u32) -> Value {
    json!({ "kind": "after", "seconds": seconds })
}

fn moment(at: OffsetDateTime) -> Value {
    json!({ "kind": "moment", "at": shared::model::timestamp::Timestamp::from(at) })
}

fn plan(steps: &[Value]) -> Value {
    json!({ "plan": { "steps": steps }, "note": "launch" })
}

/// 10 % now, 50 % an hour later, 100 % another hour later.
fn ramp() -> Value {
    plan(&[
        step(json!({ "kind": "now" }), share(10_000)),
        step(after(3_600), share(50_000)),
        step(after(3_600), share(100_000)),
    ])
}

async fn make(person: &Person, body: Value) -> String {
    let made = person.post(PLANS, body).await.expect(201);
    made.body["id"].as_str().expect("an id").to_owned()
}

async fn read(person: &Person, id: &str) -> Value {
    person.get(&format!("{PLANS}/{id}")).await.expect(200).body
}

async fn steer(person: &Person, id: &str, verb: &str, body: Value) -> crate::support::Answer {
    person.post(&format!("/projects/shop/changesets/{id}/{verb}"), body).await
}

async fn tick(app: &App) {
    schedule::tick(&app.state).await;
}

async fn later(app: &App, by: Duration) {
    app.state.clock.advance(by);
    tick(app).await;
}

/// How many of 100,000 get `on` in production.
async fn share_on(person: &Person) -> u64 {
    let flag = person.get("/projects/shop/flags/checkout").await.expect(200).body;
    let serve = &flag["environments"][2]["config"]["default_serve"];
    let ranges = serve["split"]["ranges"].as_array().cloned().unwrap_or_default();
    let on = ranges.iter().filter(|range| range["variant"] == "on");
    on.map(|range| range["end"].as_u64().expect("a bucket") - range["start"].as_u64().expect("a bucket")).sum()
}

fn states(plan: &Value) -> Vec<&str> {
    plan["steps"].as_array().expect("steps").iter().map(|step| step["state"].as_str().expect("a state")).collect()
}

/// How often production's config was changed by steps.
async fn applied(app: &App) -> i64 {
    sqlx::query_scalar(
        "select count(*) from revision_entries join changesets using (revision)
         where entity = 'config' and via = 'schedule'",
    )
    .fetch_one(&app.state.pool)
    .await
    .expect("history")
}

#[tokio::test]
async fn a_plan_is_refused_when_it_is_made_and_not_when_it_is_due() {
    let (_app, ana) = ready().await;
    let over = plan(&[step(json!({ "kind": "now" }), share(10_000)), step(after(3_600), share(150_000))]);
    assert_eq!(ana.post(PLANS, over).await.expect(422).fields(), ["plan.steps[1].shares"]);
    let mut nobody = share(0);
    nobody["shares"] = json!([{ "variant": "purple", "buckets": 10 }]);
    let refused = ana.post(PLANS, plan(&[step(after(60), nobody)])).await.expect(422);
    assert!(refused.fields()[0].starts_with("plan.steps[0].config.default_serve"), "{:?}", refused.fields());
    let mut stale = share(10);
    stale["version"] = json!(1);
    assert_eq!(ana.post(PLANS, plan(&[step(after(60), stale)])).await.expect(412).code(), "stale");
    assert_eq!(ana.post(PLANS, plan(&[])).await.expect(422).fields(), ["plan.steps"]);
    assert_eq!(
        ana.post(PLANS, plan(&[step(after(59), share(10))])).await.expect(422).fields(),
        ["plan.steps[0].when.seconds"]
    );
    let past = plan(&[step(moment(TUESDAY - Duration::HOUR), share(10))]);
    assert_eq!(ana.post(PLANS, past).await.expect(422).fields(), ["plan.steps[0].when.at"]);
    assert_eq!(ana.get(PLANS).await.expect(200).body["items"], json!([]), "nothing of these is kept");
    assert_eq!(share_on(&ana).await, 0);
}

#[tokio::test]
async fn an_hour_that_clocks_skip_is_moved_and_said_and_one_they_show_twice_asks_which() {
    let (_app, ana) = ready().await;
    let local = |at: &str| json!({ "kind": "local", "at": at, "zone": "Europe/Paris" });
    let made = ana.post(PLANS, plan(&[step(local("2027-03-28T02:30"), share(10))])).await.expect(201).body;
    assert_eq!(made["steps"][0]["due_at"], "2027-03-28T01:00:00Z");
    let moved = made["steps"][0]["moved"].as_str().expect("a sentence");
    assert!(moved.contains("happens at Sun 2027-03-28 03:00 Europe/Paris"), "{moved}");
    let refused = ana.post(PLANS, plan(&[step(local("2026-10-25T02:30"), share(10))])).await.expect(422);
    assert_eq!(refused.fields(), ["plan.steps[0].when.occurrence"]);
    let mut second = local("2026-10-25T02:30");
    second["occurrence"] = json!("second");
    let made = ana.post(PLANS, plan(&[step(second, share(10))])).await.expect(201).body;
    assert_eq!(
        (&made["steps"][0]["due_at"], &made["steps"][0]["moved"]),
        (&json!("2026-10-25T01:30:00Z"), &Value::Null)
    );
}

#[tokio::test]
async fn plans_are_found_by_flag_environment_and_state_page_by_page() {
    let (app, ana) = ready().await;
    let id = make(&ana, ramp()).await;
    let found = |query: &'static str| {
        let ana = ana.clone();
        async move {
            let list = ana.get(&format!("{PLANS}?{query}")).await.expect(200).body;
            list["items"].as_array().expect("a list").len()
        }
    };
    assert_eq!(found("flag=checkout&environment=production").await, 1);
    assert_eq!((found("flag=other").await, found("environment=staging").await), (0, 0));
    assert_eq!((found("state=scheduled").await, found("state=applied").await), (1, 0));
    ana.get(&format!("{PLANS}?environment=nowhere")).await.expect(404);
    let read = read(&ana, &id).await;
    assert_eq!(read["flags"], json!([{ "flag": "checkout", "environment": "production" }]));
    assert_eq!((&read["current"], &read["environments"]), (&json!(0), &json!(["production"])));
    assert_eq!(read["steps"][1]["changes"][0]["version"], 3, "people sign on what each step is written");
    tick(&app).await;
    let far = json!({ "kind": "after", "seconds": 86_400 });
    for _ in 0..50 {
        make(&ana, plan(&[step(far.clone(), share(20_000))])).await;
    }
    let page = ana.get(PLANS).await.expect(200).body;
    assert_eq!(page["items"].as_array().expect("a list").len(), 50);
    let next = page["next"].as_str().expect("another page");
    let page = ana.get(&format!("{PLANS}?after={next}")).await.expect(200).body;
    assert_eq!((page["items"].as_array().expect("a list").len(), &page["items"][0]["id"]), (1, &json!(id)));
    let sam = app.member("Sam", None).await;
    sam.get(&format!("{PLANS}/{id}")).await.expect(404);
}
