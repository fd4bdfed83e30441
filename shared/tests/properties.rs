//! What holds for every input.

use proptest::prelude::*;
use shared::evaluation::{Context, Flag, SegmentLookup, bucket, evaluate};
use shared::model::flag::{FlagConfig, FlagDefinition};
use shared::model::key::VariantKey;
use shared::model::rule::Serve;
use shared::model::split::{BUCKETS, BucketRange, Split, movement, reallocate};

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

fn flag(value_type: &str, variants: &str) -> FlagDefinition {
    let json = format!(
        r#"{{"key":"f","value_type":"{value_type}","kind":"release","client_visible":true,"variants":{variants}}}"#
    );
    serde_json::from_str(&json).expect("a flag")
}

fn half(on: u32) -> Flag {
    let on = BucketRange { start: 0, end: on, variant: "on".parse().expect("a key") };
    let off = BucketRange { start: on.end, end: BUCKETS, variant: "off".parse().expect("a key") };
    let ranges = [on, off].into_iter().filter(|range| range.start < range.end).collect();
    let split = Split { bucket_by: "targetingKey".into(), algorithm: Default::default(), seed: "s".into(), ranges };
    let config = FlagConfig {
        enabled: true,
        off_variant: None,
        targets: vec![],
        rules: vec![],
        default_serve: Serve::Split(split),
    };
    let definition = flag("boolean", r#"[{"key":"on","value":"true"},{"key":"off","value":"false"}]"#);
    Flag::compile(&definition, &config, |_| SegmentLookup::Missing)
}

fn is_on(flag: &Flag, user: &str) -> bool {
    let json = serde_json::json!({ "targetingKey": user }).to_string();
    let context: Context<'_> = serde_json::from_str(&json).expect("a context");
    evaluate(flag, false, &context).variant == Some("on")
}

proptest! {
    #[test]
    fn new_shares_are_exact_and_move_the_fewest_buckets(old in shares(), new in shares()) {
        let before = reallocate(&[], &old);
        let after = reallocate(&before, &new);
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
        let moved: u32 = movement(&before, &after).iter().map(|m| m.buckets).sum();
        prop_assert_eq!(moved, least);
    }

    #[test]
    fn raising_a_share_only_adds_people(user in ".{1,30}", low in 0..BUCKETS, more in 0..BUCKETS) {
        let high = (low + more).min(BUCKETS);
        if is_on(&half(low), &user) {
            prop_assert!(is_on(&half(high), &user));
        }
    }

    #[test]
    fn a_bucket_is_always_one_of_them(seed in ".{0,30}", key in ".{0,300}") {
        prop_assert!(bucket(&seed, &key) < BUCKETS);
    }

    #[test]
    fn any_context_gets_an_answer(json in any_json(4)) {
        let text = json.to_string();
        if let Ok(context) = serde_json::from_str::<Context<'_>>(&text) {
            let flag = half(50_000);
            let outcome = evaluate(&flag, false, &context);
            prop_assert!(outcome.value.is_some() != outcome.error.is_some());
        } else {
            prop_assert!(!json.is_object() && !json.is_null());
        }
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

#[test]
fn shares_stay_within_five_standard_deviations_and_two_seeds_agree_on_a_quarter() {
    let users: Vec<String> = (0..20_000).map(|n| format!("user-{n}")).collect();
    let in_half = |seed: &str| -> Vec<bool> { users.iter().map(|user| bucket(seed, user) < BUCKETS / 2).collect() };
    let (a, b) = (in_half("seed-a"), in_half("seed-b"));
    let share = a.iter().filter(|on| **on).count() as f64 / 20_000.0;
    let both = a.iter().zip(&b).filter(|(a, b)| **a && **b).count() as f64 / 20_000.0;
    assert!((share - 0.5).abs() < 0.018, "{share}");
    assert!((both - 0.25).abs() < 0.016, "{both}");
}
