//! Which rows hold a time: whole days and hours where they can be used, minutes for the rest. Pure.
//!
//! All times here are minutes since 1970 in UTC, so that hours and days are multiples.

use std::collections::HashSet;

use crate::app::range::{DAY, HOUR};

/// A table of counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grain {
    /// `minute_counts`
    Minute,
    /// `hour_counts`
    Hour,
    /// `day_counts`
    Day,
}

/// Rows of one table within `[from, to)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) grain: Grain,
    pub(super) from: i64,
    pub(super) to: i64,
}

/// What is kept how finely, and what is not rolled up yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    /// Minutes are kept from here on; a whole hour.
    pub(super) minutes_from: i64,
    /// Hours are kept from here on; a whole day.
    pub(super) hours_from: i64,
    /// Hours whose minutes alone are right.
    pub(super) due_hours: HashSet<i64>,
    /// Days whose hours alone are right.
    pub(super) due_days: HashSet<i64>,
}

impl Kept {
    /// Bucket edges moved to where rows can be told apart, and whether they are the same still. The first moves down, the
    /// last up, so that nothing asked for is left out.
    pub(super) fn honour(&self, edges: &[i64]) -> (Vec<i64>, bool) {
        let last = edges.len().saturating_sub(1);
        let mut kept: Vec<i64> = Vec::with_capacity(edges.len());
        for (at, edge) in edges.iter().enumerate() {
            let width = match *edge {
                edge if edge < self.hours_from => DAY,
                edge if edge < self.minutes_from => HOUR,
                _ => 1,
            };
            let up = if at == last { width - 1 } else { 0 };
            kept.push((edge + up).div_euclid(width) * width);
        }
        kept.dedup();
        let is_exact = kept == edges;
        (kept, is_exact)
    }

    /// The pieces that together hold every count between the first and the last edge once, and no row over an edge.
    pub(super) fn cover(&self, edges: &[i64]) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        let (Some(first), Some(end)) = (edges.first(), edges.last()) else { return pieces };
        let mut at = *first;
        while at < *end {
            let grain = match () {
                () if self.is_whole_day(at, edges) => Grain::Day,
                () if self.is_whole_hour(at, edges) => Grain::Hour,
                () => Grain::Minute,
            };
            let to = match grain {
                Grain::Day => at + DAY,
                Grain::Hour => at + HOUR,
                Grain::Minute => (at.div_euclid(HOUR) * HOUR + HOUR).min(*end),
            };
            match pieces.last_mut() {
                Some(last) if last.grain == grain && last.to == at => last.to = to,
                _ => pieces.push(Piece { grain, from: at, to }),
            }
            at = to;
        }
        pieces
    }

    fn is_whole_day(&self, at: i64, edges: &[i64]) -> bool {
        let is_right = at + DAY <= self.hours_from || !self.due_days.contains(&at);
        at.rem_euclid(DAY) == 0 && is_right && is_within(at, at + DAY, edges)
    }

    fn is_whole_hour(&self, at: i64, edges: &[i64]) -> bool {
        let is_right = at + HOUR <= self.minutes_from || !self.due_hours.contains(&at);
        at.rem_euclid(HOUR) == 0 && is_right && is_within(at, at + HOUR, edges)
    }
}

