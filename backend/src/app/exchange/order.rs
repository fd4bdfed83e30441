//! The order in which things are written: each after all it needs. Whatever is cut into slices in this order, no slice
//! leaves something that needs itself: what is written needs only what is written, and the rest is as it was.

use std::collections::{BTreeMap, BTreeSet};

/// All keys, each after those it needs; needs that are among no keys are left out.
pub(super) fn order<K: Ord + Clone>(needs: &BTreeMap<K, Vec<K>>) -> Vec<K> {
    let (mut ordered, mut seen) = (Vec::with_capacity(needs.len()), BTreeSet::new());
    for first in needs.keys() {
        // Each with the position of the next of its needs to be looked at.
        let mut open: Vec<(&K, usize)> = Vec::new();
        if seen.insert(first) {
            open.push((first, 0));
        }
        while let Some((key, at)) = open.pop() {
            let Some(next) = needs.get(key).and_then(|list| list.get(at)) else {
                ordered.push(key.clone());
                continue;
            };
            open.push((key, at + 1));
            if let Some((next, _)) = needs.get_key_value(next)
                && seen.insert(next)
            {
                open.push((next, 0));
            }
        }
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_comes_after_what_it_needs() {
        let needs: BTreeMap<&str, Vec<&str>> =
            [("a", vec!["b", "c"]), ("b", vec!["d", "gone"]), ("c", vec!["d"]), ("d", vec![])].into();
        assert_eq!(order(&needs), ["d", "b", "c", "a"]);
        let long: BTreeMap<u32, Vec<u32>> = (0..100_000).map(|n| (n, vec![n + 1])).collect();
        assert_eq!(order(&long).first(), Some(&99_999));
    }
}
