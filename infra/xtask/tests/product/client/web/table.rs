//! The whole table, asked through the web client.

use serde_json::json;
use xtask::stack::Options;

use super::{Web, client_key};
use crate::client::case::{Client, web_cases};
use crate::client::flag::create_all;
use crate::support::Product;

#[tokio::test(flavor = "multi_thread")]
async fn the_web_client_in_node_tells_what_the_edge_answers() {
    check(Web::node()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_web_client_in_a_page_tells_what_the_edge_answers() {
    check(Web::page().await).await;
}

async fn check(mut web: Web) {
    let product = Product::start(&Options { edges: 1, ..Options::default() }).await;
    create_all(&product).await;
    let key = client_key(&product).await;
    let edge = product.stack.edges[0].url().to_owned();
    web.connect(&edge, &key.secret, json!({})).await.expect("a client that is ready");
    let metadata = product.evaluate(0, "types/boolean", "u1").await.expect("an answer").body["metadata"].clone();

    let mut wrong = Vec::new();
    for case in web_cases() {
        web.become_user(case.context.clone()).await;
        let told = web.call(&case.question()).await.unwrap_or_else(|failed| json!({ "threw": failed }));
        wrong.extend(case.mismatch(Client::Web, &told, &metadata));
    }
    assert!(wrong.is_empty(), "{}:\n{}\n{}", web.name(), wrong.join("\n"), product.stack.logs());
    web.end().await;
}
