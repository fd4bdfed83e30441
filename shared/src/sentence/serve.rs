//! Serves and shares in English.

use crate::model::key::VariantKey;
use crate::model::rule::Serve;
use crate::model::split::{BUCKETS, BucketRange, Split};
use crate::sentence::shown::{bounded, plural, value};

/// So many variants of a split are told, the others are counted.
const OWNERS_MAX: usize = 12;

/// A share of all buckets: `10 %`, `0.5 %`, `33.333 %`.
pub fn percent(buckets: u32) -> String {
    let thousandths = buckets % 1_000;
    let whole = buckets / 1_000;
    if thousandths == 0 {
        return format!("{whole} %");
    }
    format!("{whole}.{}", format!("{thousandths:03}").trim_end_matches('0')) + " %"
}

/// What a rule serves: `on`, or `on to 10 % and off to 90 % by targetingKey`.
pub fn serve(serve: &Serve) -> String {
    match serve {
        Serve::Variant(variant) => variant.to_string(),
        Serve::Split(split) => {
            let owners = owners(split);
            let covered: u64 = owners.iter().map(|(_, buckets)| buckets).sum();
            let mut parts: Vec<String> = told(&owners)
                .iter()
                .map(|(variant, buckets)| format!("{variant} to {}", share(split, *buckets)))
                .collect();
            parts.extend(
                others(&owners)
                    .map(|(count, buckets)| format!("{} to {}", plural(count, "other"), share(split, buckets))),
            );
            let given = if parts.is_empty() { "nothing".into() } else { parts.join(" and ") };
            let rest = match u64::from(split.total).saturating_sub(covered) {
                0 => String::new(),
                rest => format!(", {} go on", share(split, rest)),
            };
            bounded(format!("{given}{rest} by {}", value(&split.bucket_by)))
        }
    }
}

/// What is not seen when one serve takes the place of another; `None` when [`serve`] tells it all.
pub(super) fn hidden_change(old: &Serve, new: &Serve) -> Option<&'static str> {
    let (Serve::Split(before), Serve::Split(after)) = (old, new) else { return None };
    if (before.algorithm, &before.seed, before.total) != (after.algorithm, &after.seed, after.total) {
        return Some("everyone is divided anew");
    }
    (serve(old) == serve(new) && whole_ranges(before) != whole_ranges(after))
        .then_some("some users move although this reads the same")
}

/// Ranges as if neighbours of one owner were one.
fn whole_ranges(split: &Split) -> Vec<BucketRange> {
    let mut ranges: Vec<BucketRange> = Vec::new();
    for range in &split.ranges {
        match ranges.last_mut() {
            Some(last) if last.variant == range.variant && last.end == range.start => last.end = range.end,
            _ => ranges.push(range.clone()),
        }
    }
    ranges
}

/// `10 % get on, 90 % get off`.
pub(super) fn shares(split: &Split) -> String {
    let owners = owners(split);
    let mut parts: Vec<String> =
        told(&owners).iter().map(|(variant, buckets)| format!("{} get {variant}", share(split, *buckets))).collect();
    parts.extend(
        others(&owners)
            .map(|(count, buckets)| format!("{} get one of {}", share(split, buckets), plural(count, "other"))),
    );
    if parts.is_empty() { "nobody gets anything".into() } else { parts.join(", ") }
}

/// A share of a split as [`percent`], whatever number of buckets it has.
pub fn share(split: &Split, buckets: u64) -> String {
    let scaled = buckets * u64::from(BUCKETS) / u64::from(split.total.max(1));
    match u32::try_from(scaled) {
        Ok(0) if buckets > 0 => "under 0.001 %".into(),
        scaled => percent(scaled.unwrap_or(BUCKETS).min(BUCKETS)),
    }
}

/// Variants that own buckets and how many, in order of their first range.
pub(super) fn owners(split: &Split) -> Vec<(&VariantKey, u64)> {
    let mut owners: Vec<(&VariantKey, u64)> = Vec::new();
    for range in &split.ranges {
        let buckets = u64::from(range.end.saturating_sub(range.start));
        match owners.iter_mut().find(|(variant, _)| **variant == range.variant) {
            Some((_, sum)) => *sum += buckets,
            None => owners.push((&range.variant, buckets)),
        }
    }
    owners
}

