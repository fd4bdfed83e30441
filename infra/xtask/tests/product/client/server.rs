//! The clients of server applications, each against the whole table.

use serde_json::{Value, json};
use xtask::stack::Options;

use super::case::{Client, refused, server_cases};
use super::flag::create_all;
use super::script::Script;
use crate::support::Product;

#[tokio::test(flavor = "multi_thread")]
async fn the_node_client_tells_what_the_edge_answers() {
    check(Client::Node, Script::node("server.mjs")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_client_tells_what_the_edge_answers() {
    check(Client::Python, Script::python("server.py")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rust_client_tells_what_the_edge_answers() {
    check(Client::Rust, Script::rust("server")).await;
}

async fn check(client: Client, mut script: Script) {
    let product = Product::start(&Options { edges: 1, ..Options::default() }).await;
    create_all(&product).await;
    let edge = product.stack.edges[0].url().to_owned();
    let key = product.stack.demo.sdk_keys["production"].clone();
    let metadata = product.evaluate(0, "types/boolean", "u1").await.expect("an answer").body["metadata"].clone();
    assert_eq!(metadata["flagSetId"], "shop/production");

    let mut wrong = Vec::new();
    for headers in [json!({ "Authorization": format!("Bearer {key}") }), json!({ "X-API-Key": key })] {
        script.connect(&edge, &headers).await;
        for case in server_cases() {
            wrong.extend(case.mismatch(client, &ask(&mut script, &case.question()).await, &metadata));
        }
    }
    for headers in [json!({}), json!({ "Authorization": "Bearer fg_srv_unknown" }), json!({ "X-API-Key": "größer" })]
    {
        script.connect(&edge, &headers).await;
        wrong.extend(refused().mismatch(client, &ask(&mut script, &refused().question()).await, &metadata));
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), product.stack.logs());
}

/// A client never throws what went wrong with a flag: it tells.
async fn ask(script: &mut Script, question: &Value) -> Value {
    script.call(question).await.unwrap_or_else(|failed| json!({ "threw": failed }))
}
