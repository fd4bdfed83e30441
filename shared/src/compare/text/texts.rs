//! Texts to be equal to any of.

use std::hash::{BuildHasher, Hasher};

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::compare::text::fold::folded;
use crate::compare::text::prepared;

/// Texts to be equal to any of.
///
/// Always hashed: even for a single value that takes no longer than comparing it.
#[derive(Clone, Debug)]
pub struct Texts {
    ignore_case: bool,
    values: HashTable<Box<str>>,
    hasher: Hash,
}

impl Texts {
    /// Prepares a list; with `ignore_case` texts are equal when they fold to the same.
    pub fn new(values: &[impl AsRef<str>], ignore_case: bool) -> Self {
        let prepared = prepared(values, ignore_case);
        let longest = prepared.iter().map(|value| value.len()).max().unwrap_or_default();
        let hasher = Hash { state: DefaultHashBuilder::default(), longest };
        let hash = |value: &str| if ignore_case { hasher.of_chars(value.chars()) } else { hasher.of_text(value) };
        let mut values = HashTable::with_capacity(prepared.len());
        for value in prepared {
            values.insert_unique(hash(&value), value, |value| hash(value));
        }
        Self { ignore_case, values, hasher }
    }

    /// Whether a text is one of these.
    pub fn contains(&self, text: &str) -> bool {
        let found = if self.ignore_case {
            self.values.find(self.hasher.of_chars(folded(text)), |value| folds_to(text, value))
        } else {
            self.values.find(self.hasher.of_text(text), |value| **value == *text)
        };
        found.is_some()
    }
}

/// Whether the folded text is `value`.
fn folds_to(text: &str, value: &str) -> bool {
    // Quicker, and the rule for nearly every text.
    if text.len() == value.len() && text.is_ascii() {
        text.eq_ignore_ascii_case(value)
    } else {
        folded(text).eq(value.chars())
    }
}

#[derive(Clone, Debug)]
struct Hash {
    state: DefaultHashBuilder,
    /// Bytes of the longest value. What is longer equals none, so its rest need not be hashed.
    longest: usize,
}

impl Hash {
    fn of_text(&self, text: &str) -> u64 {
        let bytes = text.as_bytes();
        self.state.hash_one(&bytes[..bytes.len().min(self.longest)])
    }

    /// Takes single characters, so that it does not matter from which pieces they come.
    fn of_chars(&self, chars: impl Iterator<Item = char>) -> u64 {
        let mut hasher = self.state.build_hasher();
        chars.take(self.longest).for_each(|c| hasher.write_u32(c.into()));
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::compare::text::fold;

    fn equals(values: &[&str], ignore_case: bool, text: &str) -> bool {
        Texts::new(values, ignore_case).contains(text)
    }

    #[test]
    fn texts_are_equal_by_bytes() {
        assert!(equals(&["a", "pro"], false, "pro"));
        assert!(!equals(&["pro"], false, "Pro") && !equals(&["pro"], false, "prof") && !equals(&["pro"], false, "pr"));
        // Composed and decomposed.
        assert!(!equals(&["é"], false, "e\u{301}"));
        assert!(equals(&[""], false, "") && !equals(&["a"], false, ""));
        assert!(!equals(&[], false, "") && !equals(&[], true, ""));
    }

    #[test]
    fn ignoring_case_compares_folded_texts() {
        assert!(equals(&["Pro", "PRO"], true, "pRO"));
        assert!(equals(&["ΟΔΟΣ"], true, "οδοσ"));
        assert!(equals(&["\u{212a}elvin"], true, "Kelvin") && equals(&["kelvin"], true, "\u{212a}ELVIN"));
        assert!(equals(&["İstanbul"], true, "İSTANBUL") && equals(&["i\u{307}"], true, "İ"));
        assert!(equals(&["ẞ"], true, "ß"));
    }

    #[test]
    fn letters_that_only_context_makes_one_stay_apart() {
        assert!(!equals(&["οδος"], true, "ΟΔΟΣ"));
        assert!(!equals(&["straße"], true, "STRASSE"));
        assert!(!equals(&["istanbul"], true, "İstanbul"));
    }

    #[test]
    fn thousands_of_values_are_found() {
        let values: Vec<String> = (0..10_000).map(|n| format!("Kunde-{n}-ÄÖÜ")).collect();
        for ignore_case in [false, true] {
            let texts = Texts::new(&values, ignore_case);
            assert!(values.iter().all(|value| texts.contains(value)));
            assert!(!texts.contains("Kunde-10000-ÄÖÜ"));
            assert_eq!(texts.contains("kUNDE-9999-äöü"), ignore_case);
        }
    }

    proptest! {
        #[test]
        fn equality_is_that_of_the_texts_or_of_the_folded_ones(
            values in prop::collection::vec("[aAkKßẞſΣσςİıǅ\u{212a}\u{307}]{0,3}", 0..8),
            text in "[aAkKßẞſΣσςİıǅ\u{212a}\u{307}]{0,3}",
            odd in ".*",
        ) {
            let values: Vec<String> = values.into_iter().chain([odd.to_uppercase()]).collect();
            for text in [&text, &odd, &odd.to_lowercase()] {
                prop_assert_eq!(Texts::new(&values, false).contains(text), values.contains(text));
                let is_equal = values.iter().any(|value| fold(value) == fold(text));
                prop_assert_eq!(Texts::new(&values, true).contains(text), is_equal, "{:?}", text);
            }
        }
    }
}
