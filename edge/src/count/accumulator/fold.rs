//! Makes old counts coarser, so that a long wait takes no more room than a short one.

use std::collections::{BTreeMap, BTreeSet};

use crate::count::accumulator::{Accumulator, EvaluationKey, RequestKey, UnknownKey};

const HOUR: i64 = 60;
const DAY: i64 = 24 * HOUR;

/// What has a minute.
trait Timed: Ord + Clone {
    fn minute(&mut self) -> &mut i64;
    fn at(&self) -> i64;
}

macro_rules! timed {
    ($($name:ident),+) => {$(
        impl Timed for $name {
            fn minute(&mut self) -> &mut i64 {
                &mut self.minute
            }

            fn at(&self) -> i64 {
                self.minute
            }
        }
    )+};
}

timed!(EvaluationKey, RequestKey, UnknownKey);

impl Accumulator {
    /// Moves minutes to the begin of their hour, and when that is not enough to that of their day, oldest first, until
    /// no more than `wanted` entries are left.
    pub(in crate::count) fn fold(&mut self, wanted: usize) {
        for width in [HOUR, DAY] {
            let mut periods = BTreeSet::new();
            periods_of(&self.evaluations, width, &mut periods);
            periods_of(&self.keys, width, &mut periods);
            periods_of(&self.unknown, width, &mut periods);
            for period in periods {
                if self.len() <= wanted {
                    return;
                }
                let from = period * width;
                fold_period(&mut self.evaluations, from, width);
                fold_period(&mut self.keys, from, width);
                fold_period(&mut self.unknown, from, width);
            }
        }
    }
}

/// The periods in which something can be folded.
fn periods_of<K: Timed>(counts: &BTreeMap<K, u64>, width: i64, periods: &mut BTreeSet<i64>) {
    let minutes = counts.keys().map(Timed::at).filter(|minute| minute.rem_euclid(width) != 0);
    periods.extend(minutes.map(|minute| minute.div_euclid(width)));
}

fn fold_period<K: Timed>(counts: &mut BTreeMap<K, u64>, from: i64, width: i64) {
    // Keys are in the order of their minutes.
    let inside = counts.keys().skip_while(|key| key.at() <= from).take_while(|key| key.at() < from + width);
    let moved: Vec<K> = inside.cloned().collect();
    for mut key in moved {
        let count = counts.remove(&key).unwrap_or_default();
        *key.minute() = from;
        *counts.entry(key).or_default() += count;
    }
}
