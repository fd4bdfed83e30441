//! Drafts, rejections, withdrawals, comments, broken glass, lists and events.

use std::time::Duration;

use backend::bus;
use backend::live;
use serde_json::{Value, json};

use super::{CHANGESETS, Shop, approve, approved, ask, request, turn_on};
use crate::support::Nats;

#[tokio::test]
async fn a_draft_asks_nobody_until_it_is_submitted() {
    let shop = Shop::start().await;
    let draft = json!({ "changes": [turn_on("production", 1)], "draft": true });
    let made = shop.eve.post(CHANGESETS, draft).await.expect(201).body;
    assert_eq!(made["state"], "draft");
    let path = format!("{CHANGESETS}/{}", made["id"].as_str().expect("an id"));
    assert_eq!(approve(&shop.ben, &path).await.expect(409).code(), "wrong_state");
    assert_eq!(shop.ben.get(CHANGESETS).await.expect(200).body["items"], json!([]), "drafts of others are theirs");
    assert_eq!(shop.eve.get(&format!("{CHANGESETS}?mine=true")).await.body["counts"]["mine"], 1);
    assert_eq!(shop.ben.post(&format!("{path}/submit"), json!({})).await.expect(403).code(), "forbidden");
    let asked = shop.eve.post(&format!("{path}/submit"), json!({})).await.expect(200).body;
    assert_eq!(asked["state"], "in_review");
    assert_eq!(approved(&shop.ben, &path).await["state"], "applied");
}

#[tokio::test]
async fn a_draft_that_needs_nobody_is_applied_when_it_is_submitted() {
    let shop = Shop::start().await;
    let before = shop.state_of("staging").await;
    let draft = json!({ "changes": [turn_on("staging", 1)], "draft": true });
    let made = shop.eve.post(CHANGESETS, draft).await.expect(201).body;
    assert_eq!(shop.state_of("staging").await, before);
    let path = format!("{CHANGESETS}/{}", made["id"].as_str().expect("an id"));
    let done = shop.eve.post(&format!("{path}/submit"), json!({})).await.expect(200).body;
    assert_eq!((&done["state"], &done["via"]), (&json!("applied"), &json!("person")));
    assert_ne!(shop.state_of("staging").await, before);
}

#[tokio::test]
async fn several_changes_are_applied_all_or_nothing_and_each_problem_names_its_change() {
    let shop = Shop::start().await;
    let before = (shop.state_of("development").await, shop.state_of("staging").await);
    let mut wrong = turn_on("staging", 1);
    wrong["config"]["default_serve"]["variant"] = json!("purple");
    let refused = ask(&shop.eve, vec![turn_on("development", 1), wrong.clone()]).await.expect(422);
    assert_eq!(refused.fields(), ["changes[1].flags[checkout].environments.staging.default_serve.variant"]);
    let alone = ask(&shop.eve, vec![wrong]).await.expect(422);
    assert_eq!(alone.fields(), ["changes[0].config.default_serve.variant"]);
    let stale = ask(&shop.eve, vec![turn_on("development", 1), turn_on("staging", 7)]).await.expect(412);
    assert_eq!(stale.code(), "stale");
    assert_eq!((shop.state_of("development").await, shop.state_of("staging").await), before);
    let done = ask(&shop.eve, vec![turn_on("development", 1), turn_on("staging", 1)]).await.expect(201).body;
    assert_eq!(done["environments"], json!(["development", "staging"]));
    for bad in [json!([]), json!((0..1_001).map(|_| turn_on("staging", 1)).collect::<Vec<_>>())] {
        let refused = shop.eve.post(CHANGESETS, json!({ "changes": bad })).await.expect(422);
        assert_eq!(refused.fields(), ["changes"]);
    }
    shop.eve.post(CHANGESETS, json!({ "changes": [{ "kind": "wish" }] })).await.expect(422);
}

