//! The bucketing algorithms against the figures of the products they come from, and what holds for all of them.

use proptest::prelude::*;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use shared::evaluation::{Bucketing, Key, Value};
use shared::model::key::VariantKey;
use shared::model::split::{Algorithm, BUCKETS, BucketRange, WeightError};

/// Keys of one seed and one algorithm.
#[derive(Deserialize)]
struct Group {
    about: String,
    algorithm: Algorithm,
    seed: String,
    /// That product's numbers, in its order.
    weights: Option<Vec<(VariantKey, f64)>>,
    keys: Vec<Row>,
}

/// What one key becomes. Everything but the key is optional.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// Any JSON.
    key: Box<RawValue>,
    /// The key counts as missing.
    #[serde(default)]
    missing: bool,
    /// The text that is hashed, or the encoded value in hexadecimal.
    input: Option<String>,
    /// A 32-bit hash's value.
    hash: Option<u32>,
    /// A 60-bit hash's value, in decimal.
    value: Option<String>,
    /// The MD5 digest.
    digest: Option<String>,
    /// The hash as a part of its whole, as 64-bit or 32-bit float.
    #[serde(default)]
    fractions: Vec<f64>,
    /// Flagsmith's percentage, to the last bit.
    percentage: Option<f64>,
    /// Totals, each with the bucket among so many.
    #[serde(default)]
    buckets: Vec<(u32, u32)>,
    /// Whose the key is; null for nobody's.
    #[serde(default, deserialize_with = "present")]
    variant: Option<Option<String>>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

fn key(text: &str) -> VariantKey {
    text.parse().expect("a variant key")
}

fn weights(list: &[(&str, f64)]) -> Vec<(VariantKey, f64)> {
    list.iter().map(|(name, weight)| (key(name), *weight)).collect()
}

fn owner(ranges: &[BucketRange], bucket: u32) -> Option<&str> {
    ranges.iter().find(|range| (range.start..range.end).contains(&bucket)).map(|range| range.variant.as_str())
}

fn is_complete(total: u32, ranges: &[BucketRange]) -> bool {
    let ends = std::iter::once(0).chain(ranges.iter().map(|range| range.end));
    ranges.iter().map(|range| range.start).chain([total]).eq(ends)
}

#[test]
fn every_published_figure_holds() {
    let groups: Vec<Group> =
        serde_json::from_str(include_str!("vectors/algorithms.json")).expect("the vectors are JSON");
    assert!(groups.iter().map(|group| group.keys.len()).sum::<usize>() >= 200);
    for group in &groups {
        for row in &group.keys {
            let name = format!("{}: {} with seed '{}'", group.about, row.key, group.seed);
            check(group, row, &name);
        }
    }
}

fn check(group: &Group, row: &Row, name: &str) {
    let algorithm = group.algorithm;
    let value: Value<'_> = serde_json::from_str(row.key.get()).expect(name);
    let of = |total: u32| Bucketing::new(algorithm, &group.seed, total).bucket(Key::of(Some(&value)).as_ref());
    if row.missing {
        assert_eq!(of(BUCKETS), None, "{name}");
        return;
    }
    let key = Key::of(Some(&value)).expect(name);
    let input = Bucketing::new(algorithm, &group.seed, BUCKETS).input(&key);
    if let Some(expected) = &row.input {
        assert_eq!(&input, expected, "{name}");
    }
    if let Some(hash) = row.hash {
        // Of 2^32 − 1 buckets a scaled hash has the one before its value, a remainder the one of its value.
        let expected = if algorithm == Algorithm::GoFeatureFlag { hash } else { hash.saturating_sub(1) };
        assert_eq!(of(u32::MAX), Some(expected), "{name}");
    }
    if let Some(value) = &row.value {
        let value: u128 = value.parse().expect("decimal digits");
        assert_eq!(of(u32::MAX).map(u128::from), Some(value * u128::from(u32::MAX) / ((1 << 60) - 1)), "{name}");
    }
    for fraction in &row.fractions {
        let found = f64::from(of(u32::MAX).expect(name)) / f64::from(u32::MAX);
        let close = if algorithm == Algorithm::FlagsmithVariant { 1e-4 } else { 1e-7 };
        assert!((found - fraction).abs() < close, "{name}: {found} is not {fraction}");
    }
    if let Some(digest) = &row.digest {
        let remainder = u128::from_str_radix(digest, 16).expect("hexadecimal digits") % 9_999;
        assert_eq!(of(9_998).map(u128::from), Some(remainder), "{name}");
    }
    if let Some(percentage) = row.percentage {
        let value = Bucketing::new(Algorithm::FlagsmithVariant, &group.seed, 9_998).bucket(Some(&key)).expect(name);
        assert_eq!(f64::from(value) / 9_998.0 * 100.0, percentage, "{name}");
    }
    for (total, bucket) in &row.buckets {
        assert_eq!(of(*total), Some(*bucket), "{name} of {total}");
    }
    if let Some(variant) = &row.variant {
        let (total, ranges) = algorithm.ranges(group.weights.as_ref().expect("weights")).expect(name);
        assert_eq!(owner(&ranges, of(total).expect(name)), variant.as_deref(), "{name}");
    }
}

