//! Evaluation cases as data: state, question and time in, answer out.

mod support;

use std::collections::HashSet;

use support::vectors::{FILES, read, run};

#[test]
fn every_vector_holds() {
    let mut failures = Vec::new();
    let mut count = 0;
    for (name, text) in FILES {
        let (cases, failed) = run(name, text);
        if cases == 0 {
            failures.push(format!("{name}: no cases"));
        }
        count += cases;
        failures.extend(failed);
    }
    assert!(failures.is_empty(), "{} of {count} fail:\n{}", failures.len(), failures.join("\n"));
    assert!(count >= 400, "only {count} cases");
}

#[test]
fn every_file_is_run_and_every_case_has_a_name_of_its_own() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors");
    let on_disk: HashSet<String> = std::fs::read_dir(folder)
        .expect("the folder of vectors")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name != "algorithms.json")
        .collect();
    let listed: HashSet<String> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(on_disk, listed);
    for (name, text) in FILES {
        let file = read(name, text);
        let names: HashSet<&str> = file.cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names.len(), file.cases.len(), "{name}");
        assert!(!file.about.is_empty(), "{name}");
    }
}

#[test]
fn every_state_is_read_back_as_it_was_written() {
    for (name, text) in FILES {
        for (environment, state) in read(name, text).environments {
            let json = serde_json::to_string(&state).expect("JSON");
            assert_eq!(serde_json::from_str(&json).ok(), Some(state), "{name} {environment}");
        }
    }
}
