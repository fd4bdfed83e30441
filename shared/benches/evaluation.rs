//! What an evaluation and a compilation cost, without HTTP: `cargo bench -p shared`.

use std::fmt::Write;

use divan::{Bencher, black_box};
use serde_json::{Value, json};
use shared::evaluation::{Context, Outcome, Query, State, StateDocument, StateFlag, evaluate};
use shared::model::sdk_key::SdkKeyKind;

#[global_allocator]
static ALLOCATIONS: divan::AllocProfiler = divan::AllocProfiler::system();

fn main() {
    divan::main();
}

/// Ten attributes, as applications send them.
const CONTEXT: &str = r#"{"targetingKey":"user-4711","email":"someone@example.com","plan":"pro","country":"DE",
    "age":37,"version":"2.14.3","beta":true,"device":"phone","company":"c-1138","locale":"de-DE"}"#;

fn boolean(key: &str, rules: &[Value], default_serve: &Value) -> Value {
    json!({
        "flag": {
            "key": key, "value_type": "boolean", "kind": "release", "client_visible": true,
            "variants": [{"key": "on", "value": "true"}, {"key": "off", "value": "false"}],
        },
        "config": {"enabled": true, "off_variant": "off", "rules": rules, "default_serve": default_serve},
    })
}

fn rule(at: usize, conditions: &Value, serve: &Value) -> Value {
    json!({"id": format!("00000000-0000-0000-0000-{at:012}"), "conditions": conditions, "serve": serve})
}

fn leaf(attribute: &str, operator: &str, values: &[String]) -> Value {
    json!({"attribute": attribute, "operator": operator, "values": values})
}

fn half() -> Value {
    json!({"split": {"bucket_by": "targetingKey", "seed": "8f14e45f", "ranges": [
        {"start": 0, "end": 50_000, "variant": "on"}, {"start": 50_000, "end": 100_000, "variant": "off"},
    ]}})
}

