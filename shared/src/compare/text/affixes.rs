//! Texts to begin or end with any of.

use std::cmp::Ordering;

use crate::compare::text::fold::folded;
use crate::compare::text::prepared;

/// Texts to begin or end with any of.
///
/// No value here begins with another, which would add nothing. So only one of them can begin a text: the greatest that
/// is not greater than the text. Searching for it looks at no more of the text than the longest value has.
#[derive(Clone, Debug)]
pub(super) struct Affixes {
    side: Side,
    ignore_case: bool,
    /// Ascending; for the end, as read from there.
    values: Box<[Box<str>]>,
}

/// The end of a text from which it is read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side {
    Start,
    End,
}

impl Affixes {
    pub(super) fn new(side: Side, values: &[impl AsRef<str>], ignore_case: bool) -> Self {
        let mut values = prepared(values, ignore_case);
        match side {
            // As they are sorted already.
            Side::Start => values.dedup_by(|longer, shorter| longer.starts_with(&**shorter)),
            Side::End => {
                values.sort_unstable_by(|a, b| a.chars().rev().cmp(b.chars().rev()));
                values.dedup_by(|longer, shorter| longer.ends_with(&**shorter));
            }
        }
        Self { side, ignore_case, values: values.into() }
    }

    pub(super) fn found_in(&self, text: &str) -> bool {
        match (self.side, self.ignore_case) {
            (Side::Start, false) => self.any(|value| value.cmp(text), |value| text.starts_with(value)),
            (Side::Start, true) => {
                self.any(|value| value.chars().cmp(folded(text)), |value| begins(value.chars(), folded(text)))
            }
            (Side::End, false) => self.any(|v| v.chars().rev().cmp(text.chars().rev()), |value| text.ends_with(value)),
            (Side::End, true) => self.any(
                |value| value.chars().rev().cmp(folded(text).rev()),
                |value| begins(value.chars().rev(), folded(text).rev()),
            ),
        }
    }

    /// Whether the text has the only value that it can have, by its order relative to the text.
    fn any(&self, order: impl Fn(&str) -> Ordering, is_had: impl Fn(&str) -> bool) -> bool {
        if let [only] = &*self.values {
            return is_had(only);
        }
        let end = self.values.partition_point(|value| order(value) != Ordering::Greater);
        self.values[..end].last().is_some_and(|value| is_had(value))
    }
}

fn begins(mut value: impl Iterator<Item = char>, mut text: impl Iterator<Item = char>) -> bool {
    value.all(|c| text.next() == Some(c))
}
