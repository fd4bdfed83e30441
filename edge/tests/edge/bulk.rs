//! OFREP's bulk evaluation: what it answers, its tag, and what it counts.

use reqwest::header::{ETAG, HeaderMap, HeaderName};
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};

use crate::support::edge::Edge;
use crate::support::publisher::{CLIENT_KEY, FlagBody, SERVER_KEY, boolean, environment, flag_id, text};
use crate::support::{World, wait_for};

const PATH: &str = "/ofrep/v1/evaluate/flags";

async fn ask(edge: &Edge, key: &str, query: &str, body: &str, headers: &[(&str, &str)]) -> Response {
    let url = format!("{}{PATH}{query}", edge.address);
    let mut request = edge.http.post(url).bearer_auth(key).body(body.to_owned());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.expect("an answer")
}

/// Status, tag and body.
async fn bulk(edge: &Edge, key: &str, context: Value, tag: Option<&str>) -> (StatusCode, String, Value) {
    let tag: Vec<(&str, &str)> = tag.map(|tag| ("if-none-match", tag)).into_iter().collect();
    let response = ask(edge, key, "", &json!({ "context": context }).to_string(), &tag).await;
    let tag = response.headers().get(ETAG).map(|tag| tag.to_str().expect("text").to_owned());
    let (status, body) = (response.status(), response.text().await.expect("text"));
    (status, tag.unwrap_or_default(), serde_json::from_str(&body).unwrap_or_default())
}

fn keys(body: &Value) -> Vec<&str> {
    body["flags"].as_array().expect("flags").iter().map(|flag| flag["key"].as_str().expect("a key")).collect()
}

fn visible((key, mut body): FlagBody) -> FlagBody {
    body["flag"]["client_visible"] = json!(true);
    (key, body)
}

/// A flag that is on for the plan `pro`.
fn for_pro(key: &str) -> FlagBody {
    let (key, mut body) = visible(boolean(key, true));
    body["config"]["default_serve"] = json!({"variant": "off"});
    body["config"]["rules"] = json!([{
        "id": flag_id("rule").uuid(), "serve": {"variant": "on"},
        "conditions": {"attribute": "plan", "operator": "equals", "values": ["pro"]},
    }]);
    (key, body)
}

/// A flag that needs `parent` to be on.
fn needs(key: &str, parent: &str) -> FlagBody {
    let (key, mut body) = visible(boolean(key, true));
    body["config"]["prerequisites"] = json!([{"flag": parent, "variants": ["on"]}]);
    (key, body)
}

#[tokio::test]
async fn all_flags_of_a_key_answer_from_one_state_sorted_by_key() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let (no_default, mut without) = boolean("no-default", false);
    without["config"].as_object_mut().expect("a config").remove("off_variant");
    let (split, mut splitting) = boolean("split", true);
    splitting["config"]["default_serve"] = json!({"split": {
        "bucket_by": "targetingKey", "seed": "s", "ranges": [{"start": 0, "end": 100_000, "variant": "on"}],
    }});
    let flags = [visible(text("a/theme", "da\"rk\u{1}")), for_pro("pro"), (no_default, without), (split, splitting)];
    world.publisher.change(2, &flags).await;
    edge.wait_for_value("a/theme", json!("da\"rk\u{1}")).await;

    let (status, tag, body) = bulk(&edge, SERVER_KEY, json!({"plan": "pro"}), None).await;
    assert_eq!(status, StatusCode::OK);
    assert!(tag.starts_with("\"r2-") && tag.ends_with('"'), "{tag}");
    let stream = body["eventStreams"][0].clone();
    assert_eq!((&stream["type"], &stream["inactivityDelaySec"]), (&json!("sse"), &json!(120)));
    assert!(stream["endpoint"]["requestUri"].as_str().expect("text").starts_with("/ofrep/v1/stream?t="), "{stream}");
    assert_eq!(body["metadata"], json!({"flagSetId": "shop/production", "version": "2"}));
    assert_eq!(
        body["flags"],
        json!([
            {"key": "a/theme", "value": "da\"rk\u{1}", "variant": "text", "reason": "STATIC"},
            {"key": "checkout", "value": true, "variant": "on", "reason": "STATIC"},
            {"key": "no-default", "reason": "DISABLED"},
            {"key": "pro", "value": true, "variant": "on", "reason": "TARGETING_MATCH"},
            {"key": "split", "errorCode": "TARGETING_KEY_MISSING", "errorDetails": body["flags"][4]["errorDetails"]},
        ])
    );
    assert!(!body["flags"][4]["errorDetails"].as_str().expect("details").is_empty());
    // No list of keys is asked for, nor a context.
    for body in ["", "{}", "{\"context\":{}}", "{\"context\":null}"] {
        let response = ask(&edge, SERVER_KEY, "", body, &[]).await;
        assert_eq!(response.status(), StatusCode::OK, "{body}");
        assert_eq!(response.headers()["content-type"], "application/json");
        assert_eq!(response.headers()["cache-control"], "private, no-cache");
        assert_eq!(response.headers()["vary"], "Authorization, X-API-Key, Origin");
    }
}