fn told<'o, 's>(owners: &'o [(&'s VariantKey, u64)]) -> &'o [(&'s VariantKey, u64)] {
    &owners[..owners.len().min(OWNERS_MAX)]
}

fn others(owners: &[(&VariantKey, u64)]) -> Option<(usize, u64)> {
    let others = owners.get(OWNERS_MAX..).filter(|others| !others.is_empty())?;
    Some((others.len(), others.iter().map(|(_, buckets)| buckets).sum()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn split(total: u32, ranges: &[(u32, u32, &str)]) -> Serve {
        let range = |(start, end, variant): &(u32, u32, &str)| json!({"start": start, "end": end, "variant": variant});
        let ranges: Vec<Value> = ranges.iter().map(range).collect();
        let algorithm = if total == BUCKETS { "murmur3" } else { "growthbook_v1" };
        let split = json!({
            "bucket_by": "targetingKey", "algorithm": algorithm, "seed": "s", "total": total, "ranges": ranges,
        });
        serde_json::from_value(json!({ "split": split })).expect("a split")
    }

    #[test]
    fn shares_are_written_without_idle_zeros() {
        let cases = [(0, "0 %"), (10_000, "10 %"), (500, "0.5 %"), (33_333, "33.333 %"), (BUCKETS, "100 %")];
        for (buckets, text) in cases {
            assert_eq!(percent(buckets), text);
        }
    }

    #[test]
    fn a_split_tells_who_gets_what_and_who_goes_on() {
        let cases = [
            (split(BUCKETS, &[(0, BUCKETS, "on")]), "on to 100 % by targetingKey"),
            (
                split(BUCKETS, &[(0, 10_000, "on"), (10_000, BUCKETS, "off")]),
                "on to 10 % and off to 90 % by targetingKey",
            ),
            (
                split(BUCKETS, &[(0, 1, "a"), (1, 2, "b"), (9, 10, "a")]),
                "a to 0.002 % and b to 0.001 %, 99.997 % go on by targetingKey",
            ),
            (
                split(1_000, &[(0, 333, "a"), (500, 1_000, "b")]),
                "a to 33.3 % and b to 50 %, 16.7 % go on by targetingKey",
            ),
            (split(2_000_000_000, &[(0, 1, "a")]), "a to under 0.001 %, 99.999 % go on by targetingKey"),
            (split(BUCKETS, &[]), "nothing, 100 % go on by targetingKey"),
        ];
        for (given, text) in cases {
            assert_eq!(serve(&given), text);
        }
        assert_eq!(serve(&Serve::Variant("on".parse().expect("a key"))), "on");
    }

    #[test]
    fn of_many_variants_most_are_counted() {
        let keys: Vec<String> = (0..64).map(|n| format!("v{n}")).collect();
        let ranges: Vec<(u32, u32, &str)> =
            keys.iter().zip(0..).map(|(key, n)| (n * 100, (n + 1) * 100, key.as_str())).collect();
        let Serve::Split(split) = split(BUCKETS, &ranges) else { unreachable!("a split was made") };
        let text = serve(&Serve::Split(split.clone()));
        assert!(text.ends_with("v11 to 0.1 % and 52 others to 5.2 %, 93.6 % go on by targetingKey"), "{text}");
        assert!(shares(&split).ends_with("0.1 % get v11, 5.2 % get one of 52 others"));
    }

    #[test]
    fn a_change_that_moves_people_is_told_even_where_the_shares_stay() {
        let old = split(BUCKETS, &[(0, 500, "on")]);
        let moved = split(BUCKETS, &[(500, 1_000, "on")]);
        assert_eq!(hidden_change(&old, &moved), Some("some users move although this reads the same"));
        let Serve::Split(mut other) = old.clone() else { unreachable!("a split was made") };
        other.seed = "t".into();
        other.ranges[0].end = 900;
        assert_eq!(hidden_change(&old, &Serve::Split(other)), Some("everyone is divided anew"));
        assert_eq!(hidden_change(&old, &split(BUCKETS, &[(0, 600, "on")])), None);
        assert_eq!(hidden_change(&old, &old), None);
        assert_eq!(hidden_change(&old, &split(BUCKETS, &[(0, 200, "on"), (200, 500, "on")])), None);
    }
}
