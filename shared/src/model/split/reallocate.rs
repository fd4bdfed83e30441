//! What changes when shares change.

use crate::model::key::VariantKey;
use crate::model::split::BucketRange;

/// Buckets that go from one owner to another; `None` is "no variant".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Movement {
    /// Who owned them.
    pub from: Option<VariantKey>,
    /// Who owns them now.
    pub to: Option<VariantKey>,
    /// How many.
    pub buckets: u32,
}

/// New ranges for new shares, moving the fewest possible buckets: who shrinks gives from its end, who grows takes
/// what is free from the front, so raising a share never takes a bucket away from its variant.
///
/// `shares` lists buckets per variant, at most `total` in all; variants it does not name lose everything.
pub fn reallocate(total: u32, old: &[BucketRange], shares: &[(VariantKey, u32)]) -> Vec<BucketRange> {
    let mut wanted: Vec<(VariantKey, u32)> = shares.to_vec();
    let mut kept = Vec::new();
    for range in old {
        if let Some((_, missing)) = wanted.iter_mut().find(|(variant, _)| *variant == range.variant) {
            let take = (*missing).min(range.end.saturating_sub(range.start));
            if take > 0 {
                kept.push(BucketRange { end: range.start + take, ..range.clone() });
                *missing -= take;
            }
        }
    }
    let mut ranges = Vec::new();
    let mut free_from = 0;
    let end = BucketRange {
        start: total,
        end: total,
        variant: match shares.first() {
            Some((variant, _)) => variant.clone(),
            None => return Vec::new(),
        },
    };
    for range in kept.into_iter().chain([end]) {
        for (variant, missing) in &mut wanted {
            let take = (*missing).min(range.start - free_from);
            push(&mut ranges, free_from, free_from + take, variant);
            free_from += take;
            *missing -= take;
        }
        push(&mut ranges, range.start, range.end, &range.variant);
        free_from = range.end;
    }
    ranges
}

/// Who moves between two divisions with the same `bucket_by`, algorithm and seed; biggest first.
pub fn movement(total: u32, old: &[BucketRange], new: &[BucketRange]) -> Vec<Movement> {
    let mut cuts: Vec<u32> = old.iter().chain(new).flat_map(|r| [r.start, r.end]).chain([0, total]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let owner = |ranges: &[BucketRange], bucket: u32| {
        ranges.iter().find(|r| (r.start..r.end).contains(&bucket)).map(|r| r.variant.clone())
    };
    let mut moves: Vec<Movement> = Vec::new();
    for pair in cuts.windows(2) {
        let (from, to, buckets) = (owner(old, pair[0]), owner(new, pair[0]), pair[1] - pair[0]);
        if from == to {
            continue;
        }
        match moves.iter_mut().find(|m| m.from == from && m.to == to) {
            Some(known) => known.buckets += buckets,
            None => moves.push(Movement { from, to, buckets }),
        }
    }
    moves.sort_by_key(|m| std::cmp::Reverse(m.buckets));
    moves
}

/// The same ranges with a variant under another key: nobody moves.
pub fn rename(ranges: &[BucketRange], from: &VariantKey, to: &VariantKey) -> Vec<BucketRange> {
    let named = |range: &BucketRange| if range.variant == *from { to.clone() } else { range.variant.clone() };
    ranges.iter().map(|range| BucketRange { variant: named(range), ..range.clone() }).collect()
}

fn push(ranges: &mut Vec<BucketRange>, start: u32, end: u32, variant: &VariantKey) {
    if start == end {
        return;
    }
    match ranges.last_mut() {
        Some(last) if last.end == start && last.variant == *variant => last.end = end,
        _ => ranges.push(BucketRange { start, end, variant: variant.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::split::BUCKETS;

    fn key(text: &str) -> VariantKey {
        text.parse().expect("a variant key")
    }

    fn ranges(list: &[(u32, u32, &str)]) -> Vec<BucketRange> {
        list.iter().map(|&(start, end, variant)| BucketRange { start, end, variant: key(variant) }).collect()
    }

    #[test]
    fn raising_a_share_only_adds_buckets() {
        let old = ranges(&[(0, 10_000, "on"), (10_000, BUCKETS, "off")]);
        let new = reallocate(BUCKETS, &old, &[(key("on"), 25_000), (key("off"), 75_000)]);
        let moved = movement(BUCKETS, &old, &new);
        assert_eq!(moved, [Movement { from: Some(key("off")), to: Some(key("on")), buckets: 15_000 }]);
        assert_eq!(new.iter().map(|r| r.end - r.start).sum::<u32>(), BUCKETS);
    }

    #[test]
    fn a_gap_stays_a_gap() {
        let new = reallocate(BUCKETS, &[], &[(key("a"), 30_000), (key("b"), 20_000)]);
        assert_eq!(new, ranges(&[(0, 30_000, "a"), (30_000, 50_000, "b")]));
    }

    #[test]
    fn adding_removing_and_renaming_a_variant_moves_only_who_must_move() {
        let old = ranges(&[(0, 50_000, "a"), (50_000, BUCKETS, "b")]);
        let third = [(key("a"), 40_000), (key("b"), 40_000), (key("c"), 20_000)];
        let added = reallocate(BUCKETS, &old, &third);
        assert!(movement(BUCKETS, &old, &added).iter().all(|m| m.to == Some(key("c"))));
        let removed = reallocate(BUCKETS, &added, &[(key("a"), 50_000), (key("b"), 50_000)]);
        assert!(movement(BUCKETS, &added, &removed).iter().all(|m| m.from == Some(key("c"))));
        let renamed = rename(&added, &key("c"), &key("d"));
        let moved = movement(BUCKETS, &added, &renamed);
        assert_eq!(moved, [Movement { from: Some(key("c")), to: Some(key("d")), buckets: 20_000 }]);
        assert_eq!(rename(&renamed, &key("d"), &key("c")), added);
    }
}
