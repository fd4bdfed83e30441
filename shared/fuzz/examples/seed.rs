//! Writes what fuzzing starts from into `corpus/`: each flag of the published vectors, with what it reaches and some of
//! its contexts, a split of each algorithm, a web of flags and segments, and generated states.

#[path = "../../tests/support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value, json};
use shared::evaluation::{StateDocument, StateFlag};
use shared::model::key::{FlagKey, SegmentKey};
use shared::model::reach::Documents;
use shared::model::split::Algorithm;
use support::generate::Generator;
use support::vectors::{Case, FILES, File, read};

/// Contexts of one state.
const CONTEXTS: usize = 3;
/// Flags and segments that hang together.
const WEB: usize = 8;
/// States made by chance.
const GENERATED: u64 = 300;

fn main() -> io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    ["state", "context", "compare"].into_iter().try_for_each(|name| fs::create_dir_all(corpus.join(name)))?;
    let put = |target: &str, name: String, text: &str| fs::write(corpus.join(target).join(name), text);
    for (file, text) in FILES {
        let file_name = file.trim_end_matches(".json");
        let file = read(file, text);
        for (at, (state, cases)) in states(&file).into_iter().enumerate() {
            for (part, some) in cases.chunks(CONTEXTS).enumerate() {
                let contexts: Vec<&str> = some.iter().map(|case| case.context.get()).collect();
                put("state", format!("{file_name}-{at}-{part}"), &format!("{state}\0{}", contexts.join("\0")))?;
            }
        }
        for (at, case) in file.cases.iter().enumerate() {
            put("context", format!("{file_name}-{at}"), case.context.get())?;
            let values = values(&file.environments[&case.environment], &case.flag);
            for (of, text) in texts(case.context.get()).into_iter().enumerate() {
                put("compare", format!("{file_name}-{at}-{of}"), &format!("{}\0{text}", values.join("\0")))?;
            }
        }
    }
    for (at, algorithm) in Algorithm::ALL.into_iter().enumerate() {
        let text = format!("{}\0{{\"a\":\"u-1\"}}\0{{\"a\":7}}\0{{}}", split(algorithm));
        put("state", format!("algorithm-{at}"), &text)?;
    }
    put("state", "web".into(), &format!("{}\0{{\"a\":\"7\"}}\0{{\"a\":[\"3\",\"5\"]}}", web()))?;
    for seed in 0..GENERATED {
        let mut generator = Generator::new(seed);
        let state = serde_json::to_string(&generator.state()).expect("JSON");
        let contexts = [(); CONTEXTS].map(|()| generator.context());
        put("state", format!("generated-{seed}"), &format!("{state}\0{}", contexts.join("\0")))?;
        put("context", format!("generated-{seed}"), &contexts[0])?;
    }
    Ok(())
}

/// A flag that divides everyone.
fn split(algorithm: Algorithm) -> Value {
    let split = json!({"bucket_by": "a", "algorithm": algorithm, "seed": "s", "total": 1_000, "ranges": [
        {"start": 0, "end": 300, "variant": "x"}, {"start": 300, "end": 1_000, "variant": "y"},
    ]});
    json!({"flags": [flag("f", &json!({"enabled": true, "default_serve": {"split": split}}))]})
}

/// Flags and segments that need the next two each.
fn web() -> Value {
    let next = |at: usize| (at + 1..WEB).take(2);
    let flags = (0..WEB).map(|at| {
        let needed: Vec<Value> = next(at).map(|at| json!({"flag": format!("f{at}"), "variants": ["x", "y"]})).collect();
        let rule = json!({
            "id": format!("00000000-0000-0000-0000-{at:012}"), "serve": {"variant": "x"},
            "conditions": {"operator": "in_segment", "values": [format!("s{at}")]},
        });
        let default = json!({"variant": "y"});
        let config = json!({"enabled": true, "prerequisites": needed, "rules": [rule], "default_serve": default});
        flag(&format!("f{at}"), &config)
    });
    let segments = (0..WEB).map(|at| {
        let used = next(at).map(|at| json!({"operator": "in_segment", "values": [format!("s{at}")]}));
        let own = json!({"attribute": "a", "operator": "equals", "values": [at.to_string()]});
        json!({"key": format!("s{at}"), "conditions": {"any": used.chain([own]).collect::<Vec<Value>>()}})
    });
    json!({"flags": flags.collect::<Vec<Value>>(), "segments": segments.collect::<Vec<Value>>()})
}

fn flag(key: &str, config: &Value) -> Value {
    let variants = ["x", "y"].map(|key| json!({"key": key, "value": key}));
    let flag = json!({
        "key": key, "value_type": "string", "kind": "release", "client_visible": true, "variants": variants,
    });
    json!({"flag": flag, "config": config})
}

/// Each flag that is asked for, alone with what it reaches, and the cases that ask for it.
fn states(file: &File) -> Vec<(String, Vec<&Case>)> {
    let mut asked: BTreeMap<(&str, &str), Vec<&Case>> = BTreeMap::new();
    for case in &file.cases {
        asked.entry((&case.environment, &case.flag)).or_default().push(case);
    }
    let state =
        |(environment, flag)| serde_json::to_string(&part(&file.environments[environment], flag)).expect("JSON");
    asked.into_iter().map(|(key, cases)| (state(key), cases)).collect()
}

fn part(state: &StateDocument, flag: &str) -> StateDocument {
    let flags = state.flags.iter().map(|f| (f.flag.key.clone(), (f.flag.clone(), f.config.clone())));
    let segments = state.segments.iter().map(|segment| (segment.key.clone(), segment.clone()));
    let documents = Documents { flags: flags.collect(), segments: segments.collect() };
    let Some(asked) = state.flags.iter().find(|f| f.flag.key.as_str() == flag) else { return StateDocument::default() };
    let reach = documents.reach_of_flag(&asked.config);
    let is_reached = |key: &FlagKey| *key == asked.flag.key || reach.flags.contains(key);
    let is_used = |key: &SegmentKey| reach.segments.contains(key);
    StateDocument {
        flags: state.flags.iter().filter(|f| is_reached(&f.flag.key)).cloned().collect(),
        segments: state.segments.iter().filter(|segment| is_used(&segment.key)).cloned().collect(),
    }
}

/// The values that a flag's conditions compare with, not too many of them.
fn values(state: &StateDocument, flag: &str) -> Vec<String> {
    let rules = |f: &StateFlag| f.config.rules.clone();
    let rules = state.flags.iter().find(|f| f.flag.key.as_str() == flag).map(rules).unwrap_or_default();
    let leaves = rules.iter().flat_map(|rule| rule.conditions.leaves());
    leaves.flat_map(|leaf| leaf.values.clone()).filter(|value| value.len() < 100).take(8).collect()
}

/// The texts and numbers of a context.
fn texts(context: &str) -> Vec<String> {
    let Ok(Value::Object(fields)) = serde_json::from_str(context) else { return Vec::new() };
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    fields.values().filter_map(text).collect()
}