fn texts(values: &[&str]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

fn many(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{prefix}-{n}")).collect()
}

fn state(flags: &[Value], segments: &[Value]) -> State {
    State::compile(&document(flags, segments))
}

fn document(flags: &[Value], segments: &[Value]) -> StateDocument {
    serde_json::from_value(json!({"flags": flags, "segments": segments})).expect("a state")
}

/// Times one evaluation of the flag `checkout`, after a look at what it answers.
fn evaluation(bencher: Bencher<'_, '_>, flags: &[Value], segments: &[Value], expected: (&str, &str)) {
    let state = state(flags, segments);
    let context: Context<'_> = serde_json::from_str(CONTEXT).expect("a context");
    let query = Query { context: &context, now_ms: 1_800_000_000_000, asker: SdkKeyKind::Server };
    let Outcome { variant, reason, .. } = evaluate(&state, "checkout", &query);
    assert_eq!((variant.unwrap_or("none"), reason.as_str()), expected);
    bencher.bench_local(|| evaluate(black_box(&state), black_box("checkout"), black_box(&query)).variant_index);
}

#[divan::bench(sample_size = 1_000)]
fn a_boolean_without_rules(bencher: Bencher<'_, '_>) {
    evaluation(bencher, &[boolean("checkout", &[], &json!({"variant": "on"}))], &[], ("on", "STATIC"));
}

#[divan::bench(sample_size = 1_000)]
fn b_one_rule_of_one_condition(bencher: Bencher<'_, '_>) {
    let pro = leaf("plan", "equals", &texts(&["pro"]));
    let rules = [rule(0, &pro, &json!({"variant": "on"}))];
    let flags = [boolean("checkout", &rules, &json!({"variant": "off"}))];
    evaluation(bencher, &flags, &[], ("on", "TARGETING_MATCH"));
}

#[divan::bench(sample_size = 1_000)]
fn c_one_rule_split_over_two_variants(bencher: Bencher<'_, '_>) {
    let pro = leaf("plan", "equals", &texts(&["pro", "team"]));
    let flags = [boolean("checkout", &[rule(0, &pro, &half())], &json!({"variant": "off"}))];
    evaluation(bencher, &flags, &[], ("off", "SPLIT"));
}

#[divan::bench(sample_size = 1_000)]
fn d_twenty_rules_of_five_conditions(bencher: Bencher<'_, '_>) {
    let rules: Vec<Value> = (0..20)
        .map(|at| {
            let plan = if at == 19 { "pro" } else { "free" };
            let conditions = json!({"all": [
                leaf("country", "equals", &texts(&["DE", "FR"])),
                leaf("age", "greater", &texts(&["18"])),
                leaf("email", "ends_with", &texts(&["@example.com"])),
                leaf("version", "semver_greater_or_equal", &texts(&["2.0.0"])),
                leaf("plan", "equals", &texts(&[plan])),
            ]});
            rule(at, &conditions, &json!({"variant": "on"}))
        })
        .collect();
    let flags = [boolean("checkout", &rules, &json!({"variant": "off"}))];
    evaluation(bencher, &flags, &[], ("on", "TARGETING_MATCH"));
}

#[divan::bench(sample_size = 1_000)]
fn e_a_list_of_10_000_values(bencher: Bencher<'_, '_>) {
    let mut values = many("company", 9_999);
    values.push("c-1138".into());
    let rules = [rule(0, &leaf("company", "equals", &values), &json!({"variant": "on"}))];
    let flags = [boolean("checkout", &rules, &json!({"variant": "off"}))];
    evaluation(bencher, &flags, &[], ("on", "TARGETING_MATCH"));
}

#[divan::bench(sample_size = 1_000)]
fn f_a_segment_of_10_000_keys(bencher: Bencher<'_, '_>) {
    let mut keys = many("someone", 9_999);
    keys.push("user-4711".into());
    let in_segment = json!({"operator": "in_segment", "values": ["staff"]});
    let flags = [boolean("checkout", &[rule(0, &in_segment, &json!({"variant": "on"}))], &json!({"variant": "off"}))];
    evaluation(bencher, &flags, &[json!({"key": "staff", "included": keys})], ("on", "TARGETING_MATCH"));
}

#[divan::bench(sample_size = 1_000)]
fn g_a_regular_expression(bencher: Bencher<'_, '_>) {
    let matches = leaf("email", "matches", &texts(&["@(example|sample)\\.(com|org)$"]));
    let flags = [boolean("checkout", &[rule(0, &matches, &json!({"variant": "on"}))], &json!({"variant": "off"}))];
    evaluation(bencher, &flags, &[], ("on", "TARGETING_MATCH"));
}

#[divan::bench(sample_size = 1_000)]
fn h_three_prerequisites_deep(bencher: Bencher<'_, '_>) {
    let chain = ["checkout", "p1", "p2", "p3"];
    let flags: Vec<Value> = (0..chain.len())
        .map(|at| {
            let mut flag = boolean(chain[at], &[], &json!({"variant": "on"}));
            if let Some(parent) = chain.get(at + 1) {
                flag["config"]["prerequisites"] = json!([{"flag": parent, "variants": ["on"]}]);
            }
            flag
        })
        .collect();
    evaluation(bencher, &flags, &[], ("on", "DEFAULT"));
}

#[divan::bench(sample_size = 1_000)]
fn i_reading_the_context(bencher: Bencher<'_, '_>) {
    bencher.bench_local(|| {
        let context: Context<'_> = serde_json::from_str(black_box(CONTEXT)).expect("a context");
        black_box(&context);
    });
}

/// Flags of the usual mix: seven in ten boolean, three with variants, one rule each.
fn usual_mix(count: usize) -> StateDocument {
    let flags: Vec<Value> = (0..count)
        .map(|at| {
            let condition = match at % 4 {
                0 => leaf("plan", "equals", &texts(&["pro", "team"])),
                1 => leaf("country", "equals", &texts(&["DE", "FR", "ES"])),
                2 => leaf("email", "ends_with", &texts(&["@example.com"])),
                _ => leaf("age", "greater", &texts(&["18"])),
            };
            let mut flag = boolean(&format!("flag-{at}"), &[rule(at, &condition, &half())], &json!({"variant": "off"}));
            if at % 10 >= 7 {
                flag["flag"]["value_type"] = json!("string");
                flag["flag"]["variants"] = json!([{"key": "on", "value": "blue"}, {"key": "off", "value": "green"}]);
            }
            flag
        })
        .collect();
    document(&flags, &[])
}

#[divan::bench]
fn k_compile_one_flag(bencher: Bencher<'_, '_>) {
    let document = usual_mix(1);
    bencher.bench_local(|| State::compile(black_box(&document)));
}

#[divan::bench(args = [1_000, 10_000], sample_count = 20)]
fn l_compile(bencher: Bencher<'_, '_>, count: usize) {
    let document = usual_mix(count);
    bencher.bench_local(|| State::compile(black_box(&document)));
}

#[divan::bench(args = [1_000, 10_000], sample_count = 20)]
fn m_read_and_compile(bencher: Bencher<'_, '_>, count: usize) {
    let mut lines = String::new();
    for flag in &usual_mix(count).flags {
        writeln!(lines, "{}", serde_json::to_string(flag).expect("JSON")).expect("a text takes everything");
    }
    bencher.bench_local(|| {
        let flags = lines.lines().map(|line| serde_json::from_str::<StateFlag>(line).expect("a flag")).collect();
        State::compile(&StateDocument { flags, segments: Vec::new() })
    });
}

#[divan::bench]
fn n_change_one_flag_of_10_000(bencher: Bencher<'_, '_>) {
    let document = usual_mix(10_000);
    let state = State::compile(&document);
    bencher.bench_local(|| {
        let mut changed = state.clone();
        changed.set(black_box(&document.flags[4_711]));
        changed
    });
}