#[test]
fn where_the_engines_of_a_product_differ_one_is_followed() {
    // Unleash, as its Node engine: fractions of a rollout are left out, more than everyone is everyone.
    let served = |percent: f64| {
        let (total, ranges) = Algorithm::UnleashRollout.ranges(&weights(&[("on", percent)])).expect("a rollout");
        let values = (0..100).map(|value| value * total / 100 + total / 100 - 1);
        values.filter(|bucket| owner(&ranges, *bucket).is_some()).count()
    };
    assert_eq!((served(33.0), served(33.5), served(34.0), served(150.0)), (33, 33, 34, 100));
    // GrowthBook, as its Python engine: weights below nothing are refused, although they add up to 1.
    let inverted = Algorithm::GrowthbookV2.ranges(&weights(&[("a", 1.2), ("b", -0.2)]));
    assert_eq!(inverted, Err(WeightError::Negative { variant: key("b"), weight: -0.2 }));
    // flagd: weights below nothing are nothing.
    let (total, ranges) = Algorithm::FlagdV2.ranges(&weights(&[("a", -5.0), ("b", 3.0)])).expect("weights");
    assert_eq!((total, ranges), (99_999, vec![BucketRange { start: 0, end: 99_999, variant: key("b") }]));
}

#[test]
fn nobody_is_left_over_where_shares_were_meant_to_be_complete() {
    let tenth = |share: f64| (0..10).map(|at| (key(&format!("v{at}")), share)).collect::<Vec<_>>();
    let thirds = |share: f64| weights(&[("a", share), ("b", share), ("c", share)]);
    let cases = [
        (Algorithm::Murmur3, tenth(10.0)),
        (Algorithm::Murmur3, thirds(33.33)),
        (Algorithm::Murmur3, thirds(33.34)),
        (Algorithm::Launchdarkly, thirds(33_333.0)),
        (Algorithm::Launchdarkly, tenth(10_000.0)),
        (Algorithm::GrowthbookV1, tenth(0.1)),
        (Algorithm::GrowthbookV2, thirds(1.0 / 3.0)),
        (Algorithm::GrowthbookV2, thirds(0.3333)),
        (Algorithm::FlagsmithVariant, weights(&[("a", 33.3), ("b", 33.3), ("control", 100.0 - 33.3 - 33.3)])),
        (Algorithm::GoFeatureFlag, thirds(33.33)),
        (Algorithm::GoFeatureFlag, thirds(1.0 / 3.0)),
        (Algorithm::FliptDistribution, thirds(33.33)),
        (Algorithm::PosthogVariant, thirds(33.33)),
        (Algorithm::PosthogVariant, tenth(10.0)),
        (Algorithm::FlagdV2, thirds(1.0)),
        (Algorithm::UnleashVariant, thirds(333.0)),
    ];
    for (algorithm, weights) in cases {
        let (total, ranges) = algorithm.ranges(&weights).expect("complete shares");
        assert!(is_complete(total, &ranges), "{algorithm:?} {weights:?} {ranges:?}");
    }
}

#[test]
fn what_a_product_gives_to_nobody_is_in_no_range() {
    let ends = |algorithm: Algorithm, list: &[(&str, f64)]| {
        let (_, ranges) = algorithm.ranges(&weights(list)).expect("weights");
        ranges.last().map_or(0, |range| range.end)
    };
    assert_eq!(ends(Algorithm::Murmur3, &[("a", 20.0), ("b", 30.0)]), 50_000);
    assert_eq!(ends(Algorithm::GrowthbookV2, &[("on", 0.999_99)]), 99_999);
    assert_eq!(ends(Algorithm::FlagsmithVariant, &[("a", 33.33), ("b", 33.33), ("c", 33.33)]), 99_990);
    for algorithm in Algorithm::ALL.into_iter().filter(|algorithm| *algorithm != Algorithm::FlagsmithRollout) {
        let nobody = if algorithm == Algorithm::Launchdarkly { BUCKETS } else { 0 };
        if !matches!(algorithm, Algorithm::GrowthbookV1 | Algorithm::GrowthbookV2) {
            assert_eq!(ends(algorithm, &[("on", 0.0)]), nobody, "{algorithm:?}");
        }
    }
    let experiment = [(key("a"), 0.0, 0.4 * 0.5), (key("b"), 0.5, 0.5 + 0.4 * 0.5)];
    let (total, ranges) = Algorithm::GrowthbookV2.ranges_between(&experiment).expect("a part of each weight");
    let expected = [(0, 20_000, "a"), (50_000, 70_000, "b")];
    let expected = expected.map(|(start, end, name)| BucketRange { start, end, variant: key(name) });
    assert_eq!((total, ranges.as_slice()), (BUCKETS, expected.as_slice()));
}

