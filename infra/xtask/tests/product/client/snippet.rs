//! What the documents tell applications to do, cut out and run as it stands.

use std::fs;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::timeout;
use xtask::checkout;
use xtask::snippet::cut;
use xtask::stack::Options;
use xtask::stack::scratch::Scratch;

use super::script::{node_folder, prepared};
use super::web::client_key;
use super::web::page::{Site, bundle};
use crate::browser::driver::Browser;
use crate::support::{PATIENCE, Product};

const README: &str = "README.md";
const CLIENTS: &str = "infra/clients/README.md";

#[tokio::test(flavor = "multi_thread")]
async fn every_server_snippet_runs_as_it_stands_and_is_answered_by_the_edge() {
    let product = Product::start(&Options { edges: 1, ..Options::default() }).await;
    let folder = node_folder();
    let file = folder.path().join("snippet.mjs");
    fs::write(&file, code(README, "Ask for a flag", "js")).expect("a file");
    // Without an edge all of them say the fallback, false.
    assert_eq!(said(&product, Command::new("node").arg(file)).await, "true");

    let file = folder.path().join("snippet.py");
    fs::write(&file, code(CLIENTS, "Python", "python")).expect("a file");
    assert_eq!(said(&product, Command::new(prepared().join("python/bin/python")).arg(file)).await, "True");

    // Cut out and compiled by its build script.
    assert_eq!(said(&product, &mut Command::new(prepared().join("rust/debug/snippet"))).await, "true");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_question_of_the_readme_has_the_answer_it_shows() {
    let product = Product::start(&Options { edges: 1, ..Options::default() }).await;
    let folder = Scratch::new().expect("a folder");
    // What `cargo xtask up` leaves for a shell.
    let variables = variables(&product).map(|(name, value)| format!("export {name}='{value}'\n")).concat();
    fs::write(folder.folder(".fluxgate").expect("a folder").join("env"), variables).expect("a file");
    let question = code(README, "Ask for a flag", "sh");
    let answer = said(&product, Command::new("sh").args(["-c", &question]).current_dir(folder.path())).await;

    let read = |text: &str| -> Value { serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}")) };
    let (mut answer, mut shown) = (read(&answer), read(&code(README, "Ask for a flag", "json")));
    // Every change has its own.
    for one in [&mut answer, &mut shown] {
        let version = one["metadata"]["version"].take();
        assert!(version.as_str().is_some_and(|text| text.parse::<u64>().is_ok()), "{version}");
    }
    assert_eq!(answer, shown);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_web_snippet_runs_as_it_stands_in_a_page_and_follows_the_flag() {
    let product = Product::start(&Options { edges: 1, ..Options::default() }).await;
    let key = client_key(&product).await;
    let folder = node_folder();
    fs::write(folder.path().join("snippet.mjs"), code(README, "Web", "js")).expect("a file");
    let variables = [
        ("import.meta.env.VITE_FLUXGATE_EDGE_URL", product.stack.edges[0].url()),
        ("import.meta.env.VITE_FLUXGATE_CLIENT_KEY", &key.secret),
    ];
    let site = Site::start(bundle(folder.path(), "snippet.mjs", &variables).await).await;
    let browser = Browser::start().await;
    browser.go(&site.origin).await;
    browser.wait_for_text("new checkout").await;
    let kill = json!({ "environments": ["production"], "reason": "payments fail" });
    product.api(Method::POST, "/flags/checkout/kill", None, Some(kill)).await;
    browser.wait_for_text("old checkout").await;
    browser.end().await;
}

fn code(document: &str, heading: &str, language: &str) -> String {
    let text = fs::read_to_string(checkout::root().join(document)).expect("a document");
    cut(&text, heading, language).unwrap_or_else(|| panic!("{document} has no {language} below '{heading}'"))
}

/// The variables that every snippet may count on.
fn variables(product: &Product) -> [(&'static str, String); 2] {
    let key = product.stack.demo.sdk_keys["production"].clone();
    [("FLUXGATE_EDGE_URL", product.stack.edges[0].url().to_owned()), ("FLUXGATE_SDK_KEY", key)]
}

/// What a program says in the end.
async fn said(product: &Product, command: &mut Command) -> String {
    let run = command.envs(variables(product)).kill_on_drop(true).output();
    let output = timeout(PATIENCE, run).await.expect("a program that ends").expect("a program that starts");
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{said}\n{errors}\n{}", output.status, product.stack.logs());
    said.trim().to_owned()
}
