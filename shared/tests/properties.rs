//! What holds for every input.

mod support;

use proptest::prelude::*;
use serde_json::{Value, json};
use shared::evaluation::{Context, Environment, Query, State, StateDocument, bucket, evaluate, explain};
use shared::model::key::VariantKey;
use shared::model::sdk_key::SdkKeyKind;
use shared::model::split::{BUCKETS, BucketRange, movement, reallocate};
use support::generate::{FLAGS, Generator};

fn key(at: usize) -> VariantKey {
    format!("v{at}").parse().expect("a variant key")
}

/// Shares of up to five variants that leave up to everything to nobody.
fn shares() -> impl Strategy<Value = Vec<(VariantKey, u32)>> {
    proptest::collection::vec(0..BUCKETS, 1..5).prop_map(|mut cuts| {
        cuts.sort_unstable();
        let starts = std::iter::once(0).chain(cuts.clone());
        starts.zip(cuts.clone()).enumerate().map(|(at, (start, end))| (key(at), end - start)).collect()
    })
}

fn share_of(ranges: &[BucketRange], variant: &VariantKey) -> u32 {
    ranges.iter().filter(|range| range.variant == *variant).map(|range| range.end - range.start).sum()
}

fn server<'c>(context: &'c Context<'_>) -> Query<'c> {
    Query { context, now_ms: 0, asker: SdkKeyKind::Server }
}

/// A state of one boolean flag `f`.
fn state(config: &Value) -> State {
    let document = json!({"flags": [{
        "flag": {
            "key": "f", "value_type": "boolean", "kind": "release", "client_visible": true,
            "variants": [{"key": "on", "value": "true"}, {"key": "off", "value": "false"}],
        },
        "config": config,
    }]});
    State::compile(&serde_json::from_value(document).expect("a state"))
}

fn split(seed: &str, on: u32) -> Value {
    let ranges = [(0, on, "on"), (on, BUCKETS, "off")];
    let ranges = ranges.iter().filter(|(start, end, _)| start < end);
    let ranges: Vec<Value> = ranges.map(|(s, e, variant)| json!({"start": s, "end": e, "variant": variant})).collect();
    json!({"split": {"bucket_by": "targetingKey", "seed": seed, "ranges": ranges}})
}

fn divided(seed: &str, on: u32) -> State {
    state(&json!({"enabled": true, "default_serve": split(seed, on)}))
}

fn is_on(state: &State, user: &str) -> bool {
    let json = json!({ "targetingKey": user }).to_string();
    let context: Context<'_> = serde_json::from_str(&json).expect("a context");
    evaluate(state, "f", &server(&context)).variant == Some("on")
}

proptest! {
    #[test]
    fn new_shares_are_exact_and_move_the_fewest_buckets(old in shares(), new in shares()) {
        let before = reallocate(BUCKETS, &[], &old);
        let after = reallocate(BUCKETS, &before, &new);
        let mut free_from = 0;
        for range in &after {
            prop_assert!(range.start >= free_from && range.end > range.start && range.end <= BUCKETS);
            free_from = range.end;
        }
        for (variant, share) in &new {
            prop_assert_eq!(share_of(&after, variant), *share);
        }
        // Half the sum of all differences, "no variant" being an owner like any other.
        let total = |shares: &[(VariantKey, u32)]| shares.iter().map(|(_, share)| share).sum::<u32>();
        let mut owners: Vec<(u32, u32)> = (0..5).map(|at| (share_of(&before, &key(at)), share_of(&after, &key(at)))).collect();
        owners.push((BUCKETS - total(&old), BUCKETS - total(&new)));
        let least: u32 = owners.iter().map(|(was, is)| was.abs_diff(*is)).sum::<u32>() / 2;
        let moved: u32 = movement(BUCKETS, &before, &after).iter().map(|m| m.buckets).sum();
        prop_assert_eq!(moved, least);
    }

    #[test]
    fn raising_a_share_only_adds_people(user in ".{1,30}", low in 0..BUCKETS, more in 0..BUCKETS) {
        let high = (low + more).min(BUCKETS);
        if is_on(&divided("s", low), &user) {
            prop_assert!(is_on(&divided("s", high), &user));
        }
    }

    #[test]
    fn a_bucket_is_always_one_of_them(seed in ".{0,30}", key in ".{0,300}") {
        prop_assert!(bucket(&seed, &key) < BUCKETS);
    }

    /// Any state answers any context, the same each time, and the same when it is recorded.
    #[test]
    fn every_question_has_one_answer(seed in any::<u64>(), json in any_json(4)) {
        let mut generator = Generator::new(seed);
        let state = State::compile(&generator.state());
        for text in [json.to_string(), generator.context()] {
            let Ok(context) = serde_json::from_str::<Context<'_>>(&text) else {
                prop_assert!(!json.is_object() && !json.is_null());
                continue;
            };
            let query = generator.query(&context);
            for flag in 0..=FLAGS {
                let flag = format!("f{flag}");
                let outcome = evaluate(&state, &flag, &query);
                prop_assert_eq!(evaluate(&state, &flag, &query), outcome);
                prop_assert!(outcome.error.is_none() || outcome.value.is_none());
                prop_assert_eq!(outcome.value.is_some(), outcome.variant.is_some());
                if let Some((compiled, _)) = state.flag(&flag) {
                    prop_assert_eq!(compiled.reason(outcome.place), outcome.reason, "a place has one reason");
                }
                let (explained, trace) = explain(&state, &flag, &query);
                prop_assert_eq!(explained, outcome);
                if let Some(trace) = trace {
                    prop_assert_eq!(&trace.outcome, &(&outcome).into());
                    prop_assert_eq!(trace.flag.as_str(), flag);
                }
            }
        }
    }

    /// Whatever an operator can read, it either says yes or its negation does.
    #[test]
    fn negation_is_the_exact_complement_of_what_can_be_read(seed in any::<u64>()) {
        let mut generator = Generator::new(seed);
        let mut leaf = generator.leaf(None);
        let answer = |leaf: &Value, context: &Context<'_>| {
            let rule = json!({
                "id": "00000000-0000-0000-0000-000000000000", "conditions": leaf, "serve": {"variant": "on"},
            });
            let state = state(&json!({"enabled": true, "rules": [rule], "default_serve": {"variant": "off"}}));
            let (outcome, trace) = explain(&state, "f", &server(context));
            (outcome.error.is_none().then_some(outcome.variant == Some("on")), format!("{trace:?}"))
        };
        for _ in 0..20 {
            let text = generator.context();
            let context: Context<'_> = serde_json::from_str(&text).expect("a context");
            leaf["negate"] = json!(false);
            let (plain, trace) = answer(&leaf, &context);
            leaf["negate"] = json!(true);
            let (negated, _) = answer(&leaf, &context);
            let (Some(plain), Some(negated)) = (plain, negated) else { break };
            if trace.contains("is_readable: false") {
                prop_assert!(!plain && !negated, "{leaf} {text}");
            } else {
                prop_assert!(plain != negated, "{leaf} {text}");
            }
        }
    }

    #[test]
    fn a_state_survives_a_round_trip(seed in any::<u64>()) {
        let document = Generator::new(seed).state();
        let json = serde_json::to_string(&document).expect("JSON");
        prop_assert_eq!(serde_json::from_str::<StateDocument>(&json).expect("the same"), document);
    }
}

