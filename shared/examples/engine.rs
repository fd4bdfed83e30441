//! Runs the vectors and digests the answers to generated questions, on this machine or in a browser.
//!
//! Natively it prints its report; in a browser it leaves it in the global `engineReport`. Both must be the same.

#[path = "../tests/support/mod.rs"]
mod support;

use support::generate::digest;
use support::vectors::{FILES, run};

/// A hundred questions are asked of each.
const ENVIRONMENTS: u64 = 1_000;

fn main() {
    hand_over(&report());
}

fn report() -> String {
    let mut lines = Vec::new();
    for (name, text) in FILES {
        let (cases, failures) = run(name, text);
        lines.push(format!("{name}: {cases} cases, {} failed", failures.len()));
        lines.extend(failures);
    }
    lines.push(format!("{} generated questions: {:016x}", ENVIRONMENTS * 100, digest(ENVIRONMENTS)));
    lines.join("\n")
}

#[cfg(target_arch = "wasm32")]
fn hand_over(report: &str) {
    let name = js_sys::JsString::from("engineReport");
    js_sys::Reflect::set(&js_sys::global(), &name, &js_sys::JsString::from(report)).expect("a global can be set");
}

#[cfg(not(target_arch = "wasm32"))]
fn hand_over(report: &str) {
    use std::io::Write;
    writeln!(std::io::stdout(), "{report}").expect("somebody reads it");
}
