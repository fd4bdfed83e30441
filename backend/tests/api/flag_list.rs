//! The list of flags: search, filters, order and what each row tells.

use serde_json::{Value, json};
use time::Duration;

use crate::flag::{boolean, on};
use crate::flag_life::user_id;
use crate::support::{App, Person};

/// A flag with a name, a description and tags.
async fn flag(ana: &Person, key: &str, name: &str, description: &str, tags: &[&str]) {
    let mut new = boolean(key);
    new["name"] = json!(name);
    new["description"] = json!(description);
    new["tags"] = json!(tags);
    ana.post("/projects/shop/flags", new).await.expect(201);
}

async fn set(ana: &Person, key: &str, environment: &str, config: Value) {
    let path = format!("/projects/shop/flags/{key}/environments/{environment}");
    ana.put(&path, 1, json!({ "config": config })).await.expect(200);
}

async fn keys(person: &Person, query: &str) -> Vec<String> {
    let page = person.get(&format!("/projects/shop/flags?{query}")).await.expect(200).body;
    let items = page["items"].as_array().expect("items");
    let keys: Vec<String> = items.iter().map(|flag| flag["key"].as_str().expect("a key").to_owned()).collect();
    assert_eq!(page["matching"], json!(keys.len()), "{query}");
    keys
}

#[tokio::test]
async fn a_search_finds_the_very_key_first_then_beginnings_then_words_then_the_rest() {
    let app = App::start().await;
    let ana = app.ana().await;
    flag(&ana, "a-recheckout", "Once more", "", &[]).await;
    flag(&ana, "b", "The checkout button", "", &[]).await;
    flag(&ana, "c", "Cart", "before checkouts begin", &[]).await;
    flag(&ana, "d", "Tagged", "", &["Checkout"]).await;
    flag(&ana, "checkout/theme", "Theme", "", &[]).await;
    flag(&ana, "checkout", "Checkout", "", &[]).await;
    flag(&ana, "other", "Other", "", &[]).await;
    assert_eq!(keys(&ana, "q=Checkout").await, ["checkout", "checkout/theme", "b", "c", "d", "a-recheckout"]);
    assert_eq!(keys(&ana, "q=butt%20check").await, ["b"], "words in any order");
    assert_eq!(keys(&ana, "q=theme").await, ["checkout/theme"], "a slash separates words");
    assert_eq!(keys(&ana, "q=%25_%27").await, Vec::<String>::new());
    assert_eq!(keys(&ana, "q=checkout&sort=key").await[0], "a-recheckout", "unless another order is asked for");
}

#[tokio::test]
async fn a_search_pages_through_everything_once() {
    let app = App::start().await;
    let ana = app.ana().await;
    for n in 0..5 {
        flag(&ana, &format!("f-{n}"), &format!("Name {}", 9 - n), "", &[]).await;
    }
    for (order, expected) in [
        ("q=f", [0, 1, 2, 3, 4]),
        ("sort=key&order=desc", [4, 3, 2, 1, 0]),
        ("sort=name", [4, 3, 2, 1, 0]),
        ("sort=name&order=desc", [0, 1, 2, 3, 4]),
        ("sort=created", [4, 3, 2, 1, 0]),
        ("sort=created&order=asc", [0, 1, 2, 3, 4]),
        ("sort=changed&order=asc", [0, 1, 2, 3, 4]),
    ] {
        let (mut seen, mut after) = (Vec::new(), String::new());
        loop {
            let page = ana.get(&format!("/projects/shop/flags?limit=2&{order}{after}")).await.expect(200).body;
            assert_eq!(page["matching"], 5, "{order}");
            seen.extend(page["items"].as_array().expect("items").iter().map(|flag| flag["key"].clone()));
            let Some(next) = page["next"].as_str() else { break };
            after = format!("&after={}", next.replace(' ', "%20"));
        }
        assert_eq!(json!(seen), json!(expected.map(|n| format!("f-{n}"))), "{order}");
    }
}

#[tokio::test]
async fn states_are_asked_for_by_environment_and_any_of_one_will_do() {
    let app = App::start().await;
    let ana = app.ana().await;
    for key in ["a", "b", "c", "d"] {
        flag(&ana, key, key, "", &[]).await;
    }
    set(&ana, "a", "staging", on()).await;
    set(&ana, "a", "production", on()).await;
    set(&ana, "b", "staging", on()).await;
    set(&ana, "c", "production", on()).await;
    let kill = json!({ "environments": ["production"], "reason": "payments fail", "until": "2100-01-01T00:00:00Z" });
    ana.post("/projects/shop/flags/c/kill", kill).await.expect(200);
    let sorted = async |state: &str| keys(&ana, &format!("sort=key&state={state}")).await;
    assert_eq!(sorted("on:staging").await, ["a", "b"]);
    assert_eq!(sorted("on:staging,on:production").await, ["a"], "everything must be met");
    assert_eq!(sorted("on:production,killed:production").await, ["a", "c"], "any of one environment");
    assert_eq!(sorted("on:staging,off:production,killed:production").await, ["b"]);
    assert_eq!(sorted("off,part:development&env=staging").await, Vec::<String>::new());
    assert_eq!(sorted("off&env=staging").await, ["c", "d"]);
    assert_eq!(sorted("differs:staging:production").await, ["b", "c"]);
    let row = ana.get("/projects/shop/flags?state=killed:production").await.expect(200).body["items"][0].clone();
    let killed = &row["states"][2]["kill"];
    assert_eq!((&killed["until"], &killed["killed_by"]), (&json!("2100-01-01T00:00:00Z"), &json!("Ana")));
    for (query, field) in [
        ("state=on", "env"),
        ("state=purple:staging", "state"),
        ("state=differs:staging", "state"),
        ("owner=somebody", "owner"),
    ] {
        let refused = ana.get(&format!("/projects/shop/flags?{query}")).await.expect(422);
        assert_eq!(refused.fields(), [field], "{query}");
    }
    ana.get("/projects/shop/flags?state=on:nowhere").await.expect(404);
}