#[test]
fn weights_that_a_product_does_not_have_are_refused() {
    let error = |algorithm: Algorithm, list: &[(&str, f64)]| {
        algorithm.ranges(&weights(list)).expect_err("no weights of that product").to_string()
    };
    assert_eq!(error(Algorithm::UnleashVariant, &[("a", 1.5)]), "weight 1.5 of variant 'a' must be a whole number");
    assert_eq!(error(Algorithm::PosthogRollout, &[("on", 101.0)]), "the weights add up to 101; the most is 100");
    assert_eq!(error(Algorithm::FliptRollout, &[("a", 1.0), ("b", 2.0)]), "a rollout has 1 variant, not 2");
    assert!(error(Algorithm::GrowthbookV1, &[("a", 0.5), ("b", 0.2)]).contains("add up to 0.7 instead of 1"));
    assert!(error(Algorithm::Murmur3, &[("a", f64::NAN)]).contains("must be a number of 0 or more"));
    let meeting = [(key("a"), 0.0, 0.5), (key("b"), 0.4, 1.0)];
    assert!(Algorithm::GrowthbookV2.ranges_between(&meeting).is_err());
    assert_eq!(Algorithm::FlagdV2.ranges_between(&[]), Err(WeightError::NoRanges));
}

/// 10, 30 and 60 % in that product's numbers, or a rollout to 30 %.
fn usual(algorithm: Algorithm) -> Vec<(VariantKey, f64)> {
    let unit = match algorithm {
        Algorithm::GrowthbookV1 | Algorithm::GrowthbookV2 => 0.01,
        Algorithm::Launchdarkly => 1_000.0,
        _ => 1.0,
    };
    let all = [("a", 10.0 * unit), ("b", 30.0 * unit), ("c", 60.0 * unit)];
    weights(if algorithm.is_rollout() { &all[1..2] } else { &all })
}

#[test]
fn shares_are_within_tolerance_of_their_weights() {
    // Random-looking keys: what a weak hash makes of 1, 2, 3 is that product's own affair.
    let mut state = 7_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("{:016x}", state ^ state >> 29)
    };
    let keys: Vec<String> = (0..100_000).map(|_| next()).collect();
    for algorithm in Algorithm::ALL {
        let (total, ranges) = algorithm.ranges(&usual(algorithm)).expect("usual weights");
        let bucketing = Bucketing::new(algorithm, "checkout", total);
        let owners: Vec<_> = keys
            .iter()
            .map(|key| owner(&ranges, bucketing.bucket(Some(&Key::Text(key))).expect("a text is a key")))
            .collect();
        for range in &ranges {
            let name = range.variant.as_str();
            let share = f64::from(range.end - range.start) / f64::from(total);
            let found = owners.iter().filter(|owner| **owner == Some(name)).count() as f64 / 100_000.0;
            // Four standard deviations of the largest share are 0.006.
            assert!((found - share).abs() < 0.006, "{algorithm:?} gives '{name}' {found} instead of {share}");
        }
    }
}

fn any_algorithm() -> impl Strategy<Value = Algorithm> {
    proptest::sample::select(Algorithm::ALL.to_vec())
}

proptest! {
    #[test]
    fn a_bucket_is_always_below_the_total(
        algorithm in any_algorithm(),
        seed in ".{0,20}",
        text in ".{0,40}",
        integer in any::<i64>(),
        float in any::<f64>(),
        total in prop_oneof![1..10_u32, 1..=u32::MAX],
    ) {
        for seed in [seed.as_str(), ""] {
            let bucketing = Bucketing::new(algorithm, seed, total);
            for key in [Key::Text(&text), Key::Integer(integer.into()), Key::Float(float), Key::Boolean(true)] {
                let bucket = bucketing.bucket(Some(&key));
                prop_assert!(bucket.is_none_or(|bucket| bucket < total));
                let is_hashed = bucket.is_some() && !(algorithm == Algorithm::Launchdarkly && bucket == Some(0));
                prop_assert!(!is_hashed || !bucketing.input(&key).is_empty() || (seed.is_empty() && text.is_empty()));
            }
        }
    }

    #[test]
    fn raising_a_rollout_only_adds_keys(key_text in ".{1,30}", low in 0..=100_000_u32, more in 0..=100_000_u32) {
        let high = (low + more).min(100_000);
        let rollouts = Algorithm::ALL.into_iter().filter(|algorithm| {
            algorithm.is_rollout()
                || matches!(algorithm, Algorithm::Murmur3 | Algorithm::GrowthbookV1 | Algorithm::GrowthbookV2)
        });
        for algorithm in rollouts {
            let is_growthbook = matches!(algorithm, Algorithm::GrowthbookV1 | Algorithm::GrowthbookV2);
            let serves = |thousandths: u32| {
                let weight = f64::from(thousandths) / if is_growthbook { 100_000.0 } else { 1_000.0 };
                let (total, ranges) = algorithm.ranges(&[(key("on"), weight)]).expect("a rollout");
                let bucket = Bucketing::new(algorithm, "s", total).bucket(Some(&Key::Text(&key_text))).expect("a key");
                owner(&ranges, bucket).is_some()
            };
            prop_assert!(!serves(low) || serves(high), "{:?} {} {}", algorithm, low, high);
            prop_assert!(serves(100_000), "{:?}", algorithm);
        }
    }
}