#[tokio::test]
async fn a_rejection_says_why_and_a_withdrawal_is_for_who_wrote_it() {
    let shop = Shop::start().await;
    let path = request(&shop.eve, vec![turn_on("production", 1)]).await;
    shop.ben.post(&format!("{path}/reject"), json!({ "reason": " " })).await.expect(422);
    shop.eve.post(&format!("{path}/reject"), json!({ "reason": "no" })).await.expect(403);
    let rejected =
        shop.ben.post(&format!("{path}/reject"), json!({ "reason": "not on Fridays" })).await.expect(200).body;
    assert_eq!(
        (&rejected["state"], &rejected["problem"], &rejected["closed_by"]),
        (&json!("rejected"), &json!("not on Fridays"), &json!("Ben"))
    );
    assert_eq!(approve(&shop.chen, &path).await.expect(409).code(), "wrong_state");

    let path = request(&shop.eve, vec![turn_on("production", 1)]).await;
    assert_eq!(shop.ben.post(&format!("{path}/cancel"), json!({})).await.expect(403).code(), "forbidden");
    let back = shop.eve.post(&format!("{path}/cancel"), json!({})).await.expect(200).body;
    assert_eq!((&back["state"], &back["can"]["edit"]["may"]), (&json!("cancelled"), &json!(false)));
    shop.eve.put(&path, 2, json!({ "changes": [turn_on("production", 1)] })).await.expect(409);
}

#[tokio::test]
async fn members_talk_about_a_changeset() {
    let shop = Shop::start().await;
    let vic = shop.app.member("Vic", Some("viewer")).await;
    let path = request(&shop.eve, vec![turn_on("production", 1)]).await;
    vic.post(&format!("{path}/comments"), json!({ "text": "is it time?" })).await.expect(200);
    let seen = shop.ben.post(&format!("{path}/comments"), json!({ "text": "it is" })).await.expect(200).body;
    let texts: Vec<(&Value, &Value)> =
        seen["comments"].as_array().expect("comments").iter().map(|c| (&c["by"]["name"], &c["text"])).collect();
    assert_eq!(texts, [(&json!("Vic"), &json!("is it time?")), (&json!("Ben"), &json!("it is"))]);
    for bad in ["", " ", &"x".repeat(2_001)] {
        vic.post(&format!("{path}/comments"), json!({ "text": bad })).await.expect(422);
    }
}

#[tokio::test]
async fn breaking_the_glass_needs_its_permission_and_a_reason_that_stays() {
    let shop = Shop::start().await;
    let body = |reason: &str| json!({ "changes": [turn_on("production", 1)], "break_glass": reason });
    shop.eve.post(CHANGESETS, body("it burns")).await.expect(403);
    shop.ben.post(CHANGESETS, body("it burns")).await.expect(403);
    shop.ana.post(CHANGESETS, body(" ")).await.expect(422);
    let path = request(&shop.eve, vec![turn_on("production", 1)]).await;
    shop.ben.post(&format!("{path}/break-glass"), json!({ "reason": "it burns" })).await.expect(403);
    let done = shop.ana.post(&format!("{path}/break-glass"), json!({ "reason": "it burns" })).await.expect(200).body;
    assert_eq!(
        (&done["state"], &done["break_glass"], &done["break_glass_by"]),
        (&json!("applied"), &json!("it burns"), &json!("Ana"))
    );
    assert_eq!(done["author"]["name"], "Eve");
    let mut off = turn_on("production", 2);
    off["config"]["enabled"] = json!(false);
    let direct = json!({ "changes": [off], "break_glass": "still" });
    assert_eq!(shop.ana.post(CHANGESETS, direct).await.expect(201).body["state"], "applied");
    let reasons: Vec<String> =
        sqlx::query_scalar("select break_glass from changesets where break_glass is not null order by revision")
            .fetch_all(&shop.app.state.pool)
            .await
            .expect("reasons");
    assert_eq!(reasons, ["it burns", "still"]);
    // Where nothing stands in the way, nothing is passed over.
    let harmless = json!({ "changes": [turn_on("staging", 1)], "break_glass": "habit" });
    assert_eq!(shop.ana.post(CHANGESETS, harmless).await.expect(201).body["state"], "applied");
    let broken: i64 = sqlx::query_scalar("select count(*) from changesets where break_glass is not null")
        .fetch_one(&shop.app.state.pool)
        .await
        .expect("a count");
    assert_eq!(broken, 2);
}

