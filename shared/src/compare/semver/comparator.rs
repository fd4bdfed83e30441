//! The parts of a range: an operator and a version each.

use thiserror::Error;

use crate::compare::semver::range::{Edge, Range};
use crate::compare::semver::{OwnedVersion, Version};
use crate::compare::shown;

/// The most comparators a range can have.
pub const COMPARATORS_MAX: usize = 20;

/// Why a text is not a range of versions.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RangeError {
    /// A part that no comparator begins or no version follows.
    #[error(
        "'{part}' in the version range '{text}' is not a comparator: write ^1.2, ~1.2, >=1.2, <=1.2, >1.2, <1.2 or a \
         whole version such as 1.2.3, several of them with blanks or commas between"
    )]
    Unreadable {
        /// The range, cut.
        text: String,
        /// The part, cut.
        part: String,
    },
    /// A version to be equal to that leaves open which one is meant.
    #[error(
        "'{version}' in the version range '{text}' is not a whole version: write {tilde} for every {every}, or {whole}"
    )]
    Partial {
        /// The range, cut.
        text: String,
        /// The version as written, cut.
        version: String,
        /// How to say "all of them".
        tilde: String,
        /// What those are.
        every: String,
        /// How to say "the first of them".
        whole: String,
    },
    /// Nothing to compare with.
    #[error("the version range '{0}' is empty: write a comparator such as ^1.2")]
    Empty(String),
    /// Over [`COMPARATORS_MAX`].
    #[error("the version range '{0}' has more than {COMPARATORS_MAX} comparators")]
    TooMany(String),
}

/// An operator and the version it stands before, as written.
pub(super) struct Comparator<'a> {
    operator: &'a str,
    text: &'a str,
    version: Version<'a>,
}

impl<'a> Comparator<'a> {
    /// Splits off the first comparator, which ends at a blank or comma.
    pub(super) fn split_from(rest: &'a str, range: &str) -> Result<(Self, &'a str), RangeError> {
        // The longer operators first, since the shorter ones begin them.
        let operator = [">=", "<=", "^", "~", ">", "<", "="].into_iter().find(|operator| rest.starts_with(operator));
        let operator = operator.unwrap_or_default();
        let operand = rest[operator.len()..].trim_start_matches(is_blank);
        let end = operand.find(|c| is_blank(c) || c == ',').unwrap_or(operand.len());
        let (text, following) = operand.split_at(end);
        match Version::parse(text) {
            Some(version) => Ok((Self { operator, text, version }, following)),
            None => {
                let part = rest[..rest.len() - following.len()].trim_end_matches(is_blank);
                // Where nothing stands is a comma too many.
                let part = if part.is_empty() { "," } else { part };
                Err(RangeError::Unreadable { text: shown(range), part: shown(part) })
            }
        }
    }

    pub(super) fn range(&self, range: &str) -> Result<Range, RangeError> {
        let Self { operator, version, .. } = *self;
        let written = version.written;
        let (low, high) = match operator {
            ">=" => (Some(Edge::before(version)), None),
            ">" => (Some(Edge::after(version)), None),
            "<" => (None, Some(Edge::before(version))),
            "<=" => (None, Some(Edge::after(version))),
            "~" => (Some(Edge::before(version)), Some(Edge::before(next(version, (written - 1).min(1))))),
            "^" => {
                // The first number that is not zero may not change; of zeros only, the last that was written.
                let fixed = version.numbers[..written].iter().position(|number| *number != "0").unwrap_or(written - 1);
                (Some(Edge::before(version)), Some(Edge::before(next(version, fixed))))
            }
            _ if written < version.numbers.len() => return Err(self.partial(range)),
            _ => (Some(Edge::before(version)), Some(Edge::after(version))),
        };
        Ok(Range { low, high })
    }

