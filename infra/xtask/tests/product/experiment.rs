//! An experiment from the application's first question to its result, and a key that nobody knows.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::sleep;
use xtask::stack::Options;

use crate::support::{PATIENCE, Product};

const FLAG: &str = "checkout/theme";
const USERS: usize = 600;
const PRICE: f64 = 12.5;
/// One in so many users of a variant buys.
const BUYS: [(&str, usize); 3] = [("blue", 4), ("green", 2), ("control", 5)];

#[tokio::test(flavor = "multi_thread")]
async fn every_user_of_an_experiment_is_counted_once_with_what_they_bought() {
    let product = Product::start(&Options::default()).await;
    let shown = product.api(Method::GET, "/metrics", None, None).await;
    let names: Vec<&str> =
        shown["items"].as_array().expect("metrics").iter().filter_map(|m| m["name"].as_str()).collect();
    assert_eq!(names, ["Basket value", "Purchases"], "the demo project's metrics");

    let (mut users, mut buyers): (BTreeMap<String, u64>, BTreeMap<String, u64>) = Default::default();
    for number in 0..USERS {
        let user = format!("visitor-{number}");
        // Everybody asks both edges, and often: that makes nobody two users.
        let first = product.evaluate(number % 2, FLAG, &user).await.expect("an answer");
        let again = product.evaluate((number + 1) % 2, FLAG, &user).await.expect("an answer");
        let variant = first.body["variant"].as_str().expect("a variant").to_owned();
        assert_eq!((&first.body["reason"], &again.body["variant"]), (&json!("SPLIT"), &json!(variant)));
        let known = users.entry(variant.clone()).or_default();
        *known += 1;
        let every = BUYS.iter().find(|(name, _)| *name == variant).expect("a variant of the flag").1;
        if (*known as usize).is_multiple_of(every) {
            *buyers.entry(variant).or_default() += 1;
            buy(&product, &user).await;
        }
    }
    for _ in 0..7 {
        assert_eq!(product.evaluate(0, "chekout", "visitor-1").await.expect("an answer").status, 404);
    }

    // Everything the flag ever saw: by itself the result begins at the first whole minute after the split was made.
    let flag = product.api(Method::GET, "/flags/checkout%2Ftheme", None, None).await;
    let from = flag["created_at"].as_str().expect("a time");
    let path = format!("/flags/checkout%2Ftheme/experiment?environment=production&from={from}");
    let read = || async { product.api(Method::GET, &path, None, None).await };
    let end = Instant::now() + PATIENCE;
    let result = loop {
        let result = read().await;
        let bought = metric(&result, "Basket value")["variants"][1]["sum"].as_f64();
        if figures(&result, "units") == users
            && active(&result, "Purchases") == buyers
            && bought == Some(buyers["green"] as f64 * PRICE * 2.0)
        {
            break result;
        }
        assert!(Instant::now() < end, "users {users:?}, buyers {buyers:?}, but {result}\n{}", product.stack.logs());
        sleep(Duration::from_millis(100)).await;
    };
    assert_eq!((&result["control"], &result["in_several_variants"]), (&json!("control"), &json!(0)), "{result}");
    assert_eq!(result["ratio"]["is_mismatch"], false, "{result}");
    let green = &metric(&result, "Purchases")["variants"][1];
    assert_eq!((&green["variant"], &green["comparison"]["verdict"]), (&json!("green"), &json!("more")), "{green}");

    let unknown = product.api(Method::GET, "/counts/unknown?environment=production", None, None).await;
    let item = &unknown["items"][0];
    assert_eq!(
        (&item["key"], &item["count"], &item["nearest"]),
        (&json!("chekout"), &json!(7), &json!("checkout")),
        "{unknown}"
    );
}

/// Buys twice, at two edges.
async fn buy(product: &Product, user: &str) {
    for edge in &product.stack.edges {
        let body = json!({ "eventName": "purchase", "context": { "targetingKey": user }, "value": PRICE });
        let request = product.client.post(format!("{}/track", edge.url()));
        let answer = request.bearer_auth(&product.stack.demo.sdk_keys["production"]).json(&body).send().await;
        assert_eq!(answer.expect("an answer").status(), 204);
    }
}

fn figures(result: &Value, name: &str) -> BTreeMap<String, u64> {
    let variants = result["variants"].as_array().expect("variants").iter();
    variants.map(|v| (v["variant"].as_str().expect("a key").to_owned(), v[name].as_u64().expect("a number"))).collect()
}

fn active(result: &Value, name: &str) -> BTreeMap<String, u64> {
    let variants = metric(result, name)["variants"].as_array().expect("variants").iter();
    variants
        .map(|v| (v["variant"].as_str().expect("a key").to_owned(), v["active"].as_u64().expect("a number")))
        .collect()
}

fn metric<'r>(result: &'r Value, name: &str) -> &'r Value {
    let metrics = result["metrics"].as_array().expect("metrics").iter();
    metrics.into_iter().find(|m| m["metric"]["name"] == name).expect("the demo's metric")
}
