//! The evaluation engine in the browser answers what it answers on this machine.

use std::path::PathBuf;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use super::driver::Browser;

/// Loads the engine, whose `main` runs at once and leaves its report.
const RUN: &str = "
    const done = arguments[arguments.length - 1];
    const bytes = Uint8Array.from(atob(arguments[0]), letter => letter.charCodeAt(0));
    wasm_bindgen({ module_or_path: bytes.buffer }).then(() => done(engineReport), error => done('failed: ' + error));";

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_in_a_browser_answers_every_vector_and_100_000_questions_as_it_does_here() {
    let folder = std::env::var_os("FLUXGATE_TEST_ENGINE_DIR").map(PathBuf::from);
    let folder = folder.expect("FLUXGATE_TEST_ENGINE_DIR; run `cargo xtask test`");
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a file of the engine");
    let module = BASE64_STANDARD.encode(std::fs::read(folder.join("engine.wasm")).expect("the module"));
    let here = text("report.txt");
    let browser = Browser::start().await;
    let script = format!("{}\n{RUN}", text("engine.js"));
    let there = browser.run_async(&script, vec![json!(module)]).await;
    assert_eq!(there.as_str().map(str::trim), Some(here.trim()));
    let failed: Vec<&str> =
        here.lines().filter(|line| line.contains(" cases, ") && !line.ends_with(" 0 failed")).collect();
    assert_eq!(failed, [""; 0]);
    assert!(here.contains("100000 generated questions: "), "{here}");
    browser.end().await;
}
