//! An edge that has only a file.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tokio::task::block_in_place;
use xtask::stack::Options;

use crate::support::{PATIENCE, Product};

const USERS: [&str; 8] = ["u1", "u2", "u3", "u4", "u5", "u6", "u7", "u8"];

/// What `fluxgate-backend export-bundle` writes of the running product.
pub(crate) fn export(product: &Product, file: &Path) {
    let folder = PathBuf::from(std::env::var_os("FLUXGATE_TEST_BIN_DIR").expect("FLUXGATE_TEST_BIN_DIR"));
    let output = Command::new(folder.join("fluxgate-backend"))
        .args(["export-bundle", "--project", &product.stack.demo.project, "--output"])
        .arg(file)
        .env("BACKEND_DATABASE__URL", &product.stack.postgres_url)
        .env("BACKEND_AUTH__SECRET", "5a".repeat(32))
        .output()
        .expect("the backend runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// What an edge answers to everybody, but for the metadata, which may say that it is stale.
async fn answers(product: &Product, edge: usize, flags: &[String]) -> Vec<(u16, Value)> {
    let mut all = Vec::new();
    for flag in flags {
        for user in USERS {
            let mut answer = product.evaluate(edge, flag, user).await.expect("an answer");
            answer.body["metadata"].take();
            all.push((answer.status, answer.body));
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edge_with_a_bundle_and_nothing_else_answers_as_before() {
    let mut product = Product::start(&Options { edges: 1, ..Options::default() }).await;
    let list = product.api(reqwest::Method::GET, "/flags", None, None).await;
    let flags: Vec<String> = list["items"]
        .as_array()
        .expect("flags")
        .iter()
        .map(|flag| flag["key"].as_str().expect("a key").to_owned())
        .collect();
    let before = answers(&product, 0, &flags).await;
    assert!(before.iter().filter(|(status, _)| *status == 200).count() > USERS.len(), "{before:?}");
    let file = product.stack.edges[0].data().parent().expect("the folder of the test").join("bundle.json");
    export(&product, &file);
    block_in_place(|| product.stack.nats.stop()).expect("NATS stops");

    let start = |product: &mut Product, offline: bool| {
        let edge = product.stack.add_edge().expect("an edge");
        edge.set_variable("EDGE_STORAGE__BUNDLE", &file);
        edge.set_variable("EDGE_NATS__OFFLINE", offline.to_string());
        edge.start().expect("an edge that listens");
    };
    block_in_place(|| start(&mut product, false));
    assert_eq!(answers(&product, 1, &flags).await, before);
    let answer = product.evaluate(1, &flags[0], "u1").await.expect("an answer");
    assert_eq!(answer.body["metadata"]["stale"], json!(true), "{answer:?}");
    assert!(product.stack.edges[1].is_ready().is_err());

    block_in_place(|| start(&mut product, true));
    assert_eq!(answers(&product, 2, &flags).await, before);
    let answer = product.evaluate(2, &flags[0], "u1").await.expect("an answer");
    assert_eq!(answer.body["metadata"].get("stale"), None, "{answer:?}");
    block_in_place(|| product.stack.edges[2].wait_until_ready(PATIENCE)).expect("an offline edge is ready");

    block_in_place(|| {
        product.stack.nats.start()?;
        product.stack.edges[1].wait_until_ready(PATIENCE)
    })
    .expect("the feed confirms what the bundle said");
    assert_eq!(answers(&product, 1, &flags).await, before);
}
