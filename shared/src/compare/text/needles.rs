//! Texts to find in another, anywhere or at one end.

use aho_corasick::automaton::Automaton;
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{Anchored, MatchKind};
use thiserror::Error;

use crate::compare::text::affixes::{Affixes, Side};
use crate::compare::text::fold::folded;
use crate::compare::text::prepared;

/// Up to so many values are searched one after the other, which is quicker than stepping through a text.
const FEW_MAX: usize = 4;

/// Values that no search can be built of: more than 2 GiB in all would be needed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0} values with {1} bytes in all are too many to search for")]
pub struct NeedlesTooLarge(usize, usize);

/// Texts to find any of in another; an empty one is in every text, at both ends.
///
/// The time is linear in the text at most, however many values there are and whatever stands in them.
#[derive(Clone, Debug)]
pub struct Needles(Search);

#[derive(Clone, Debug)]
enum Search {
    Everything,
    Few(Box<[Box<str>]>),
    Many { automaton: Box<NFA>, ignore_case: bool },
    AtSide(Affixes),
}

impl Needles {
    /// Texts to find anywhere; with `ignore_case` the folded value is found in the folded text.
    pub fn anywhere(values: &[impl AsRef<str>], ignore_case: bool) -> Result<Self, NeedlesTooLarge> {
        let mut values = prepared(values, ignore_case);
        // Where a value is found, so is every one that begins it.
        values.dedup_by(|longer, shorter| longer.starts_with(&**shorter));
        if values.first().is_some_and(|value| value.is_empty()) {
            return Ok(Self(Search::Everything));
        }
        if values.is_empty() || (values.len() <= FEW_MAX && !ignore_case) {
            return Ok(Self(Search::Few(values.into())));
        }
        let automaton = NFA::builder()
            .match_kind(MatchKind::Standard)
            // Never used when stepping.
            .prefilter(false)
            .build(values.iter().map(|value| value.as_bytes()))
            .map_err(|_| NeedlesTooLarge(values.len(), values.iter().map(|value| value.len()).sum()))?;
        Ok(Self(Search::Many { automaton: Box::new(automaton), ignore_case }))
    }

    /// Texts to begin with; with `ignore_case` the folded text begins with the folded value.
    pub fn at_start(values: &[impl AsRef<str>], ignore_case: bool) -> Self {
        Self(Search::AtSide(Affixes::new(Side::Start, values, ignore_case)))
    }

    /// Texts to end with; with `ignore_case` the folded text ends with the folded value.
    pub fn at_end(values: &[impl AsRef<str>], ignore_case: bool) -> Self {
        Self(Search::AtSide(Affixes::new(Side::End, values, ignore_case)))
    }

    /// Whether any of these is found in a text.
    pub fn found_in(&self, text: &str) -> bool {
        match &self.0 {
            Search::Everything => true,
            Search::Few(values) => values.iter().any(|value| text.contains(&**value)),
            Search::Many { automaton, ignore_case: true } => is_found_folded(automaton, text),
            Search::Many { automaton, ignore_case: false } => is_found(automaton, text),
            Search::AtSide(affixes) => affixes.found_in(text),
        }
    }
}

fn is_found(automaton: &NFA, text: &str) -> bool {
    text.bytes().any(search(automaton))
}

fn is_found_folded(automaton: &NFA, text: &str) -> bool {
    let mut is_found_with = search(automaton);
    if text.is_ascii() {
        return text.bytes().any(|byte| is_found_with(byte.to_ascii_lowercase()));
    }
    folded(text).any(|c| c.encode_utf8(&mut [0; 4]).bytes().any(&mut is_found_with))
}