#[tokio::test]
async fn bulk_and_single_answer_alike() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let (key, mut half) = boolean("half", true);
    half["config"]["default_serve"] = json!({"split": {"bucket_by": "targetingKey", "seed": "half", "ranges": [
        {"start": 0, "end": 50_000, "variant": "on"}, {"start": 50_000, "end": 100_000, "variant": "off"},
    ]}});
    world.publisher.change(2, &[(key, half)]).await;
    wait_for("the flag is there", async || (edge.evaluate("half").await.0 == StatusCode::OK).then_some(())).await;
    let mut on = 0;
    for user in 0..200 {
        let context = json!({"targetingKey": format!("user-{user}")});
        let (_, native) = edge.evaluate_for(SERVER_KEY, "half", context.clone()).await;
        let single = edge.http.post(format!("{}{PATH}/half", edge.address)).bearer_auth(SERVER_KEY);
        let single: Value =
            single.json(&json!({"context": context})).send().await.expect("sent").json().await.expect("JSON");
        let (_, _, all) = bulk(&edge, SERVER_KEY, context, None).await;
        for member in ["value", "variant", "reason"] {
            assert_eq!(native[member], single[member]);
            assert_eq!(native[member], all["flags"][1][member]);
        }
        on += usize::from(native["value"] == true);
    }
    assert!((70..130).contains(&on), "{on} of 200");
}

#[tokio::test]
async fn a_client_key_sees_visible_flags_and_no_parent_that_is_hidden() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let hidden = boolean("hidden", false);
    let flags = [hidden, visible(boolean("shown", false)), needs("child", "hidden"), needs("ward", "shown")];
    let broken = {
        let (key, mut body) = visible(boolean("broken", true));
        body["config"]["rules"] = json!([{
            "id": flag_id("rule").uuid(), "serve": {"variant": "on"},
            "conditions": {"operator": "in_segment", "values": ["secret-segment"]},
        }]);
        (key, body)
    };
    world.publisher.change(2, &flags).await;
    world.publisher.change(3, &[broken]).await;
    wait_for("all flags are there", async || {
        (bulk(&edge, SERVER_KEY, json!({}), None).await.2["metadata"]["version"] == "3").then_some(())
    })
    .await;
    let (_, server_tag, all) = bulk(&edge, SERVER_KEY, json!({}), None).await;
    assert_eq!(keys(&all), ["broken", "checkout", "child", "hidden", "shown", "ward"]);
    assert_eq!(all["flags"][2]["metadata"], json!({"blockedBy": "hidden"}));
    let (_, client_tag, seen) = bulk(&edge, CLIENT_KEY, json!({}), None).await;
    assert_eq!(keys(&seen), ["broken", "child", "shown", "ward"]);
    let words = seen.to_string();
    assert!(!words.contains("hidden") && !words.contains("secret-segment"), "{words}");
    assert_eq!(seen["flags"][3]["metadata"], json!({"blockedBy": "shown"}));
    assert_ne!(server_tag, client_tag);
    // A tag of one key is of no use to another.
    assert_eq!(bulk(&edge, CLIENT_KEY, json!({}), Some(&server_tag)).await.0, StatusCode::OK);
}