#[tokio::test]
async fn filters_by_owner_tags_kind_type_and_use_meet_in_one_list() {
    let app = App::start().await;
    let ana = app.ana().await;
    let eve = app.member("Eve", Some("editor")).await;
    flag(&ana, "a", "A", "", &["web", "api"]).await;
    flag(&eve, "b", "B", "", &["web"]).await;
    let limit = json!({ "definition": { "key": "limit", "value_type": "integer", "kind": "operational",
        "client_visible": false, "variants": [{ "key": "low", "value": "1" }] }, "name": "Limit" });
    ana.post("/projects/shop/flags", limit).await.expect(201);
    assert_eq!(keys(&ana, "sort=key&owner=me").await, ["a", "limit"]);
    assert_eq!(keys(&ana, &format!("owner={}", user_id(&app, "Eve").await)).await, ["b"]);
    assert_eq!(keys(&ana, "tag=web,api").await, ["a"]);
    assert_eq!(keys(&ana, "sort=key&tag=web").await, ["a", "b"]);
    assert_eq!(keys(&ana, "type=integer").await, ["limit"]);
    assert_eq!(keys(&ana, "kind=operational&owner=me&type=integer").await, ["limit"]);
    sqlx::query(
        "insert into evaluation_series (environment_id, flag_id, place, variant, reason, mode, first_at, last_at)
         select environments.id, flags.id, 'default', 'on', '', 'single', now(), now()
         from environments cross join flags where environments.key = 'production' and flags.key = 'a'",
    )
    .execute(&app.state.pool)
    .await
    .expect("a series");
    assert_eq!(keys(&ana, "sort=key&state=never_evaluated").await, ["b", "limit"]);
    assert_eq!(keys(&ana, "sort=key&state=never_evaluated:staging").await, ["a", "b", "limit"]);
}

#[tokio::test]
async fn a_flag_past_its_end_is_found_and_its_own_lifetime_counts() {
    let app = App::start().await;
    let ana = app.ana().await;
    for (key, lifetime) in [("usual", json!("usual")), ("forever", json!("permanent")), ("week", json!({ "days": 7 }))]
    {
        let mut new = boolean(key);
        new["lifetime"] = lifetime;
        ana.post("/projects/shop/flags", new).await.expect(201);
    }
    assert_eq!(keys(&ana, "lifetime=over").await, Vec::<String>::new());
    sqlx::query("update flags set created_at = $1")
        .bind(app.state.clock.now() - Duration::days(8))
        .execute(&app.state.pool)
        .await
        .expect("flags");
    assert_eq!(keys(&ana, "lifetime=over").await, ["week"]);
    assert_eq!(keys(&ana, "stale=true").await, ["week"]);
    let stale = ana.get("/projects/shop/stale-flags").await.expect(200).body;
    let sentence = &stale["items"][0]["usage"]["reasons"][0]["sentence"];
    assert_eq!(sentence, "it was meant to go after 7 days; it is 8 days old");
    assert_eq!(stale["items"][0]["owner"]["name"], "Ana");
    sqlx::query("update flags set created_at = $1")
        .bind(app.state.clock.now() - Duration::days(41))
        .execute(&app.state.pool)
        .await
        .expect("flags");
    assert_eq!(keys(&ana, "sort=key&lifetime=over").await, ["usual", "week"]);
}

#[tokio::test]
async fn a_row_says_which_changeset_waits_and_where_until_it_does_no_more() {
    let app = App::start().await;
    let ana = app.ana().await;
    flag(&ana, "checkout", "Checkout", "", &[]).await;
    flag(&ana, "other", "Other", "", &[]).await;
    app.protect_with_ben("production").await;
    let path = "/projects/shop/flags/checkout/environments/production";
    let asked = ana.put(path, 1, json!({ "config": on() })).await.expect(200).body;
    assert_eq!(asked["state"], "in_review");
    let page = ana.get("/projects/shop/flags?state=waiting:production").await.expect(200).body;
    assert_eq!(page["items"][0]["waiting"], json!([{ "changeset": asked["id"], "environment": "production" }]));
    assert_eq!(keys(&ana, "state=waiting").await, ["checkout"]);
    sqlx::query("update changesets set state = 'rejected' where state = 'in_review'")
        .execute(&app.state.pool)
        .await
        .expect("a changeset");
    assert_eq!(keys(&ana, "state=waiting").await, Vec::<String>::new());
    let row = ana.get("/projects/shop/flags?q=checkout").await.expect(200).body["items"][0].clone();
    assert_eq!(row["waiting"], json!([]));
}
