//! What fuzzing found once, and what it starts from: the checks of `fuzz/` hold for it.

mod support;

use std::fs;
use std::path::Path;

use support::generate::Generator;

#[path = "../fuzz/src/check/mod.rs"]
#[allow(dead_code, unreachable_pub, reason = "it is a crate of its own where it is fuzzed")]
mod check;

/// Panics where something does not hold; `false` for bytes that are no input.
type Check = fn(&[u8]) -> bool;

#[test]
fn nothing_that_was_found_comes_back() {
    let targets: [(&str, Check); 3] =
        [("state", check::state::check), ("context", check::context::check), ("compare", check::compare::check)];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/regressions");
    let mut count = 0;
    for (target, check) in targets {
        let Ok(files) = fs::read_dir(folder.join(target)) else { continue };
        for file in files {
            let file = file.expect("a file").path();
            assert!(check(&fs::read(&file).expect("an input")), "{} is no input", file.display());
            count += 1;
        }
    }
    assert!(count > 0, "there is something to keep");
}

/// So that what fuzzing compares with cannot fall behind the engine.
#[test]
fn generated_states_answer_as_the_rules_are_written() {
    for seed in 0..100 {
        let mut generator = Generator::new(seed);
        let state = serde_json::to_string(&generator.state()).expect("JSON");
        let contexts = [(); 3].map(|()| generator.context());
        assert!(check::state::check(format!("{state}\0{}", contexts.join("\0")).as_bytes()));
        assert!(contexts.iter().all(|context| check::context::check(context.as_bytes())));
    }
}
