//! Patterns: regular expressions whose size, memory and time are bounded.
//!
//! The engine never backtracks, so the time of a search grows with the text times the size of the compiled pattern at
//! worst, and with the text alone for nearly every pattern people write. A search fills a cache of the pattern's own,
//! one per search that runs at the same time: that is the only allocation, it is bounded, and it is kept for the next.

use regex::{Regex, RegexBuilder};
use thiserror::Error;

use crate::compare::shown;

/// The longest pattern, in bytes.
pub const PATTERN_BYTES_MAX: usize = 500;
/// What a pattern may need compiled, in bytes, roughly.
pub const COMPILED_BYTES_MAX: usize = 256 * 1024;
/// What one search may remember of its pattern. Below 192 KiB some patterns that compile within the limit above, such
/// as `\w+ \w+ \w+ \w+` or `\d{40}`, find no room for two states side by side and are searched ten times slower.
const CACHE_BYTES_MAX: usize = 192 * 1024;
/// The longest text that is searched, in bytes. A pattern within the limits above can take 50 µs a byte, and whoever asks
/// chooses the text.
pub const TEXT_BYTES_MAX: usize = 2_000;
/// How deep groups may nest: deeper than people write, and shallow enough for a browser's stack.
const NESTING_MAX: u32 = 50;

/// Why a text is not a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PatternError {
    /// Over [`PATTERN_BYTES_MAX`].
    #[error("the pattern '{text}' has {bytes} bytes; at most {PATTERN_BYTES_MAX} are allowed")]
    TooLong {
        /// The pattern, cut.
        text: String,
        /// How many bytes it has.
        bytes: usize,
    },
    /// Over [`COMPILED_BYTES_MAX`].
    #[error(
        "the pattern '{0}' needs more than {limit} KiB compiled, which is the limit: use smaller counts, or \
         [0-9A-Za-z_] for \\w and [0-9] for \\d",
        limit = COMPILED_BYTES_MAX / 1024
    )]
    TooLarge(String),
    /// Not a regular expression.
    #[error("the pattern '{text}' cannot be read: {fault}")]
    Unreadable {
        /// The pattern, cut.
        text: String,
        /// What is wrong with it.
        fault: String,
    },
}

/// A regular expression to be found anywhere in a text, unless it says `^` or `$`.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

impl Pattern {
    /// Compiles a text in the syntax of the `regex` crate.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        if text.len() > PATTERN_BYTES_MAX {
            return Err(PatternError::TooLong { text: shown(text), bytes: text.len() });
        }
        let regex = RegexBuilder::new(text)
            .size_limit(COMPILED_BYTES_MAX)
            .dfa_size_limit(CACHE_BYTES_MAX)
            .nest_limit(NESTING_MAX)
            .build();
        match regex {
            Ok(regex) => Ok(Self(regex)),
            Err(regex::Error::CompiledTooBig(_)) => Err(PatternError::TooLarge(shown(text))),
            Err(error) => Err(PatternError::Unreadable { text: shown(text), fault: fault(&error.to_string()) }),
        }
    }

    /// Whether the pattern is found in a text of at most [`TEXT_BYTES_MAX`].
    pub fn found_in(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

/// The last line of the engine's message; those before it draw the pattern.
fn fault(message: &str) -> String {
    let line = message.lines().last().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).into()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Pattern::parse(pattern).unwrap_or_else(|error| panic!("{error}")).found_in(text)
    }

    #[test]
    fn a_pattern_is_found_anywhere_unless_it_is_anchored() {
        assert!(matches("b+", "abbc") && !matches("^b+", "abbc") && matches("^ab+c$", "abbc"));
        assert!(matches("(?i)STRAẞE", "die straße") && !matches("STRASSE", "straße"));
        assert!(matches(r"^\w+$", "ünïcødé") && matches("^.$", "😀"));
        assert!(matches("", "anything"));
    }

    #[test]
    fn a_fault_is_named_in_one_line() {
        for (text, fault) in [
            ("(a", "unclosed group"),
            ("a)", "unopened group"),
            ("[a", "unclosed character class"),
            ("*", "repetition operator missing expression"),
            ("a{2,1}", "invalid repetition count range"),
            ("(?=a)", "look-around"),
            (r"(a)\1", "backreferences"),
            (r"\p{Nope}", "property not found"),
            (r"\", "incomplete escape sequence"),
            ("(?x)\n(a\nerror: b", "unclosed group"),
        ] {
            let message = Pattern::parse(text).expect_err(text).to_string();
            assert!(message.contains(fault) && !message.contains('\n'), "{text}: {message}");
        }
        assert_eq!(
            Pattern::parse("(a").expect_err("unclosed").to_string(),
            "the pattern '(a' cannot be read: unclosed group"
        );
    }

    #[test]
    fn groups_may_nest_to_the_limit() {
        let nested = |depth| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
        assert!(matches(&nested(NESTING_MAX as usize), "a"));
        let message = Pattern::parse(&nested(NESTING_MAX as usize + 1)).expect_err("too deep").to_string();
        assert!(message.contains("nested parentheses/brackets (50)"), "{message}");
    }

    #[test]
    fn large_patterns_are_refused_with_the_limit() {
        let message = Pattern::parse(&"a".repeat(100_000)).expect_err("too long").to_string();
        assert!(message.contains("100000 bytes; at most 500"), "{message}");
        assert!(Pattern::parse(&"a".repeat(PATTERN_BYTES_MAX)).is_ok());
        for text in ["(a{1000}){1000}", r"(?i)(\w{50}|\pL{50}){50}", r"(\pL{100}){100}", r"\w{10}"] {
            let start = Instant::now();
            let message = Pattern::parse(text).expect_err(text).to_string();
            assert!(message.contains(text) && message.contains("256 KiB"), "{message}");
            assert!(start.elapsed() < Duration::from_secs(2), "{text}: {:?}", start.elapsed());
        }
    }

    #[test]
    fn usual_patterns_are_within_the_limits() {
        for text in [
            r"^[^@\s]+@[^@\s]+\.[a-z]+$",
            r"\w+@\w+\.\w+",
            r"^\w+ \w+ \w+ \w+$",
            r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$",
            "^[A-Za-z0-9_-]{1,64}$",
            "^.{1,100}$",
            "(?i)^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$",
            r"(?i)\b(jane|john)\.(doe|roe)@example\.(com|org)\b",
        ] {
            assert!(Pattern::parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn nested_repetitions_do_not_run_away() {
        let pattern = Pattern::parse("^(a+)+b$").expect("a pattern");
        let text = "a".repeat(10_000);
        let elapsed = || {
            let start = Instant::now();
            assert!(!pattern.found_in(&text));
            start.elapsed()
        };
        // The best of some, since a busy machine may stop one for that long.
        let best = (0..5).map(|_| elapsed()).min();
        assert!(best < Some(Duration::from_millis(50)), "{best:?}");
    }

    proptest! {
        #[test]
        fn any_text_is_a_pattern_or_refused_in_one_line(
            text in ".*",
            looks_right in r"[ab(){}|*+?.\\\[\]^$0-9-]{0,12}",
            searched in ".*",
        ) {
            for text in [&text, &looks_right] {
                match Pattern::parse(text) {
                    Ok(pattern) => { pattern.found_in(&searched); }
                    Err(error) => prop_assert!(!error.to_string().contains('\n')),
                }
            }
        }
    }
}
