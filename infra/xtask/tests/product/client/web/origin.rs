//! Which pages may use a key, as a browser enforces it.

use serde_json::json;
use xtask::stack::Options;

use super::{Place, Web, client_key_for};
use crate::client::flag::create_all;
use crate::support::Product;

#[tokio::test(flavor = "multi_thread")]
async fn a_page_uses_a_client_key_of_its_own_origin_and_no_other_key() {
    let product = Product::start(&Options { edges: 1, ..Options::default() }).await;
    create_all(&product).await;
    let edge = product.stack.edges[0].url().to_owned();
    let mut web = Web::page().await;
    let Place::Page(page) = &web.place else { unreachable!("it is a page") };
    let origin = page.origin().to_owned();
    let ours = client_key_for(&product, json!([origin])).await;
    let theirs = client_key_for(&product, json!(["https://other.example"])).await;

    web.connect(&edge, &ours.secret, json!({ "targetingKey": "u1" })).await.expect("its own key");
    assert_eq!(web.boolean("types/boolean", false).await["value"], true);
    // It can read why, so it knows that there is no use in going on.
    let refused = web.connect(&edge, &theirs.secret, json!({})).await.expect_err("a key of another origin");
    assert!(refused.contains("ProviderFatalError"), "{refused}");
    // The browser keeps the answer from it: nobody is to find a server key working in a page.
    let server_key = &product.stack.demo.sdk_keys["production"];
    let refused = web.connect(&edge, server_key, json!({})).await.expect_err("a server key");
    assert!(refused.contains("The OFREP request failed"), "{refused}");

    // What comes without an origin is no page, and cannot be held to one.
    let mut node = Web::node();
    node.connect(&edge, &theirs.secret, json!({ "targetingKey": "u1" })).await.expect("an app");
    assert_eq!(node.boolean("types/boolean", false).await["value"], true);
    web.end().await;
}