#[tokio::test]
async fn the_list_has_a_tab_for_what_waits_for_me_and_pages_through_all() {
    let shop = Shop::start().await;
    for _ in 0..3 {
        request(&shop.eve, vec![turn_on("production", 1)]).await;
    }
    request(&shop.ben, vec![turn_on("production", 1)]).await;
    let ben = shop.ben.get(&format!("{CHANGESETS}?waiting=true")).await.expect(200).body;
    assert_eq!(ben["counts"], json!({ "waiting": 3, "mine": 1, "open": 4, "done": 0 }));
    assert_eq!(ben["items"].as_array().map(Vec::len), Some(3));
    let first = &ben["items"][0];
    assert_eq!(
        (&first["subjects"], &first["environments"]),
        (&json!(["checkout in production"]), &json!(["production"]))
    );
    assert_eq!(first["approvals"], json!([{ "environment": "production", "needed": 1, "given": 0 }]));
    assert_eq!(shop.eve.get(&format!("{CHANGESETS}?waiting=true")).await.body["counts"]["waiting"], 0);

    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = shop.ana.get(&format!("{CHANGESETS}?state=open&limit=3{after}")).await.expect(200).body;
        seen.extend(page["items"].as_array().expect("items").iter().map(|item| item["id"].clone()));
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(seen.len(), 4);
    assert_eq!(shop.ana.get(&format!("{CHANGESETS}?environment=staging")).await.body["items"], json!([]));
    shop.ana.get(&format!("{CHANGESETS}?environment=nowhere")).await.expect(404);
    shop.ana.get(&format!("{CHANGESETS}?state=odd")).await.expect(422);
    shop.ana.get(&format!("{CHANGESETS}?limit=101")).await.expect(422);
    shop.ana.get(&format!("{CHANGESETS}/{}", crate::support::new_id())).await.expect(404);
}

#[tokio::test]
async fn every_backend_tells_its_viewers_where_a_changeset_stands() {
    let nats = Nats::start_one();
    let shop = Shop::start().await;
    let mut events = shop.app.state.live.subscribe();
    let bus =
        bus::connect(&backend::config::Nats { url: nats.url(), user: None, password: None }).await.expect("a bus");
    tokio::spawn(live::listen(shop.app.state.clone(), bus, shop.app.state.stopping.clone()));
    let mut states = Vec::new();
    let waited = tokio::time::timeout(Duration::from_secs(10), async {
        while states != ["in_review", "applied"] {
            if states.is_empty() {
                // Whoever listens from now on hears of what comes.
                let path = request(&shop.eve, vec![turn_on("production", 1)]).await;
                let is_heard = tokio::time::timeout(Duration::from_millis(500), next_state(&mut events)).await;
                let Ok(state) = is_heard else { continue };
                states.push(state);
                approved(&shop.ben, &path).await;
            }
            let state = next_state(&mut events).await;
            if states.last() != Some(&state) {
                states.push(state);
            }
        }
    });
    waited.await.expect("both are told");
}

async fn next_state(events: &mut tokio::sync::broadcast::Receiver<live::LiveEvent>) -> String {
    loop {
        let event = serde_json::to_value(events.recv().await.expect("an event").event).expect("JSON");
        if event["type"] == "changeset" {
            assert_eq!(event["project"], "shop");
            return event["state"].as_str().expect("a state").to_owned();
        }
    }
}