/// Whether no edge lies between the two, and the second not behind the last.
fn is_within(from: i64, to: i64, edges: &[i64]) -> bool {
    edges.get(edges.partition_point(|edge| *edge <= from)).is_some_and(|next| *next >= to)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const DAYS: i64 = 6;

    #[test]
    fn whole_clean_days_and_hours_are_used_and_minutes_at_the_edges() {
        let kept =
            Kept { due_hours: HashSet::from([DAY + 3 * HOUR]), due_days: HashSet::from([DAY]), ..Kept::default() };
        let piece = |grain, from, to| Piece { grain, from, to };
        assert_eq!(
            kept.cover(&[-HOUR - 10, 2 * DAY + 90]),
            [
                piece(Grain::Minute, -HOUR - 10, -HOUR),
                piece(Grain::Hour, -HOUR, 0),
                piece(Grain::Day, 0, DAY),
                piece(Grain::Hour, DAY, DAY + 3 * HOUR),
                piece(Grain::Minute, DAY + 3 * HOUR, DAY + 4 * HOUR),
                piece(Grain::Hour, DAY + 4 * HOUR, 2 * DAY + HOUR),
                piece(Grain::Minute, 2 * DAY + HOUR, 2 * DAY + 90),
            ]
        );
    }

    #[test]
    fn edges_move_to_what_is_kept() {
        let kept = Kept { minutes_from: 3 * DAY, hours_from: 2 * DAY, ..Kept::default() };
        let (edges, is_exact) = kept.honour(&[DAY + 30, DAY + 90, 2 * DAY + 30, 3 * DAY + 30]);
        assert_eq!((edges, is_exact), (vec![DAY, 2 * DAY, 3 * DAY + 30], false));
        assert_eq!(kept.honour(&[30, 40]), (vec![0, DAY], false), "the last moves up, so that a bucket is left");
        let exact = vec![DAY, 2 * DAY, 2 * DAY + HOUR, 3 * DAY + 1];
        assert_eq!(kept.honour(&exact), (exact.clone(), true));
    }

    /// The three tables as ingest and roll-ups leave them.
    #[derive(Debug, Default)]
    struct Tables {
        minutes: BTreeMap<i64, u64>,
        hours: BTreeMap<i64, u64>,
        days: BTreeMap<i64, u64>,
    }

    impl Tables {
        fn of(truth: &BTreeMap<i64, u64>, kept: &Kept) -> Self {
            let mut tables = Self::default();
            for (minute, count) in truth {
                let (hour, day) = (minute.div_euclid(HOUR) * HOUR, minute.div_euclid(DAY) * DAY);
                if *minute >= kept.minutes_from {
                    *tables.minutes.entry(*minute).or_default() += count;
                }
                if *minute >= kept.hours_from {
                    // What is due holds something wrong, not nothing.
                    let wrong = u64::from(*minute >= kept.minutes_from && kept.due_hours.contains(&hour)) * 1_000;
                    *tables.hours.entry(hour).or_default() += count + wrong;
                }
                let wrong = u64::from(*minute >= kept.hours_from && kept.due_days.contains(&day)) * 1_000_000;
                *tables.days.entry(day).or_default() += count + wrong;
            }
            tables
        }

        fn sum(&self, piece: Piece, from: i64, to: i64) -> u64 {
            let table = match piece.grain {
                Grain::Minute => &self.minutes,
                Grain::Hour => &self.hours,
                Grain::Day => &self.days,
            };
            table.range(piece.from.max(from)..piece.to.min(to).max(piece.from.max(from))).map(|(_, count)| count).sum()
        }
    }

    proptest! {
        #[test]
        fn every_bucket_has_the_sum_of_its_minutes(
            counts in prop::collection::btree_map(0..DAYS * DAY, 1..100_u64, 0..200),
            asked in prop::collection::btree_set(0..DAYS * DAY, 2..12),
            whole in prop::collection::btree_set(0..DAYS * 24, 0..6),
            due_hours in prop::collection::hash_set(0..DAYS * 24, 0..20),
            hours_from in 0..DAYS,
            more in 0..48_i64,
        ) {
            let mut kept = Kept {
                hours_from: hours_from * DAY,
                minutes_from: (hours_from * 24 + more) * HOUR,
                due_hours: due_hours.iter().map(|hour| hour * HOUR).collect(),
                due_days: due_hours.iter().map(|hour| hour * HOUR / DAY * DAY).collect(),
            };
            let tables = Tables::of(&counts, &kept);
            // A day may be due whose hours are clean.
            kept.due_days.insert(DAY);
            let mut asked: Vec<i64> = asked.into_iter().chain(whole.into_iter().map(|hour| hour * HOUR)).collect();
            asked.sort_unstable();
            asked.dedup();
            let (edges, _) = kept.honour(&asked);
            prop_assert!(edges.len() >= 2 && edges[0] <= asked[0] && edges.last() >= asked.last());
            let pieces = kept.cover(&edges);
            for bucket in edges.windows(2) {
                let sum: u64 = pieces.iter().map(|piece| tables.sum(*piece, bucket[0], bucket[1])).sum();
                let truth: u64 = counts.range(bucket[0]..bucket[1]).map(|(_, count)| count).sum();
                prop_assert_eq!(sum, truth, "{:?} by {:?}", bucket, pieces);
            }
        }
    }
}