/// A search that is given its text byte by byte, so that a folded text need not be stored. It answers whether a value
/// ends with the byte.
fn search(automaton: &NFA) -> impl FnMut(u8) -> bool {
    // Automata of this kind always have that state.
    let mut state = automaton.start_state(Anchored::No).unwrap_or_default();
    move |byte| {
        state = automaton.next_state(Anchored::No, state, byte);
        automaton.is_match(state)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;
    use crate::compare::text::fold;

    #[derive(Clone, Copy)]
    enum Place {
        Anywhere,
        Start,
        End,
    }

    const PLACES: [Place; 3] = [Place::Anywhere, Place::Start, Place::End];

    fn needles(place: Place, values: &[impl AsRef<str>], ignore_case: bool) -> Needles {
        match place {
            Place::Anywhere => Needles::anywhere(values, ignore_case).expect("few enough values"),
            Place::Start => Needles::at_start(values, ignore_case),
            Place::End => Needles::at_end(values, ignore_case),
        }
    }

    fn contains(text: &str, value: &str) -> bool {
        needles(Place::Anywhere, &[value], true).found_in(text)
    }

    #[test]
    fn a_folded_text_contains_the_folded_parts_of_it() {
        assert!(contains("ΟΔΟΣΑ", "ΟΔΟΣ") && contains("οδοσα", "ΟΔΟΣ"));
        assert!(contains("jane@EXAMPLE.com", "@Example"));
        assert!(contains("Kelvin", "\u{212a}E") && contains("\u{212a}elvin", "KE"));
        // The dot is a character of its own.
        assert!(contains("İstanbul", "i") && contains("İstanbul", "\u{307}s") && contains("İstanbul", "İS"));
    }

    #[test]
    fn letters_that_only_context_makes_one_stay_apart() {
        assert!(!contains("İstanbul", "istanbul"));
        assert!(!contains("ΟΔΟΣ", "οδος"));
        assert!(!contains("STRASSE", "straße") && !contains("straße", "ss"));
    }

    #[test]
    fn beginnings_and_ends_are_told_apart() {
        let values = ["beta-", "Ünï", "-x"];
        for (text, starts, ends) in [
            ("beta-1", true, false),
            ("1beta-", false, true),
            ("Ünïx", true, false),
            ("-x-x", true, true),
            ("ünï", false, false),
        ] {
            assert_eq!(needles(Place::Start, &values, false).found_in(text), starts, "{text}");
            assert_eq!(needles(Place::End, &values, false).found_in(text), ends, "{text}");
        }
        assert!(
            needles(Place::Start, &["i"], true).found_in("İ") && needles(Place::End, &["\u{307}"], true).found_in("İ")
        );
        assert!(!needles(Place::End, &["i"], true).found_in("İ"));
    }

    #[test]
    fn an_empty_value_is_in_every_text_and_no_value_in_none() {
        for place in PLACES {
            for ignore_case in [false, true] {
                assert!(
                    needles(place, &["", "a"], ignore_case).found_in("")
                        && needles(place, &[""], ignore_case).found_in("x")
                );
                assert!(!needles(place, &[""; 0], ignore_case).found_in(""));
                assert!(!needles(place, &["a"], ignore_case).found_in(""));
            }
        }
    }

    #[test]
    fn ten_thousand_values_are_found_like_one() {
        let values: Vec<String> = (0..10_000).map(|n| format!("<{n}>")).collect();
        for place in PLACES {
            for ignore_case in [false, true] {
                let needles = needles(place, &values, ignore_case);
                assert!(values.iter().all(|value| needles.found_in(value)));
                assert!(!needles.found_in("<10000>") && !needles.found_in("<>"));
            }
        }
    }

    #[test]
    fn time_does_not_grow_with_the_values_however_they_are_made() {
        // Nearly in the text everywhere: 500 values of 1,000 bytes, as many as a published document can hold.
        let values: Vec<String> = (0..500).map(|n| format!("{}b{n:03}", "a".repeat(996))).collect();
        let text = format!("{}É{}", "a".repeat(512 * 1024), "a".repeat(512 * 1024));
        for place in PLACES {
            for ignore_case in [false, true] {
                let needles = needles(place, &values, ignore_case);
                let start = Instant::now();
                assert!(!needles.found_in(&text));
                // A walk over values or starts would take minutes.
                assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
            }
        }
    }

    fn naive(place: Place, values: &[String], ignore_case: bool, text: &str) -> bool {
        let prepare = |text: &str| if ignore_case { fold(text) } else { text.to_owned() };
        let text = prepare(text);
        values.iter().map(|value| prepare(value)).any(|value| match place {
            Place::Anywhere => text.contains(&value),
            Place::Start => text.starts_with(&value),
            Place::End => text.ends_with(&value),
        })
    }

    proptest! {
        #[test]
        fn the_answer_is_that_of_the_string_methods_on_folded_texts(
            values in prop::collection::vec("[aAkßẞΣσςİi\u{212a}\u{307}]{1,4}", 0..8),
            texts in prop::collection::vec("[aAkßẞΣσςİi\u{212a}\u{307}]{0,8}", 8),
        ) {
            for place in PLACES {
                for ignore_case in [false, true] {
                    let needles = needles(place, &values, ignore_case);
                    for text in &texts {
                        prop_assert_eq!(needles.found_in(text), naive(place, &values, ignore_case, text), "{}", text);
                    }
                }
            }
        }

        #[test]
        fn any_text_is_searched_for_any_part_of_another(
            text in ".*",
            others in prop::collection::vec(".{0,4}", 0..7),
            from in 0..8_usize,
        ) {
            let part: String = text.chars().skip(from).take(3).flat_map(char::to_uppercase).collect();
            let values: Vec<String> = others.into_iter().chain([part]).collect();
            for place in PLACES {
                for ignore_case in [false, true] {
                    let found = needles(place, &values, ignore_case).found_in(&text);
                    prop_assert_eq!(found, naive(place, &values, ignore_case, &text));
                }
            }
        }
    }
}