#[tokio::test]
async fn what_the_client_holds_is_not_sent_again_and_counts_nothing() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    world.publisher.change(2, &[for_pro("pro")]).await;
    edge.wait_for_value("pro", json!(false)).await;
    let free = json!({"targetingKey": "u1", "plan": "free"});
    let (_, tag, _) = bulk(&edge, CLIENT_KEY, free.clone(), None).await;
    let mut bulks = 1;
    for _ in 0..100 {
        let (status, again, body) = bulk(&edge, CLIENT_KEY, free.clone(), Some(&tag)).await;
        assert_eq!((status, again.as_str(), body), (StatusCode::NOT_MODIFIED, tag.as_str(), Value::Null));
    }
    // The order of members is not what is asked, another user with the same answers has the same ones.
    for body in [r#"{"context":{"plan":"free","targetingKey":"u1"}}"#, r#"{"context":{"targetingKey":"u2"}}"#] {
        let response = ask(&edge, CLIENT_KEY, "", body, &[("if-none-match", &tag)]).await;
        assert_eq!(response.status(), StatusCode::NOT_MODIFIED, "{body}");
    }
    for held in [format!("W/{tag}"), format!("\"a\", {tag}"), "*".into()] {
        assert_eq!(bulk(&edge, CLIENT_KEY, free.clone(), Some(&held)).await.0, StatusCode::NOT_MODIFIED, "{held}");
    }
    // Any attribute may change an answer.
    let (status, other, body) = bulk(&edge, CLIENT_KEY, json!({"targetingKey": "u1", "plan": "pro"}), Some(&tag)).await;
    assert_eq!((status, &body["flags"][0]["value"]), (StatusCode::OK, &json!(true)));
    assert_ne!(tag, other);
    bulks += 1;
    // And so does a change that leaves every answer as it is, since the revision is one.
    world.publisher.change(3, &[boolean("elsewhere", true)]).await;
    edge.wait_for_value("elsewhere", json!(true)).await;
    let (status, newer, _) = bulk(&edge, CLIENT_KEY, free.clone(), Some(&tag)).await;
    assert_eq!(status, StatusCode::OK);
    assert!(newer.starts_with("\"r3-"), "{newer}");
    bulks += 1;

    let _folder = edge.stop().await;
    let batches = world.publisher.batches().await;
    let entries = batches.iter().flat_map(|batch| &batch.evaluations);
    let pro: Vec<_> =
        entries.filter(|entry| entry.flag == flag_id("pro") && entry.environment == environment()).collect();
    let counted = |mode| pro.iter().filter(|entry| entry.mode == mode).map(|entry| entry.count).sum::<u64>();
    assert_eq!(counted(shared::wire::count::Mode::Bulk), bulks);
}

#[tokio::test]
async fn a_client_that_heard_of_a_newer_state_waits_for_it_and_is_never_told_that_its_older_one_holds() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    let (_, tag, _) = bulk(&edge, SERVER_KEY, json!({}), None).await;
    let held = [("if-none-match", tag.as_str())];
    assert_eq!(ask(&edge, SERVER_KEY, "?flagConfigEtag=r1", "", &held).await.status(), StatusCode::NOT_MODIFIED);
    // In vain: the older state is sent as such.
    let response = ask(&edge, SERVER_KEY, "?flagConfigEtag=%22r2%22", "", &held).await;
    assert_eq!(response.status(), StatusCode::OK);
    let body: Value = response.json().await.expect("JSON");
    assert_eq!(body["metadata"]["version"], "1");
    // It comes while the client waits.
    let off = [boolean("checkout", false)];
    let (response, ()) = tokio::join!(
        ask(&edge, SERVER_KEY, "?flagConfigEtag=r2&flagConfigLastModified=1", "", &held),
        world.publisher.change(2, &off),
    );
    let body: Value = response.json().await.expect("JSON");
    assert_eq!((&body["metadata"]["version"], &body["flags"][0]["value"]), (&json!("2"), &json!(false)));
}

