//! What a page lives through: users come and go, flags change, the edge goes away, the key is revoked.

use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::block_in_place;
use xtask::stack::Options;

use super::{ClientKey, Place, Web, client_key, status};
use crate::client::flag::create_all;
use crate::support::Product;

/// A product with the clients' flags, and the web client in Node.js and in a page, both ready.
struct Flow {
    product: Product,
    key: ClientKey,
    edge: String,
    webs: [Web; 2],
}

impl Flow {
    async fn start(context: Value) -> Self {
        let product = Product::start(&Options { edges: 1, ..Options::default() }).await;
        create_all(&product).await;
        let key = client_key(&product).await;
        let edge = product.stack.edges[0].url().to_owned();
        let mut webs = [Web::node(), Web::page().await];
        for web in &mut webs {
            web.connect(&edge, &key.secret, context.clone()).await.expect("a client that is ready");
        }
        Self { product, key, edge, webs }
    }

    /// Saves `reason/target` for the `version`-th time: on or off for everyone.
    async fn serve(&self, variant: &str, version: u64) {
        let config = json!({ "enabled": true, "off_variant": "off", "default_serve": { "variant": variant } });
        let path = "/flags/reason%2Ftarget/environments/production";
        self.product.api(Method::PUT, path, Some(version), Some(json!({ "config": config }))).await;
    }

    async fn end(self) {
        for web in self.webs {
            web.end().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn any_attribute_of_the_context_gives_other_values_and_the_old_one_the_old_values() {
    let mut flow = Flow::start(json!({ "targetingKey": "u1", "plan": "free" })).await;
    for web in &mut flow.webs {
        // The client sends the tag of its last answer as long as the targeting key is the same.
        for (context, value, reason) in [
            (json!({ "targetingKey": "u1", "plan": "pro" }), true, "TARGETING_MATCH"),
            (json!({ "targetingKey": "u1", "plan": "free" }), false, "DEFAULT"),
            (json!({ "targetingKey": "u1", "plan": "free", "other": [1] }), false, "DEFAULT"),
            (json!({ "targetingKey": "u1", "other": [1], "plan": "pro" }), true, "TARGETING_MATCH"),
            (json!({ "targetingKey": "u2" }), false, "DEFAULT"),
        ] {
            web.become_user(context.clone()).await;
            let told = web.boolean("reason/rule", !value).await;
            assert_eq!((&told["value"], &told["reason"]), (&json!(value), &json!(reason)), "{} {context}", web.name());
        }
    }
    flow.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_arrives_by_the_event_stream_and_names_the_flag_alone() {
    let mut flow = Flow::start(json!({ "targetingKey": "u1" })).await;
    for (version, variant) in [(2, "off"), (3, "on"), (4, "off")] {
        flow.serve(variant, version).await;
        for web in &mut flow.webs {
            let change = web.change_of("reason/target").await;
            assert_eq!(change["flags"], json!(["reason/target"]), "{}", web.name());
            assert_eq!(web.boolean("reason/target", variant == "off").await["value"], variant == "on");
        }
    }
    flow.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_keep_their_values_while_the_edge_is_gone_and_hear_the_next_change_when_it_is_back() {
    let mut flow = Flow::start(json!({ "targetingKey": "u1" })).await;
    flow.serve("off", 2).await;
    for web in &mut flow.webs {
        web.change_of("reason/target").await;
    }
    block_in_place(|| flow.product.stack.edges[0].stop()).expect("the edge stops");
    for web in &mut flow.webs {
        web.event("word of the edge's end", |event| event["event"] == "PROVIDER_STALE").await;
        assert_eq!(web.boolean("reason/target", true).await["value"], false, "{}", web.name());
    }
    // Changed while nobody could be told.
    flow.serve("on", 3).await;
    block_in_place(|| flow.product.stack.edges[0].start()).expect("the edge starts");
    for web in &mut flow.webs {
        web.change_of("reason/target").await;
        assert_eq!(web.boolean("reason/target", false).await["value"], true, "{}", web.name());
    }
    flow.serve("off", 4).await;
    for web in &mut flow.webs {
        web.change_of("reason/target").await;
        assert_eq!(web.boolean("reason/target", true).await["value"], false, "{}", web.name());
    }
    flow.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_whose_key_is_revoked_is_told_and_keeps_its_last_values() {
    let mut flow = Flow::start(json!({ "targetingKey": "u1" })).await;
    let path = format!("/keys/{}/revoke", flow.key.id);
    flow.product.api(Method::POST, &path, None, Some(json!({}))).await;
    let (product, edge, secret) = (&flow.product, flow.edge.as_str(), flow.key.secret.as_str());
    product.wait_for("the edge refuses the key", || async { status(product, edge, secret).await == 401 }).await;
    for web in &mut flow.webs {
        // The stream ends; then the client asks what a page may read.
        web.event("word of the stream's end", |event| event["event"] == "PROVIDER_STALE").await;
        assert_eq!(web.boolean("reason/split", false).await["value"], true, "{}", web.name());
        web.become_user(json!({ "targetingKey": "u2" })).await;
        web.event("refusal", |event| {
            event["event"] == "PROVIDER_ERROR"
                && event["message"].as_str().is_some_and(|text| text.contains("Unauthorized"))
        })
        .await;
        assert_eq!(web.boolean("reason/split", false).await["value"], true, "{}", web.name());
        // A client that begins with such a key is told that there is no use in going on.
        let refused = web.connect(edge, secret, json!({})).await.expect_err("a refusal");
        assert!(refused.contains("ProviderFatalError"), "{}: {refused}", web.name());
    }
    flow.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_is_loaded_again_begins_with_what_it_held_and_then_hears_of_changes() {
    let mut flow = Flow::start(json!({})).await;
    let (edge, key) = (flow.edge.clone(), flow.key.secret.clone());
    let context = json!({ "targetingKey": "u1" });
    let cached = json!({ "cacheMode": "local-cache-first" });
    let [_, web] = &mut flow.webs;
    web.connect_with(&edge, &key, context.clone(), cached.clone()).await.expect("a first visit");
    block_in_place(|| flow.product.stack.edges[0].stop()).expect("the edge stops");
    let Place::Page(page) = &web.place else { unreachable!("the second is a page") };
    page.reload().await;
    web.connect_with(&edge, &key, context, cached).await.expect("a client that is ready without an edge");
    let told = web.boolean("reason/target", false).await;
    assert_eq!((&told["value"], &told["reason"]), (&json!(true), &json!("CACHED")), "{told}");

    block_in_place(|| flow.product.stack.edges[0].start()).expect("the edge starts");
    flow.serve("off", 2).await;
    let [_, web] = &mut flow.webs;
    web.change_of("reason/target").await;
    let told = web.boolean("reason/target", true).await;
    assert_eq!((&told["value"], &told["reason"]), (&json!(false), &json!("STATIC")), "{told}");
    flow.end().await;
}