fn any_json(depth: u32) -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        ".{0,10}".prop_map(Into::into),
    ];
    leaf.prop_recursive(depth, 32, 8, |inner| {
        let name = prop_oneof![Just("targetingKey".to_owned()), ".{0,8}"];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            proptest::collection::hash_map(name, inner, 0..6)
                .prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

/// A million keys: a binomial share leaves five standard deviations once in two million runs, and these keys are fixed.
#[test]
fn a_million_keys_are_divided_as_the_shares_say_and_two_seeds_independently() {
    const KEYS: u32 = 1_000_000;
    let tolerance = |share: f64| 5.0 * (share * (1.0 - share) / f64::from(KEYS)).sqrt();
    let mut counts = [0_u32; 4];
    for n in 0..KEYS {
        let key = format!("user-{n}");
        let is_in = |seed: &str, share: u32| usize::from(bucket(seed, &key) < share);
        counts[2 * is_in("seed-a", 30_000) + is_in("seed-b", 1_000)] += 1;
    }
    for (place, expected) in [(0, 0.7 * 0.99), (1, 0.7 * 0.01), (2, 0.3 * 0.99), (3, 0.3 * 0.01)] {
        let share = f64::from(counts[place]) / f64::from(KEYS);
        assert!((share - expected).abs() < tolerance(expected), "{place}: {share} instead of {expected}");
    }
}

/// 2^32 ways lead through these segments, and the parent has filled what is remembered before they are walked.
#[test]
fn segments_are_walked_a_bounded_number_of_times_even_where_more_are_reached_than_may_be_saved() {
    let uses = |keys: &[String]| json!({"operator": "in_segment", "values": keys});
    let flag = |key: &str, rules: Vec<Value>, parents: Value| {
        json!({
            "flag": {
                "key": key, "value_type": "boolean", "kind": "release", "client_visible": true,
                "variants": [{"key": "on", "value": "true"}, {"key": "off", "value": "false"}],
            },
            "config": {"enabled": true, "prerequisites": parents, "rules": rules, "default_serve": {"variant": "on"}},
        })
    };
    let rule = |at: usize, conditions: Value| json!({"id": format!("00000000-0000-0000-0000-{at:012}"), "conditions": conditions, "serve": {"variant": "off"}});
    let others = (0..64).map(|at| rule(at, uses(&[format!("other-{at}")]))).collect();
    let parent = flag("parent", others, json!([]));
    let deep = vec![rule(0, uses(&["a-0".to_owned()]))];
    let child = flag("child", deep, json!([{"flag": "parent", "variants": ["on"]}]));
    let mut segments: Vec<Value> = (0..64).map(|at| json!({"key": format!("other-{at}")})).collect();
    for level in 0..31 {
        let next = [format!("a-{}", level + 1), format!("b-{}", level + 1)];
        segments.push(json!({"key": format!("a-{level}"), "conditions": uses(&next)}));
        segments.push(json!({"key": format!("b-{level}"), "conditions": uses(&next)}));
    }
    segments.extend([json!({"key": "a-31"}), json!({"key": "b-31"})]);
    let document = json!({"flags": [parent, child], "segments": segments});
    let state = State::compile(&serde_json::from_value(document).expect("a state"));
    let outcome = evaluate(&state, "child", &server(&Context::default()));
    assert_eq!((outcome.variant, outcome.error), (Some("on"), None));
}