#[tokio::test]
async fn bad_bodies_and_keys_are_refused_without_a_flag_to_name() {
    let world = World::new().await;
    let edge = world.ready_edge().await;
    for (body, status, code) in [
        ("{", 400, "PARSE_ERROR"),
        ("[]", 400, "PARSE_ERROR"),
        ("{\"context\":[]}", 400, "INVALID_CONTEXT"),
        ("{\"context\":\"u1\"}", 400, "INVALID_CONTEXT"),
        (&"x".repeat(2_000_000), 413, "GENERAL"),
    ] {
        let response = ask(&edge, SERVER_KEY, "", body, &[]).await;
        assert_eq!(response.status().as_u16(), status, "{body:.20}");
        let answer: Value = response.json().await.expect("JSON");
        assert_eq!((answer.get("key"), &answer["errorCode"]), (None, &json!(code)));
        assert!(!answer["errorDetails"].as_str().expect("details").is_empty());
    }
    assert_eq!(ask(&edge, "fg_srv_wrong", "", "", &[]).await.status(), StatusCode::UNAUTHORIZED);
    let empty = World::new().await;
    let waiting = empty.edge().await;
    let response = ask(&waiting, SERVER_KEY, "", "", &[]).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(response.headers()["retry-after"], "2");
}

/// The headers of an answer to a page of this origin.
async fn from_page(edge: &Edge, path: &str, key: &str, origin: &'static str) -> (StatusCode, HeaderMap) {
    let request = edge.http.post(format!("{}{path}", edge.address)).bearer_auth(key).header("origin", origin);
    let response = request.body("{\"flagKey\":\"shown\"}").send().await.expect("an answer");
    (response.status(), response.headers().clone())
}

#[tokio::test]
async fn pages_read_what_their_origin_may_and_every_refusal() {
    const ALLOWED: HeaderName = HeaderName::from_static("access-control-allow-origin");
    let world = World::new().await;
    let edge = world.ready_edge().await;
    world.publisher.put_key(2, "fg_cli_shop", json!({"origins": ["https://shop.example"]})).await;
    world.publisher.change(2, &[visible(boolean("shown", true))]).await;
    edge.wait_for_value("shown", json!(true)).await;
    for path in ["/evaluate", PATH, "/ofrep/v1/evaluate/flags/shown"] {
        for (key, origin, status, is_read) in [
            ("fg_cli_shop", "https://shop.example", 200, true),
            ("fg_cli_shop", "https://evil.example", 403, true),
            (CLIENT_KEY, "https://anywhere.example", 200, true),
            ("fg_cli_unknown", "https://anywhere.example", 401, true),
            (SERVER_KEY, "https://shop.example", 200, false),
        ] {
            let (answered, headers) = from_page(&edge, path, key, origin).await;
            assert_eq!(answered.as_u16(), status, "{path} {key} {origin}");
            let allowed = headers.get(ALLOWED).map(|value| value.to_str().expect("text"));
            assert_eq!(allowed, is_read.then_some(origin), "{path} {key} {origin}");
            if is_read {
                assert_eq!(headers["access-control-expose-headers"], "ETag, Retry-After");
                assert!(headers["vary"].to_str().expect("text").contains("Origin"));
            }
        }
        // Asked before anything else, without a key.
        let request = edge.http.request(reqwest::Method::OPTIONS, format!("{}{path}", edge.address));
        let request = request.header("origin", "https://shop.example").header("access-control-request-method", "POST");
        let request =
            request.header("access-control-request-headers", "authorization,content-type,if-none-match,x-api-key");
        let response = request.send().await.expect("an answer");
        assert_eq!(response.status(), StatusCode::NO_CONTENT, "{path}");
        let headers = response.headers();
        assert_eq!(headers[ALLOWED], "*");
        assert_eq!(headers["access-control-allow-methods"], "POST, OPTIONS");
        let named = headers["access-control-allow-headers"].to_str().expect("text").to_ascii_lowercase();
        for name in ["authorization", "x-api-key", "content-type", "if-none-match"] {
            assert!(named.contains(name), "{named}");
        }
    }
}
