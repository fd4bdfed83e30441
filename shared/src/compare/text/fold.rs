//! Folding: each character replaced by its own lower case.

use std::char::ToLowercase;
use std::str::Chars;

/// The text with each character replaced by its own lower case.
pub fn fold(text: &str) -> String {
    folded(text).collect()
}

/// The characters of [`fold`], one by one, from either end.
pub(super) fn folded(text: &str) -> Folded<'_> {
    Folded { chars: text.chars(), front: None, back: None }
}

/// See [`folded`]. Several times quicker than a flat map, since letters of ASCII take no detour.
#[derive(Clone, Debug)]
pub(super) struct Folded<'a> {
    chars: Chars<'a>,
    /// What is left of the last character taken from the start.
    front: Option<ToLowercase>,
    /// What is left of the last character taken from the end.
    back: Option<ToLowercase>,
}

impl Iterator for Folded<'_> {
    type Item = char;

    #[inline]
    fn next(&mut self) -> Option<char> {
        if let Some(lower) = &mut self.front {
            match lower.next() {
                None => self.front = None,
                some => return some,
            }
        }
        match self.chars.next() {
            Some(c) if c.is_ascii() => Some(c.to_ascii_lowercase()),
            Some(c) => self.front.insert(c.to_lowercase()).next(),
            None => self.back.as_mut()?.next(),
        }
    }
}

impl DoubleEndedIterator for Folded<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<char> {
        if let Some(lower) = &mut self.back {
            match lower.next_back() {
                None => self.back = None,
                some => return some,
            }
        }
        match self.chars.next_back() {
            Some(c) if c.is_ascii() => Some(c.to_ascii_lowercase()),
            Some(c) => self.back.insert(c.to_lowercase()).next_back(),
            None => self.front.as_mut()?.next_back(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn folding_looks_at_single_characters() {
        for (text, folded) in
            [("Pro", "pro"), ("ΟΔΟΣ", "οδοσ"), ("οδος", "οδος"), ("ẞ", "ß"), ("İ", "i\u{307}"), ("\u{212a}", "k")]
        {
            assert_eq!(fold(text), folded);
        }
    }

    #[test]
    fn folding_twice_changes_nothing() {
        for c in (0..=u32::from(char::MAX)).filter_map(char::from_u32) {
            let once = fold(&c.to_string());
            assert_eq!(fold(&once), once, "{c}");
        }
    }

    proptest! {
        #[test]
        fn characters_come_alike_from_both_ends(
            text in "[aKßİΣ\u{212a}]{0,6}|.*",
            ends in prop::collection::vec(any::<bool>(), 40),
        ) {
            let mut expected: std::collections::VecDeque<char> = text.chars().flat_map(char::to_lowercase).collect();
            prop_assert_eq!(fold(&text), expected.iter().collect::<String>());
            let mut folded = folded(&text);
            for from_start in ends {
                if from_start {
                    prop_assert_eq!(folded.next(), expected.pop_front());
                } else {
                    prop_assert_eq!(folded.next_back(), expected.pop_back());
                }
            }
        }
    }
}