    fn partial(&self, range: &str) -> RangeError {
        let Version { numbers, written, pre_release } = self.version;
        let core = numbers[..written].join(".");
        let (whole, mut every) = (numbers.join("."), format!("{core}.x"));
        let suffix = if pre_release.is_empty() { String::new() } else { format!("-{pre_release}") };
        if !suffix.is_empty() {
            every.push_str(" from there on");
        }
        RangeError::Partial {
            text: shown(range),
            version: shown(self.text),
            tilde: shown(&format!("~{core}{suffix}")),
            every: shown(&every),
            whole: shown(&format!("{whole}{suffix}")),
        }
    }
}

pub(super) fn is_blank(c: char) -> bool {
    c.is_ascii_whitespace()
}

/// The lowest pre-release of the version in which the number at `index` is one higher and those behind it are zeros.
fn next(version: Version<'_>, index: usize) -> OwnedVersion {
    let mut numbers = ["0"; 3];
    numbers[..index].copy_from_slice(&version.numbers[..index]);
    let mut next = OwnedVersion::from(Version { numbers, pre_release: "0", ..version });
    next.numbers[index] = successor(version.numbers[index]).into();
    next
}

/// One more than a number of any length.
fn successor(digits: &str) -> String {
    let kept = digits.trim_end_matches('9');
    let nines = digits.len() - kept.len();
    let (unchanged, last) = kept.split_at(kept.len().saturating_sub(1));
    let raised = last.bytes().next().map_or('1', |digit| char::from(digit + 1));
    format!("{unchanged}{raised}{}", "0".repeat(nines))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_range_is_refused_with_its_text_and_the_way_out() {
        for (text, part) in [
            ("1.x", "1.x"),
            ("*", "*"),
            ("1.2.3 || 2.0.0", "||"),
            ("1.0.0 - 2.0.0", "-"),
            ("~>1.2", "~>1.2"),
            ("=>1.2", "=>1.2"),
            ("==1.2.3", "==1.2.3"),
            ("!=1.2.3", "!=1.2.3"),
            (">=1.2.3<2", ">=1.2.3<2"),
            (">=1 <", "<"),
            (">= <2", ">= <2"),
            (">=1,", ","),
            (",>=1", ","),
            (">=1,,<2", ","),
            ("^01.2", "^01.2"),
            (">=1.2.3.4", ">=1.2.3.4"),
            (">=1\u{a0}<2", ">=1\u{a0}<2"),
            ("ünïcødé", "ünïcødé"),
        ] {
            let error = Range::parse(text).expect_err(text);
            assert_eq!(error, RangeError::Unreadable { text: text.into(), part: part.into() });
            let message = error.to_string();
            assert!(message.contains(text) && message.contains("~1.2") && message.contains(">=1.2"), "{message}");
        }
    }

    #[test]
    fn a_version_to_equal_must_be_whole() {
        let message = |text| Range::parse(text).expect_err(text).to_string();
        let expected = "'1.2' in the version range '1.2' is not a whole version: write ~1.2 for every 1.2.x, or 1.2.0";
        assert_eq!(message("1.2"), expected);
        assert!(message("= v1").ends_with("write ~1 for every 1.x, or 1.0.0"), "{}", message("= v1"));
        let message = message(">0 1.2-rc.1");
        assert!(message.ends_with("write ~1.2-rc.1 for every 1.2.x from there on, or 1.2.0-rc.1"), "{message}");
    }

    #[test]
    fn empty_and_overlong_ranges_are_refused() {
        assert_eq!(Range::parse(" \t"), Err(RangeError::Empty("  ".into())));
        let long = [">=1"; COMPARATORS_MAX + 1].join(",");
        assert_eq!(Range::parse(&long), Err(RangeError::TooMany(shown(&long))));
        let message = Range::parse(&"ä".repeat(100_000)).expect_err("no range").to_string();
        assert!(message.len() < 600, "{message}");
    }

    proptest! {
        #[test]
        fn one_more_is_one_more(number in 0..u64::MAX) {
            prop_assert_eq!(successor(&number.to_string()), (number + 1).to_string());
        }
    }
}
